// A block of rows times a sparse sign matrix: in each row of R the columns are cut into
// `n_nonzeros` stretches of nearly equal length, and each stretch has one random sign at a random
// place (with one nonzero: CountSketch). Does not choose the number of nonzeros.
//
// Order of additions, fixed for each row: coordinates from first to last.
#include "kernels.hpp"
#include "lanes.hpp"
#include "sign_words.hpp"
#include "tile_product.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Twice the column, plus one for a minus sign.
using Target = std::uint32_t;
template <class C> constexpr C plus_minus[2] = {C{1}, C{-1}};

struct Stretches {
    std::int64_t n_components;
    int n_nonzeros;

    std::int64_t begin(int stretch) const { return stretch * n_components / n_nonzeros; }
    Target target(int stretch, std::uint32_t word) const {
        const auto length = static_cast<std::uint64_t>(begin(stretch + 1) - begin(stretch));
        const std::uint64_t place = (word & 0x7fffffffu) * length >> 31;
        const auto column = static_cast<std::uint64_t>(begin(stretch)) + place;
        return static_cast<Target>(2 * column + 1 - (word >> 31));
    }
};

// targets[i][stretch] of rows row_of(0), ..., row_of(n - 1) of R.
template <class RowOf>
void generate_targets(std::uint64_t key, Stretches stretches, std::int64_t n, RowOf row_of,
                      Target *targets) {
    const int s = stretches.n_nonzeros;
    for (std::int64_t first = 0; first < n; first += 8) {
        const std::int64_t n_rows = n - first < 8 ? n - first : 8;
        for (int cell = 0; 4 * cell < s; ++cell) {
            std::uint32_t words[8][4];
            cells_of(
                key, Stream::sparse_signs, static_cast<std::uint32_t>(cell), n_rows,
                [&](std::int64_t i) { return row_of(first + i); }, words);
            for (std::int64_t i = 0; i < n_rows; ++i)
                for (int j = 4 * cell; j < s && j < 4 * cell + 4; ++j)
                    targets[(first + i) * s + j] = stretches.target(j, words[i][j % 4]);
        }
    }
}

template <class C> struct Scatter {
    using Value = C;
    using Sum = C;
    static constexpr int tile = tile_rows<C>;
    static constexpr std::int64_t width = 128;
    const Map map;
    const Stretches stretches;
    const int n_threads;
    const std::int64_t panel;
    Buffer<Target> targets;
    std::int64_t first_section = 0;

    struct Scratch {
        explicit Scratch(const Scatter &) {}
    };

    Scatter(Map the_map, std::int64_t n_columns, int threads)
        : map(the_map), stretches{map.n_components, map.n_nonzeros}, n_threads(threads),
          panel(panel_length((n_columns + width - 1) / width,
                             width * map.n_nonzeros * static_cast<std::int64_t>(sizeof(Target)))),
          targets(panel * width * map.n_nonzeros) {}

    void prepare(std::int64_t begin, std::int64_t end) {
        first_section = begin;
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
        for (std::int64_t section = begin; section < end; ++section)
            generate_targets(
                map.key, stretches, width,
                [section](std::int64_t i) { return section * width + i; },
                targets.data() + (section - begin) * width * stretches.n_nonzeros);
    }
    void add(const C *packed, std::int64_t section, Scratch &, C *totals) {
        const int s = stretches.n_nonzeros;
        const Target *from = targets.data() + (section - first_section) * width * s;
        if (s == 8) return scatter<8>(packed, from, s, totals);
        if (s == 1) return scatter<1>(packed, from, s, totals);
        scatter<0>(packed, from, s, totals);
    }

  private:
    // `fixed` is the number of nonzeros where the compiler is to know it, else 0.
    template <int fixed>
    static void scatter(const C *packed, const Target *target, int n_nonzeros, C *totals) {
        const int s = fixed > 0 ? fixed : n_nonzeros;
        for (std::int64_t i = 0; i < width; ++i) {
            const Lanes<C> low = load(packed + i * tile);
            const Lanes<C> high = load(packed + i * tile + n_lanes<C>);
            for (int j = 0; j < s; ++j, ++target) {
                const C sign = plus_minus<C>[*target & 1];
                C *to = totals + (*target >> 1) * tile;
                const Lanes<C> low_total = load(to) + low * sign;
                const Lanes<C> high_total = load(to + n_lanes<C>) + high * sign;
                store(to, low_total);
                store(to + n_lanes<C>, high_total);
            }
        }
    }
};

}  // namespace

template <class C> void sparse_sign_product(const Rows &rows, Map map, C *out, int n_threads) {
    Scatter<C> method(map, rows.n_columns, n_threads);
    multiply_by_tiles(rows, map, method, out, n_threads);
}

template <class C>
void sparse_sign_product_sparse(const SparseRows<C> &rows, Map map, C *out, int n_threads) {
    const std::int64_t t = map.n_components;
    const int n_nonzeros = map.n_nonzeros;
    const Stretches stretches{t, n_nonzeros};
    // Few columns have many nonzeros: their targets are kept, where a panel holds them all.
    const bool keep =
        rows.n_columns * n_nonzeros * static_cast<std::int64_t>(sizeof(Target)) <= panel_bytes &&
        rows.start(rows.n_rows) >= rows.n_columns;
    Buffer<Target> kept(keep ? rows.n_columns * n_nonzeros : 0);
    constexpr std::int64_t part = 512;
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
    for (std::int64_t first = 0; first < (keep ? rows.n_columns : 0); first += part) {
        const std::int64_t left = rows.n_columns - first;
        generate_targets(
            map.key, stretches, left < part ? left : part,
            [first](std::int64_t i) { return first + i; }, kept.data() + first * n_nonzeros);
    }
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 64) if (n_threads > 1)
    for (std::int64_t row = 0; row < rows.n_rows; ++row) {
        C *to = out + row * t;
        for (std::int64_t j = 0; j < t; ++j) to[j] = 0;
        const std::int64_t end = rows.start(row + 1);
        for (std::int64_t e = rows.start(row); e < end; ++e) {
            Target own[64];
            const Target *targets = own;
            const std::int64_t column = rows.index(e);
            if (keep)
                targets = kept.data() + column * n_nonzeros;
            else
                generate_targets(
                    map.key, stretches, 1, [column](std::int64_t) { return column; }, own);
            const C value = rows.values[e];
            for (int j = 0; j < n_nonzeros; ++j)
                to[targets[j] >> 1] += value * plus_minus<C>[targets[j] & 1];
        }
        for (std::int64_t j = 0; j < t; ++j) to[j] *= static_cast<C>(map.scale);
    }
}

template void sparse_sign_product<float>(const Rows &, Map, float *, int);
template void sparse_sign_product<double>(const Rows &, Map, double *, int);
template void sparse_sign_product_sparse<float>(const SparseRows<float> &, Map, float *, int);
template void sparse_sign_product_sparse<double>(const SparseRows<double> &, Map, double *, int);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

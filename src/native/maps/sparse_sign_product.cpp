// Dense rows times the sparse sign matrix R of sparse_targets.hpp.
//
// There are two methods: scatter each coordinate to the columns of R that use it, or gather for
// each column the coordinates that it uses. Both add the coordinates of a row from first to last,
// so they give the same bits. With one nonzero in a row of R, scattering is count_sketch.hpp.
#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"
#include "maps/count_sketch.hpp"
#include "maps/kernels.hpp"
#include "maps/sparse_targets.hpp"
#include "maps/tile_product.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Lists for gathering, four columns at once: for each of the four, the place of its next coordinate
// (with the right sign) in a packed section. Shorter lists are padded with a coordinate of zeros.
constexpr int columns_together = 4;
struct Sources {
    std::uint16_t place[columns_together];
};
struct Quad {
    std::int32_t column[columns_together];
    std::int32_t length;
};

// Gathering pays from this many rows and nonzeros on, and up to this many columns for each nonzero
// (where a list has about three coordinates).
constexpr std::int64_t many_rows = 128;
constexpr int many_nonzeros = 3;
constexpr std::int64_t max_columns_per_nonzero = 80;

template <class C> struct Scatter {
    using Value = C;
    using Sum = C;
    static constexpr int tile = tile_rows<C>, stride = tile;
    static constexpr bool reads_rows = false;
    static constexpr int together = 4;
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
    void add(C *packed, std::int64_t section, Scratch &, C *totals, NextLines &next) {
        const int s = stretches.n_nonzeros;
        const Target *from = targets.data() + (section - first_section) * width * s;
        if (s == 8) return scatter<8>(packed, from, s, totals, next);
        scatter<0>(packed, from, s, totals, next);
    }

  private:
    // `fixed` is the number of nonzeros if it is known to the compiler, else 0.
    template <int fixed>
    static void scatter(const C *packed, const Target *target, int n_nonzeros, C *totals,
                        NextLines &next) {
        const int s = fixed > 0 ? fixed : n_nonzeros;
        const std::int64_t share = next.share(width);
        for (std::int64_t i = 0; i < width; ++i) {
            next.fetch(share);
            const Lanes<C> low = load(packed + i * tile);
            const Lanes<C> high = load(packed + i * tile + n_lanes<C>);
            for (int j = 0; j < s; ++j, ++target) {
                const C sign = plus_minus<C>[*target & 1];
                C *to = totals + std::int64_t{*target >> 1} * tile;
                const Lanes<C> low_total = load(to) + low * sign;
                const Lanes<C> high_total = load(to + n_lanes<C>) + high * sign;
                store(to, low_total);
                store(to + n_lanes<C>, high_total);
            }
        }
    }
};

// The same sums column by column: a total stays in registers while its coordinates come from the
// first-level cache, with either sign. Making the lists costs as much time as multiplying some
// dozens of rows.
template <class C> struct Gather {
    using Value = C;
    using Sum = C;
    static constexpr int tile = tile_rows<C>, stride = 2 * tile;
    static constexpr bool reads_rows = false;
    static constexpr int together = 4;
    // A packed section fills the first-level cache. Longer lists are worth more than room for the
    // totals.
    static constexpr std::int64_t width = (std::int64_t{32} << 10) / (stride * sizeof(C));
    const Map map;
    const Stretches stretches;
    const int n_threads;
    const std::int64_t n_quads, max_sources;  // of a section
    const std::int64_t panel;
    Buffer<Quad> quads;
    Buffer<Sources> sources;
    std::int64_t first_section = 0;

    struct Scratch {
        explicit Scratch(const Gather &) {}
    };

    Gather(Map the_map, std::int64_t n_columns, int threads)
        : map(the_map), stretches{map.n_components, map.n_nonzeros}, n_threads(threads),
          n_quads((map.n_components + columns_together - 1) / columns_together),
          max_sources(count_sources(map.n_nonzeros)),
          panel(panel_length(
              (n_columns + width - 1) / width,
              static_cast<std::int64_t>(n_quads * sizeof(Quad) + max_sources * sizeof(Sources)))),
          quads(panel * n_quads), sources(panel * max_sources) {}

    void prepare(std::int64_t begin, std::int64_t end) {
        first_section = begin;
        PerThread<Buffer<Target>> all_targets(n_threads, width * map.n_nonzeros);
        PerThread<Buffer<std::int32_t>> all_orders(n_threads, map.n_components);
        PerThread<Buffer<std::int32_t>> all_lengths(n_threads, map.n_components + 1);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            Buffer<Target> &targets = all_targets.own();
            Buffer<std::int32_t> &order = all_orders.own(), &lengths = all_lengths.own();
#pragma omp for schedule(static)
            for (std::int64_t section = begin; section < end; ++section) {
                generate_targets(
                    map.key, stretches, width,
                    [section](std::int64_t i) { return section * width + i; }, targets.data());
                list_sources(targets.data(), section - begin, order.data(), lengths.data());
            }
        }
    }
    void add(C *packed, std::int64_t section, Scratch &, C *totals, NextLines &next) {
        for (int v = 0; v < stride; ++v) packed[width * stride + v] = 0;
        const Quad *quad = quads.data() + (section - first_section) * n_quads;
        const Sources *from = sources.data() + (section - first_section) * max_sources;
        const std::int64_t share = next.share(n_quads);
        for (std::int64_t q = 0; q < n_quads; from += quad[q].length, ++q) {
            next.fetch(share);
            gather(packed, from, quad[q], totals);
        }
    }

  private:
    // The most sources that `list_sources` makes of a section. A quad is as long as the longest of
    // its lists, which is at most `width`, because a coordinate is in a list once. Lists ascend, so
    // a quad is at most as long as the mean of the next four lists. Two quads may have no four
    // lists after them: the last one, and the one before if the last one is not full.
    static std::int64_t count_sources(int n_nonzeros) {
        return width * n_nonzeros / columns_together + 2 * width;
    }

    static void gather(const C *packed, const Sources *sources, const Quad &quad, C *totals) {
        Lanes<C> low[columns_together], high[columns_together];
        for (int c = 0; c < columns_together; ++c) {
            const C *total = totals + std::int64_t{quad.column[c]} * tile;
            low[c] = load(total);
            high[c] = load(total + n_lanes<C>);
        }
        for (std::int32_t k = 0; k < quad.length; ++k) {
            std::uint64_t places;
            std::memcpy(&places, &sources[k], sizeof places);
#pragma GCC unroll 4
            for (int c = 0; c < columns_together; ++c) {
                const C *from = packed + (places >> (16 * c) & 0xffff);
                low[c] += load(from);
                high[c] += load(from + n_lanes<C>);
            }
        }
        for (int c = 0; c < columns_together; ++c) {
            C *total = totals + std::int64_t{quad.column[c]} * tile;
            store(total, low[c]);
            store(total + n_lanes<C>, high[c]);
        }
    }

    // Turns targets[coordinate][stretch] into quads and sources; `order` and `next` are scratch
    // memory. Columns are taken in the order of the lengths of their lists, so that there is little
    // padding and the processor predicts well where a list ends.
    void list_sources(const Target *targets, std::int64_t at, std::int32_t *order,
                      std::int32_t *next) {
        const auto t = static_cast<std::int32_t>(map.n_components);
        const std::int64_t n = width * map.n_nonzeros;
        sort_columns(targets, n, order, next);
        std::uint16_t *places = sources[at * max_sources].place;
        std::int32_t n_places = 0;
        for (std::int64_t q = 0; q < n_quads; ++q) {
            Quad &quad = quads[at * n_quads + q];
            quad.length = 0;
            for (int c = 0; c < columns_together; ++c) {
                const std::int64_t slot = q * columns_together + c;
                quad.column[c] = slot < t ? order[slot] : t;
                if (slot < t) quad.length = next[order[slot]];
                next[quad.column[c]] = n_places + c;
            }
            for (std::int32_t k = 0; k < quad.length * columns_together; ++k)
                places[n_places++] = width * stride;
        }
        for (std::int64_t i = 0; i < n; ++i) {
            std::int32_t &place = next[targets[i] >> 1];
            const std::int64_t coordinate = i / map.n_nonzeros;
            places[place] =
                static_cast<std::uint16_t>(coordinate * stride + (targets[i] & 1) * tile);
            place += columns_together;
        }
    }

    // order <- the columns by the lengths of their lists, shortest first; lengths <- these lengths.
    void sort_columns(const Target *targets, std::int64_t n, std::int32_t *order,
                      std::int32_t *lengths) const {
        std::int32_t begin[width + 2] = {};  // where the columns of each length begin in `order`
        for (std::int64_t j = 0; j < map.n_components; ++j) lengths[j] = 0;
        for (std::int64_t i = 0; i < n; ++i) ++lengths[targets[i] >> 1];
        for (std::int64_t j = 0; j < map.n_components; ++j) ++begin[lengths[j] + 1];
        for (std::int64_t length = 0; length < width; ++length) begin[length + 1] += begin[length];
        for (std::int64_t j = 0; j < map.n_components; ++j)
            order[begin[lengths[j]]++] = static_cast<std::int32_t>(j);
    }
};

}  // namespace

template <class C> void sparse_sign_product(const Rows &rows, Map map, C *out, int n_threads) {
    if (map.n_nonzeros == 1) {
        CountSketch<C> method(map, rows.n_columns, n_threads);
        multiply_by_tiles(rows, map, method, out, n_threads);
    } else if (rows.n_rows >= many_rows && map.n_nonzeros >= many_nonzeros &&
               map.n_components <= max_columns_per_nonzero * map.n_nonzeros) {
        Gather<C> method(map, rows.n_columns, n_threads);
        multiply_by_tiles(rows, map, method, out, n_threads);
    } else {
        Scatter<C> method(map, rows.n_columns, n_threads);
        multiply_by_tiles(rows, map, method, out, n_threads);
    }
}

PK_INSTANTIATE(sparse_sign_product);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

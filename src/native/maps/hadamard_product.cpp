// Rows through a randomised Hadamard transform (SRHT): every coordinate gets a random sign, the row
// is padded to a power of two and goes through the Walsh-Hadamard transform, and the entries at
// map.positions are kept.
//
// If a tile of rows fits into `tile_bytes`, there is one row a lane. Else rows are transformed one
// at a time, with neighbouring entries in the lanes. The choice depends on n_columns alone, so that
// a row has the same bits in every block.
#include <bit>

#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"
#include "maps/kernels.hpp"
#include "maps/sign_words.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The largest tile, in bytes: about one core's share of the cache.
constexpr std::int64_t tile_bytes = std::int64_t{4} << 20;

// Butterflies over the first index of data[n][n_lanes], in place; n is a power of two. Two levels
// at a time, because reading and writing the cache takes most of the time and this halves it.
template <class C> void transform_lanes(C *data, std::int64_t n) {
    constexpr int lanes = n_lanes<C>;
    std::int64_t step = 1;
    if (std::countr_zero(static_cast<std::uint64_t>(n)) % 2 == 1) {
        for (std::int64_t i = 0; i < n; i += 2) {
            const Lanes<C> a = load(data + i * lanes), b = load(data + (i + 1) * lanes);
            store(data + i * lanes, a + b);
            store(data + (i + 1) * lanes, a - b);
        }
        step = 2;
    }
    for (; step < n; step *= 4)
        for (std::int64_t base = 0; base < n; base += 4 * step)
            for (std::int64_t i = base; i < base + step; ++i) {
                C *at[4];
                for (int j = 0; j < 4; ++j) at[j] = data + (i + j * step) * lanes;
                const Lanes<C> a = load(at[0]), b = load(at[1]), c = load(at[2]), d = load(at[3]);
                const Lanes<C> ab = a + b, ab_ = a - b, cd = c + d, cd_ = c - d;
                store(at[0], ab + cd);
                store(at[1], ab_ + cd_);
                store(at[2], ab - cd);
                store(at[3], ab_ - cd_);
            }
}

// Butterflies inside each of the n vectors of data[n][n_lanes].
template <class C> void transform_inside(C *data, std::int64_t n) {
    constexpr int lanes = n_lanes<C>;
    for (std::int64_t i = 0; i < n; ++i)
        for (int step = 1; step < lanes; step *= 2)
            for (int base = 0; base < lanes; base += 2 * step)
                for (int j = base; j < base + step; ++j) {
                    C *a = data + i * lanes + j, *b = a + step;
                    const C sum = *a + *b, difference = *a - *b;
                    *a = sum;
                    *b = difference;
                }
}

// minus[i]: whether coordinate i changes its sign. It does where entry (i, 0) of the key's sign
// matrix is -1.
void generate_flips(std::uint64_t key, std::int64_t n, std::uint8_t *minus) {
    for (std::int64_t first = 0; first < n; first += 8) {
        std::uint32_t words[8][4];
        const std::int64_t left = n - first < 8 ? n - first : 8;
        cells_of(key, Stream::signs, 0, left, [first](std::int64_t i) { return first + i; }, words);
        for (std::int64_t i = 0; i < left; ++i) minus[first + i] = !(words[i][0] & 1u);
    }
}

template <class C, class T>
void transform_row(const T *row, const std::uint8_t *minus, std::int64_t n_columns,
                   std::int64_t padded, C *data) {
    for (std::int64_t i = 0; i < padded; ++i) {
        const C value = i < n_columns ? static_cast<C>(widen(row[i])) : C{0};
        data[i] = i < n_columns && minus[i] ? -value : value;
    }
    const std::int64_t n = padded / n_lanes<C>;
    transform_lanes(data, n);
    transform_inside(data, n);
}

// Transforms a tile to data[half][coordinate][lane], one of its two vectors of rows after the
// other.
template <class C>
void transform_tile(C *packed, const std::uint8_t *minus, std::int64_t n_columns,
                    std::int64_t padded, C *data) {
    for (int half = 0; half < 2; ++half) {
        C *to = data + half * padded * n_lanes<C>;
        for (std::int64_t i = 0; i < padded; ++i) {
            Lanes<C> value = {};
            if (i < n_columns) value = load(packed + i * tile_rows<C> + half * n_lanes<C>);
            store(to + i * n_lanes<C>, i < n_columns && minus[i] ? -value : value);
        }
        transform_lanes(to, padded);
    }
}

}  // namespace

template <class C> void hadamard_product(const Rows &rows, Map map, C *out, int n_threads) {
    constexpr int tile = tile_rows<C>;
    const std::int64_t t = map.n_components, d = rows.n_columns;
    const auto least = static_cast<std::uint64_t>(d > n_lanes<C> ? d : n_lanes<C>);
    const auto padded = static_cast<std::int64_t>(std::bit_ceil(least));
    const bool by_tile = padded * tile * static_cast<std::int64_t>(sizeof(C)) <= tile_bytes;
    const std::int64_t together = by_tile ? tile : 1;
    const std::int64_t n_tiles = (rows.n_rows + together - 1) / together;
    const auto scale = static_cast<C>(map.scale);
    const PackTile<C> pack = pack_tile_for<C>(rows.element);
    Buffer<std::uint8_t> minus(d);
    PerThread<Buffer<C>> all_packed(n_threads, by_tile ? d * tile : 0);
    PerThread<Buffer<C>> all_data(n_threads, padded * together);
    generate_flips(map.key, d, minus.data());
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        C *packed = all_packed.own().data(), *data = all_data.own().data();
#pragma omp for schedule(dynamic, 1)
        for (std::int64_t index = 0; index < n_tiles; ++index) {
            const std::int64_t first = index * together;
            const std::int64_t left = rows.n_rows - first;
            const std::int64_t n_rows = left < together ? left : together;
            if (by_tile) {
                pack(rows, first, n_rows, 0, d, packed);
                transform_tile(packed, minus.data(), d, padded, data);
            } else {
                with_element(rows.element, [&](auto zero) {
                    transform_row(rows.row<decltype(zero)>(first), minus.data(), d, padded, data);
                });
            }
            for (std::int64_t row = 0; row < n_rows; ++row)
                for (std::int64_t j = 0; j < t; ++j) {
                    const std::int64_t half = row / n_lanes<C>, lane = row % n_lanes<C>;
                    const std::int64_t at =
                        by_tile ? (half * padded + map.positions[j]) * n_lanes<C> + lane
                                : map.positions[j];
                    out[(first + row) * t + j] = data[at] * scale;
                }
        }
    }
}

// Entry (i, p) of the transform is +1 if i and p have an even number of bits in common, else -1. So
// a nonzero costs n_components additions, and nothing is padded or transformed.
template <class C>
void hadamard_product_sparse(const SparseRows<C> &rows, Map map, C *out, int n_threads) {
    const std::int64_t t = map.n_components;
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 16) if (n_threads > 1)
    for (std::int64_t row = 0; row < rows.n_rows; ++row) {
        C *to = out + row * t;
        for (std::int64_t j = 0; j < t; ++j) to[j] = 0;
        const std::int64_t end = rows.start(row + 1);
        for (std::int64_t e = rows.start(row); e < end; ++e) {
            const auto i = static_cast<std::uint64_t>(rows.index(e));
            const C value = sign(map.key, i, 0) > 0 ? rows.values[e] : -rows.values[e];
            for (std::int64_t j = 0; j < t; ++j) {
                std::uint64_t shared = i & static_cast<std::uint64_t>(map.positions[j]);
                shared ^= shared >> 32;
                auto parity = static_cast<std::uint32_t>(shared ^ (shared >> 16));
                parity ^= parity >> 8;
                parity ^= parity >> 4;
                parity = 0x6996u >> (parity & 15u) & 1u;
                to[j] += parity ? -value : value;
            }
        }
        for (std::int64_t j = 0; j < t; ++j) to[j] *= static_cast<C>(map.scale);
    }
}

PK_INSTANTIATE(hadamard_product);
PK_INSTANTIATE(hadamard_product_sparse);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

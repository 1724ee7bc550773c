// A block of rows times the random sign matrix, by table look-up ("four Russians", the mailman
// algorithm of Liberty and Zucker turned around): the paper's step 3, A R, with R never stored.
// Does not choose t, does not know what the product is for.
//
// Take a tile of rows, one row a lane. For each group of `bits` coordinates a table holds all
// 2^bits signed sums of the tile; a column of R names one entry a group by its code, so a column
// costs one addition for `bits` coordinates instead of `bits` multiplications. Tables are built by
// doubling, one addition an entry.
//
// Order of additions, fixed per row: within a section of `groups` tables from first to last, then
// the section's sum onto the running total, sections from first to last. Neither threads, tiles
// nor panels touch it.
#include <omp.h>

#include <cmath>

#include "kernels.hpp"
#include "lanes.hpp"
#include "signs.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

using Code = std::uint8_t;

// The codes of one panel of coordinates are regenerated once a call and shared by all its tiles;
// a panel is as long as this many bytes allow, whatever d and t.
constexpr std::int64_t panel_bytes = std::int64_t{4} << 20;

template <int bits, int groups> struct Layout {
    static constexpr int entries = 1 << bits;
    static constexpr int coordinates = bits * groups;  // of one section
};

#if defined(__AVX2__)
// Philox cells of eight consecutive rows of R, one row a lane.
inline void philox_lanes(std::uint64_t key, std::uint64_t row, std::uint32_t cell,
                         __m256i (&out)[4]) {
    alignas(32) std::uint32_t low[8], high[8];
    for (int lane = 0; lane < 8; ++lane) {
        low[lane] = static_cast<std::uint32_t>(row + lane);
        high[lane] = static_cast<std::uint32_t>((row + lane) >> 32);
    }
    __m256i word[4] = {_mm256_load_si256(reinterpret_cast<const __m256i *>(low)),
                       _mm256_load_si256(reinterpret_cast<const __m256i *>(high)),
                       _mm256_set1_epi32(static_cast<int>(cell)),
                       _mm256_set1_epi32(static_cast<int>(Stream::signs))};
    auto key_low = static_cast<std::uint32_t>(key);
    auto key_high = static_cast<std::uint32_t>(key >> 32);
    const auto multiply = [](__m256i lanes, std::uint32_t by, __m256i &product_low,
                             __m256i &product_high) {
        const __m256i factor = _mm256_set1_epi32(static_cast<int>(by));
        const __m256i even = _mm256_mul_epu32(lanes, factor);
        const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(lanes, 32), factor);
        product_low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
        product_high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    };
    for (int round = 0; round < philox_rounds; ++round) {
        __m256i first_low, first_high, second_low, second_high;
        multiply(word[0], philox_multiplier[0], first_low, first_high);
        multiply(word[2], philox_multiplier[1], second_low, second_high);
        word[0] = _mm256_xor_si256(_mm256_xor_si256(second_high, word[1]),
                                   _mm256_set1_epi32(static_cast<int>(key_low)));
        word[2] = _mm256_xor_si256(_mm256_xor_si256(first_high, word[3]),
                                   _mm256_set1_epi32(static_cast<int>(key_high)));
        word[1] = second_low;
        word[3] = first_low;
        key_low += philox_weyl[0];
        key_high += philox_weyl[1];
    }
    for (int i = 0; i < 4; ++i) out[i] = word[i];
}

// bytes[column][eight]: the signs of rows 8 * eight ... 8 * eight + 7, lowest row in bit 0.
template <int eights>
inline void sign_bytes(std::uint64_t key, std::uint64_t row, std::uint32_t cell, int n_columns,
                       std::uint64_t *bytes) {
    __m256i word[eights][4];
    for (int eight = 0; eight < eights; ++eight)
        philox_lanes(key, row + 8 * eight, cell, word[eight]);
    for (int quarter = 0; quarter < 4; ++quarter)
        for (int bit = 31; bit >= 0; --bit) {
            std::uint64_t packed = 0;
            for (int eight = 0; eight < eights; ++eight) {
                const auto mask = static_cast<std::uint32_t>(
                    _mm256_movemask_ps(_mm256_castsi256_ps(word[eight][quarter])));
                packed |= std::uint64_t{mask} << (8 * eight);
                word[eight][quarter] = _mm256_slli_epi32(word[eight][quarter], 1);
            }
            if (32 * quarter + bit < n_columns) bytes[32 * quarter + bit] = packed;
        }
}
#else
template <int eights>
inline void sign_bytes(std::uint64_t key, std::uint64_t row, std::uint32_t cell, int n_columns,
                       std::uint64_t *bytes) {
    for (int column = 0; column < n_columns; ++column) bytes[column] = 0;
    for (int i = 0; i < 8 * eights; ++i) {
        const Philox4x32 signs = philox_cell(key, Stream::signs, row + i, cell);
        for (int column = 0; column < n_columns; ++column)
            bytes[column] |= std::uint64_t{signs.word[column / 32] >> (column % 32) & 1u} << i;
    }
}
#endif

// codes[section][column][group] of the sections [begin, end).
template <int bits, int groups>
void generate_codes(std::uint64_t key, std::int64_t begin, std::int64_t end,
                    std::int64_t n_components, Code *codes, int n_threads) {
    constexpr int coordinates = Layout<bits, groups>::coordinates;
    static_assert(coordinates % 8 == 0 && coordinates <= 64);
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
    for (std::int64_t section = begin; section < end; ++section) {
        Code *out = codes + (section - begin) * n_components * groups;
        for (std::int64_t column = 0; column < n_components; column += columns_per_cell) {
            std::uint64_t bytes[columns_per_cell];
            const auto left = n_components - column;
            const int n_columns =
                left < columns_per_cell ? static_cast<int>(left) : columns_per_cell;
            sign_bytes<coordinates / 8>(key, static_cast<std::uint64_t>(section * coordinates),
                                        static_cast<std::uint32_t>(column / columns_per_cell),
                                        n_columns, bytes);
            for (int j = 0; j < n_columns; ++j)
                for (int group = 0; group < groups; ++group)
                    out[(column + j) * groups + group] = static_cast<Code>(
                        bytes[j] >> (bits * group) & (Layout<bits, groups>::entries - 1));
        }
    }
}

// All signed sums of `bits` coordinates: entry e adds coordinate b where bit b of e is set and
// subtracts it where it is not.
template <class C, int bits> inline void build_table(const C *packed, C *table) {
    constexpr int tile = tile_rows<C>;
    for (int half = 0; half < 2; ++half) {
        const int offset = half * n_lanes<C>;
        Lanes<C> lowest = -load(packed + offset);
        for (int bit = 1; bit < bits; ++bit) lowest -= load(packed + bit * tile + offset);
        store(table + offset, lowest);
        for (int bit = 0; bit < bits; ++bit) {
            const Lanes<C> value = load(packed + bit * tile + offset);
            const Lanes<C> twice = value + value;
            for (int entry = 0; entry < 1 << bit; ++entry)
                store(table + ((1 << bit) + entry) * tile + offset,
                      load(table + entry * tile + offset) + twice);
        }
    }
}

// totals[column][row] += the section's share, for all columns.
template <class C, int bits, int groups>
inline void look_up(const C *tables, const Code *codes, std::int64_t n_components, C *totals) {
    constexpr int tile = tile_rows<C>;
    constexpr int entries = Layout<bits, groups>::entries;
    for (std::int64_t column = 0; column < n_components; ++column) {
        const Code *code = codes + column * groups;
        const C *entry = tables + code[0] * tile;
        Lanes<C> low = load(entry);
        Lanes<C> high = load(entry + n_lanes<C>);
#pragma GCC unroll 8
        for (int group = 1; group < groups; ++group) {
            entry = tables + (group * entries + code[group]) * tile;
            low += load(entry);
            high += load(entry + n_lanes<C>);
        }
        C *total = totals + column * tile;
        store(total, load(total) + low);
        store(total + n_lanes<C>, load(total + n_lanes<C>) + high);
    }
}

template <class C, int bits, int groups>
void multiply(const Rows &rows, std::uint64_t key, double scale, C *out, std::int64_t n_components,
              int n_threads) {
    constexpr int tile = tile_rows<C>;
    constexpr int coordinates = Layout<bits, groups>::coordinates;
    constexpr int table_size = Layout<bits, groups>::entries * tile;
    const std::int64_t n_sections = (rows.n_columns + coordinates - 1) / coordinates;
    const std::int64_t n_tiles = (rows.n_rows + tile - 1) / tile;
    std::int64_t panel = panel_bytes / (n_components * groups);
    panel = panel < 1 ? 1 : panel > n_sections ? n_sections : panel;
    const PackTile<C> pack = pack_tile_for<C>(rows.element);
    Buffer<Code> codes(panel * n_components * groups);

    for (std::int64_t begin = 0; begin < n_sections; begin += panel) {
        const std::int64_t end = begin + panel < n_sections ? begin + panel : n_sections;
        generate_codes<bits, groups>(key, begin, end, n_components, codes.data(), n_threads);
        const C factor = end == n_sections ? static_cast<C>(scale) : C{1};
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            Buffer<C> packed(coordinates * tile), tables(groups * table_size),
                totals(n_components * tile);
#pragma omp for schedule(dynamic, 4)
            for (std::int64_t t = 0; t < n_tiles; ++t) {
                const std::int64_t first = t * tile;
                const std::int64_t left = rows.n_rows - first;
                const std::int64_t n_rows = left < tile ? left : tile;
                for (std::int64_t column = 0; column < n_components; ++column)
                    for (int row = 0; row < tile; ++row)
                        totals[column * tile + row] =
                            begin > 0 && row < n_rows ? out[(first + row) * n_components + column]
                                                      : C{0};
                for (std::int64_t section = begin; section < end; ++section) {
                    const std::int64_t column = section * coordinates;
                    const std::int64_t rest = rows.n_columns - column;
                    const std::int64_t width = rest < coordinates ? rest : coordinates;
                    pack(rows, first, n_rows, column, width, packed.data());
                    for (std::int64_t i = width * tile; i < coordinates * tile; ++i) packed[i] = 0;
                    for (int group = 0; group < groups; ++group)
                        build_table<C, bits>(packed.data() + group * bits * tile,
                                             tables.data() + group * table_size);
                    look_up<C, bits, groups>(
                        tables.data(), codes.data() + (section - begin) * n_components * groups,
                        n_components, totals.data());
                }
                for (std::int64_t row = 0; row < n_rows; ++row)
                    for (std::int64_t column = 0; column < n_components; ++column)
                        out[(first + row) * n_components + column] =
                            totals[column * tile + row] * factor;
            }
        }
    }
}

}  // namespace

// A longer group halves the look-ups and doubles the table: the wider R, the longer the group.
template <class C>
void sign_product(const Rows &rows, std::uint64_t key, double scale, C *out,
                  std::int64_t n_components, int n_threads) {
    if (n_components <= 24)
        return multiply<C, 3, 8>(rows, key, scale, out, n_components, n_threads);
    if (n_components <= 80)
        return multiply<C, 4, 8>(rows, key, scale, out, n_components, n_threads);
    multiply<C, 5, 8>(rows, key, scale, out, n_components, n_threads);
}

template void sign_product<float>(const Rows &, std::uint64_t, double, float *, std::int64_t, int);
template void sign_product<double>(const Rows &, std::uint64_t, double, double *, std::int64_t,
                                   int);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

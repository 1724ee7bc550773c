// Tables of signed sums that fit into one or two registers, for one row of the data and a few
// coordinates. One permutation looks up as many columns of R as a vector has lanes, where
// sign_tables.hpp needs a load for every column. `RegisterTables` is a Method of row_product.hpp.
//
// The order of additions is that of sign_product.cpp: signed coordinates of a group from first to
// last, groups of a section from first to last, sections from first to last.
#pragma once

#include "lanes/buffer.hpp"
#include "lanes/look_up.hpp"
#include "maps/row_product.hpp"
#include "maps/sign_sections.hpp"
#include "maps/sign_words.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Six rows with four vectors of columns are 24 sums. They, the codes of the four vectors, a table
// of two registers and the entry looked up have room in the 32 registers of AVX-512.
constexpr int rows_together = 6;

template <int bits> struct RegisterTables {
    using Value = float;
    using Sum = float;
    static constexpr Element element = Element::float32;
    static constexpr int tile = rows_together, lanes = n_lanes<float>;
    static constexpr std::int64_t width = coordinates<bits>;
    static constexpr int registers = entries<bits> / lanes;  // of a table
    // A lane of codes holds the codes of several groups. The next one is shifted into place.
    static constexpr int codes_per_lane = bits * groups <= 32 ? groups : groups / 2;
    static constexpr int words = groups / codes_per_lane;  // for the groups of a section
    static_assert(registers >= 1 && bits * codes_per_lane <= 32);
    const Map map;
    const int n_threads;
    const std::int64_t n_vectors, n_padded, panel;
    Buffer<std::uint32_t> codes;  // [section][vector][word][lane]
    std::int64_t first_section = 0;

    struct Scratch {
        Buffer<float> tables;  // [group][row][entry]
        Scratch() : tables(groups * tile * entries<bits>) {}
    };

    RegisterTables(Map the_map, std::int64_t n_columns, int threads)
        : map(the_map), n_threads(threads), n_vectors((map.n_components + lanes - 1) / lanes),
          n_padded(n_vectors * lanes),
          panel(panel_length((n_columns + width - 1) / width,
                             n_padded * words * static_cast<std::int64_t>(sizeof(std::uint32_t)))),
          codes(panel * n_padded * words) {}

    template <class T> static float convert(T value) { return static_cast<float>(widen(value)); }

    void prepare(std::int64_t begin, std::int64_t end) {
        first_section = begin;
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
        for (std::int64_t section = begin; section < end; ++section)
            generate(section, codes.data() + (section - begin) * n_padded * words);
    }
    void add(const float *const (&values)[tile], std::int64_t section, Scratch &scratch,
             float *totals) const {
        build(values, scratch.tables.data());
        const std::uint32_t *from = codes.data() + (section - first_section) * n_padded * words;
        for_stretches(n_vectors, [&](std::int64_t first, auto n) {
            add_stretch<n>(scratch.tables.data(), from + first * words * lanes, n_padded,
                           totals + first * lanes);
        });
    }

  private:
    void generate(std::int64_t section, std::uint32_t *out) const {
        for (std::int64_t column = 0; column < n_padded; column += columns_per_cell) {
            std::uint64_t packed[columns_per_cell];
            const std::int64_t left = n_padded - column;
            const int n = left < columns_per_cell ? static_cast<int>(left) : columns_per_cell;
            sign_bits<bits>(map.key, static_cast<std::uint64_t>(section * width),
                            static_cast<std::uint32_t>(column / columns_per_cell), n, packed);
            for (int j = 0; j < n; ++j)
                for (int word = 0; word < words; ++word)
                    out[((column + j) / lanes * words + word) * lanes + j % lanes] =
                        static_cast<std::uint32_t>(packed[j] >> (bits * codes_per_lane * word));
        }
    }

    // The tables of all groups of a section. Entry e adds coordinate b where bit b of e is set and
    // subtracts it where it is not: a product with +1 or -1, which is exact.
    static void build(const float *const (&values)[tile], float *tables) {
        constexpr int in_lane = registers == 1 ? bits : bits - 1;  // bits that lanes tell apart
        Lanes<float> sign[in_lane];
        for (int bit = 0; bit < in_lane; ++bit)
            for (int lane = 0; lane < lanes; ++lane)
                sign[bit][lane] = lane >> bit & 1 ? 1.0f : -1.0f;
        for (int row = 0; row < tile; ++row)
            for (int group = 0; group < groups; ++group) {
                const float *value = values[row] + group * bits;
                float *table = tables + (group * tile + row) * entries<bits>;
                Lanes<float> sums = sign[0] * value[0];
#pragma GCC unroll 4
                for (int bit = 1; bit < in_lane; ++bit) sums += sign[bit] * value[bit];
                if constexpr (registers == 1) {
                    store(table, sums);
                } else {
                    store(table, sums - value[bits - 1]);
                    store(table + lanes, sums + value[bits - 1]);
                }
            }
    }

    // sums[row][v] += the entries that the codes name in the tables of a group, or = for the first.
    template <bool first, int n>
    [[gnu::always_inline]] static inline void
    add_group(const float *tables, const CodeLanes (&code)[n], Lanes<float> (&sums)[tile][n]) {
#pragma GCC unroll 6
        for (int row = 0; row < tile; ++row) {
            Lanes<float> table[registers];
#pragma GCC unroll 2
            for (int i = 0; i < registers; ++i)
                table[i] = load(tables + row * entries<bits> + i * lanes);
#pragma GCC unroll 4
            for (int v = 0; v < n; ++v) {
                const Lanes<float> entry = look_up(table, code[v]);
                sums[row][v] = first ? entry : sums[row][v] + entry;
            }
        }
    }

    // totals[row][column] += the sums of the look-ups, for n neighbouring vectors of columns.
    template <int n>
    static void add_stretch(const float *tables, const std::uint32_t *from, std::int64_t n_padded,
                            float *totals) {
        constexpr int group_size = tile * entries<bits>;
        Lanes<float> sums[tile][n];
        CodeLanes code[n];
#pragma GCC unroll 2
        for (int word = 0; word < words; ++word) {
#pragma GCC unroll 4
            for (int v = 0; v < n; ++v)
                std::memcpy(&code[v], from + (v * words + word) * lanes, sizeof code[v]);
            if (word == 0)
                add_group<true>(tables, code, sums);
            else
                add_group<false>(tables, code, sums);
            tables += group_size;
#pragma GCC unroll 1
            for (int group = 1; group < codes_per_lane; ++group, tables += group_size) {
#pragma GCC unroll 4
                for (int v = 0; v < n; ++v) code[v] >>= bits;
                add_group<false>(tables, code, sums);
            }
        }
#pragma GCC unroll 6
        for (int row = 0; row < tile; ++row)
#pragma GCC unroll 4
            for (int v = 0; v < n; ++v) {
                float *total = totals + row * n_padded + v * lanes;
                store(total, load(total) + sums[row][v]);
            }
    }
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

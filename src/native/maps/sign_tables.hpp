// Tables of all signed sums of a few coordinates, one row of the data a lane, and the codes with
// which the columns of R look them up. `LookUp` is a Method of tile_product.hpp.
#pragma once

#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"
#include "maps/sign_sections.hpp"
#include "maps/sign_words.hpp"
#include "maps/tile_product.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// The type of totals for sums of type C. Sums of 8-bit integers have 16 bits inside a section, so
// that a vector holds twice the rows and look-ups cost half. The total of a row needs 32 bits.
template <class C> struct TotalOf {
    using type = C;
};
template <> struct TotalOf<std::int16_t> {
    using type = std::int32_t;
};
template <class C> using Total = typename TotalOf<C>::type;

// Loads take most of the time of a look-up, so eight codes are loaded in one word and then taken
// apart. A code is four times the number of its entry. Multiplied by a quarter of the entry's size
// (which the processor does while it computes the address) it is the entry's place in the table.
using CodeWord = std::uint64_t;
constexpr int codes_per_word = 8;
constexpr int code_unit = 4;

// Words whose tables are kept at the same time. More words would mean fewer updates of the totals,
// but tables and totals together must stay in the first-level cache.
template <class C> constexpr int words_together = sizeof(C) == 2 ? 2 : 1;
template <class C> constexpr int tables_together = words_together<C> * codes_per_word;

template <int bits> inline CodeWord spread_codes(std::uint64_t packed) {
    static_assert((entries<bits> - 1) * code_unit < 256);
    CodeWord word = 0;
    for (int group = 0; group < codes_per_word; ++group)
        word |= (packed >> (bits * group) & (entries<bits> - 1)) << (8 * group);
    return word * code_unit;
}

inline std::uint64_t code_at(CodeWord word, int group) {
#if defined(__BMI__)
    // One instruction instead of two; compilers do not find it by themselves.
    if (group > 0 && group + 1 < codes_per_word)
        return _bextr_u64(word, static_cast<unsigned>(8 * group), 8);
#endif
    return word >> (8 * group) & 0xff;
}

// codes[step][column][word] of the steps [begin, end), of `n_words` words each.
template <int bits, int n_words>
void generate_codes(std::uint64_t key, std::int64_t begin, std::int64_t end,
                    std::int64_t n_components, CodeWord *codes, int n_threads) {
    constexpr int rows_per_word = bits * codes_per_word;
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
    for (std::int64_t word = begin * n_words; word < end * n_words; ++word) {
        CodeWord *out = codes + (word / n_words - begin) * n_components * n_words + word % n_words;
        for (std::int64_t column = 0; column < n_components; column += columns_per_cell) {
            std::uint64_t packed[columns_per_cell];
            const auto left = n_components - column;
            const int n_columns =
                left < columns_per_cell ? static_cast<int>(left) : columns_per_cell;
            sign_bits<bits>(key, static_cast<std::uint64_t>(word * rows_per_word),
                            static_cast<std::uint32_t>(column / columns_per_cell), n_columns,
                            packed);
            for (int j = 0; j < n_columns; ++j)
                out[(column + j) * n_words] = spread_codes<bits>(packed[j]);
        }
    }
}

// All signed sums of `bits` coordinates, from the first to the last: entry e adds coordinate b
// where bit b of e is set and subtracts it where it is not. The entries that begin with a plus are
// computed, the others are their negatives.
template <class C, int bits> inline void build_table(const C *packed, C *table) {
    constexpr int lanes = n_lanes<C>;
    constexpr int last = 1 << (bits - 1);
    Lanes<C> sums[last / 2];  // of all but the last coordinate, the first with a plus
    sums[0] = load(packed);
#pragma GCC unroll 8
    for (int bit = 1; bit < bits - 1; ++bit) {
        const Lanes<C> value = load(packed + bit * lanes);
#pragma GCC unroll 32
        for (int i = 0; i < 1 << (bit - 1); ++i) {
            sums[(1 << (bit - 1)) + i] = sums[i] + value;
            sums[i] -= value;
        }
    }
    const Lanes<C> value = load(packed + (bits - 1) * lanes);
#pragma GCC unroll 32
    for (int i = 0; i < last / 2; ++i) {
        const int entry = 2 * i + 1;
        const Lanes<C> plus = sums[i] + value, minus = sums[i] - value;
        store(table + (last + entry) * lanes, plus);
        store(table + entry * lanes, minus);
        store(table + (last - 1 - entry) * lanes, -plus);
        store(table + (2 * last - 1 - entry) * lanes, -minus);
    }
}

template <class C> inline Lanes<C> entry_at(const C *table, std::uint64_t code) {
    Lanes<C> entry;
    std::memcpy(&entry, reinterpret_cast<const char *>(table) + code * (sizeof entry / code_unit),
                sizeof entry);
    return entry;
}

template <class C> inline void add_to_total(Lanes<C> sum, C *total) {
    store(total, load(total) + sum);
}
inline void add_to_total(Lanes<std::int16_t> sum, std::int32_t *total) {
    constexpr int half = n_lanes<std::int32_t>;
    Lanes<std::int32_t> wide[2];
    widen_halves(sum, wide);
    for (int i = 0; i < 2; ++i) store(total + i * half, load(total + i * half) + wide[i]);
}

// totals[column][row] += the sums of the look-ups, for all columns. Not inlined, so that what
// code_at needs stays in registers.
template <class C, int bits>
[[gnu::noinline]] void look_up(const C *tables, const CodeWord *words, std::int64_t n_components,
                               Total<C> *totals) {
    constexpr int n_words = words_together<C>;
    for (std::int64_t column = 0; column < n_components; ++column, words += n_words) {
        Lanes<C> sum = {};
#pragma GCC unroll 1
        for (int w = 0; w < n_words; ++w) {
            const CodeWord word = words[w];
            const C *table = tables + w * codes_per_word * entries<bits> * n_lanes<C>;
#pragma GCC unroll 8
            for (int group = 0; group < codes_per_word; ++group) {
                const Lanes<C> entry =
                    entry_at(table + group * entries<bits> * n_lanes<C>, code_at(word, group));
                sum = n_words == 1 && group == 0 ? entry : sum + entry;
#if defined(__AVX512F__) || (defined(__AVX2__) && PK_VECTOR_BYTES == 32)
                // Keeps GCC from extracting all codes first, which needs too many registers.
                asm("" : "+x"(sum));
#endif
            }
        }
        add_to_total(sum, totals + column * n_lanes<C>);
    }
}

template <class C, int bits> struct LookUp {
    using Value = C;
    using Sum = Total<C>;
    static constexpr int tile = n_lanes<C>, stride = tile;
    static constexpr bool reads_rows = false;
    static constexpr int together = 4;
    static constexpr std::int64_t width = bits * tables_together<C>;
    static_assert(sizeof(C) > 2 || width * 255 < 1 << 15);
    const Map map;
    const int n_threads;
    const std::int64_t step_words;
    const std::int64_t panel;
    Buffer<CodeWord> codes;
    std::int64_t first_step = 0;

    struct Scratch {
        Buffer<C> tables;
        explicit Scratch(const LookUp &) : tables(tables_together<C> * entries<bits> * tile) {}
    };

    LookUp(Map the_map, std::int64_t n_columns, int threads)
        : map(the_map), n_threads(threads), step_words(map.n_components * words_together<C>),
          panel(panel_length((n_columns + width - 1) / width,
                             step_words * static_cast<std::int64_t>(sizeof(CodeWord)))),
          codes(panel * step_words) {}

    void prepare(std::int64_t begin, std::int64_t end) {
        first_step = begin;
        generate_codes<bits, words_together<C>>(map.key, begin, end, map.n_components, codes.data(),
                                                n_threads);
    }
    void add(const C *packed, std::int64_t step, Scratch &scratch, Sum *totals, NextLines &) {
        C *tables = scratch.tables.data();
        for (int group = 0; group < tables_together<C>; ++group)
            build_table<C, bits>(packed + group * bits * tile,
                                 tables + group * entries<bits> * tile);
        look_up<C, bits>(tables, codes.data() + (step - first_step) * step_words, map.n_components,
                         totals);
    }
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// Many random words at once: the bits of signs.hpp, for eight rows of R at a time.
#pragma once

#include <type_traits>

#include "lanes/vectors.hpp"
#include "maps/signs.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

#if defined(__AVX2__)
// The Philox cells of eight rows of R, one row a lane.
inline void philox_lanes(std::uint64_t key, Stream stream, const std::uint64_t (&rows)[8],
                         std::uint32_t cell, __m256i (&out)[4]) {
    alignas(32) std::uint32_t low[8], high[8];
    for (int lane = 0; lane < 8; ++lane) {
        low[lane] = static_cast<std::uint32_t>(rows[lane]);
        high[lane] = static_cast<std::uint32_t>(rows[lane] >> 32);
    }
    __m256i word[4] = {_mm256_load_si256(reinterpret_cast<const __m256i *>(low)),
                       _mm256_load_si256(reinterpret_cast<const __m256i *>(high)),
                       _mm256_set1_epi32(static_cast<int>(cell)),
                       _mm256_set1_epi32(static_cast<int>(stream))};
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

// words[i] <- the cell of the i-th of up to eight rows.
inline void cells_at(std::uint64_t key, Stream stream, const std::uint64_t (&rows)[8],
                     std::uint32_t cell, int n_rows, std::uint32_t (*words)[4]) {
    __m256i lanes[4];
    philox_lanes(key, stream, rows, cell, lanes);
    const __m256i low01 = _mm256_unpacklo_epi32(lanes[0], lanes[1]);
    const __m256i high01 = _mm256_unpackhi_epi32(lanes[0], lanes[1]);
    const __m256i low23 = _mm256_unpacklo_epi32(lanes[2], lanes[3]);
    const __m256i high23 = _mm256_unpackhi_epi32(lanes[2], lanes[3]);
    const __m256i pairs[4] = {
        // cells i and i + 4
        _mm256_unpacklo_epi64(low01, low23), _mm256_unpackhi_epi64(low01, low23),
        _mm256_unpacklo_epi64(high01, high23), _mm256_unpackhi_epi64(high01, high23)};
    for (int i = 0; i < 4; ++i) {
        if (i < n_rows)
            _mm_storeu_si128(reinterpret_cast<__m128i *>(words[i]),
                             _mm256_castsi256_si128(pairs[i]));
        if (i + 4 < n_rows)
            _mm_storeu_si128(reinterpret_cast<__m128i *>(words[i + 4]),
                             _mm256_extracti128_si256(pairs[i], 1));
    }
}

// packed[column] <- the signs of `eights` * 8 neighbouring rows, the first row in bit 0.
template <int eights>
inline void sign_bits(std::uint64_t key, std::uint64_t row, std::uint32_t cell, int n_columns,
                      std::uint64_t *packed) {
    __m256i word[eights][4];
    for (int eight = 0; eight < eights; ++eight) {
        std::uint64_t rows[8];
        for (int i = 0; i < 8; ++i) rows[i] = row + 8 * eight + i;
        philox_lanes(key, Stream::signs, rows, cell, word[eight]);
    }
    for (int quarter = 0; 32 * quarter < n_columns; ++quarter) {
        const int n_bits = n_columns - 32 * quarter < 32 ? n_columns - 32 * quarter : 32;
        for (int eight = 0; eight < eights; ++eight)
            word[eight][quarter] =
                _mm256_sll_epi32(word[eight][quarter], _mm_cvtsi32_si128(32 - n_bits));
        for (int bit = n_bits - 1; bit >= 0; --bit) {
            std::uint64_t bits = 0;
            for (int eight = 0; eight < eights; ++eight) {
                const auto mask = static_cast<std::uint32_t>(
                    _mm256_movemask_ps(_mm256_castsi256_ps(word[eight][quarter])));
                bits |= std::uint64_t{mask} << (8 * eight);
                word[eight][quarter] = _mm256_slli_epi32(word[eight][quarter], 1);
            }
            packed[32 * quarter + bit] = bits;
        }
    }
}
#else
inline void cells_at(std::uint64_t key, Stream stream, const std::uint64_t (&rows)[8],
                     std::uint32_t cell, int n_rows, std::uint32_t (*words)[4]) {
    for (int i = 0; i < n_rows; ++i) {
        const Philox4x32 found = philox_cell(key, stream, rows[i], cell);
        for (int quarter = 0; quarter < 4; ++quarter) words[i][quarter] = found.word[quarter];
    }
}

template <int eights>
inline void sign_bits(std::uint64_t key, std::uint64_t row, std::uint32_t cell, int n_columns,
                      std::uint64_t *packed) {
    for (int column = 0; column < n_columns; ++column) packed[column] = 0;
    for (int i = 0; i < 8 * eights; ++i) {
        const Philox4x32 signs = philox_cell(key, Stream::signs, row + i, cell);
        for (int column = 0; column < n_columns; ++column)
            packed[column] |= std::uint64_t{signs.word[column / 32] >> (column % 32) & 1u} << i;
    }
}
#endif

// words[i] <- the cell of row row_of(i), for any number of rows.
template <class RowOf>
inline void cells_of(std::uint64_t key, Stream stream, std::uint32_t cell, std::int64_t n_rows,
                     RowOf row_of, std::uint32_t (*words)[4]) {
    for (std::int64_t first = 0; first < n_rows; first += 8) {
        const std::int64_t left = n_rows - first;
        std::uint64_t rows[8] = {};
        for (int i = 0; i < 8 && i < left; ++i)
            rows[i] = static_cast<std::uint64_t>(row_of(first + i));
        cells_at(key, stream, rows, cell, left < 8 ? static_cast<int>(left) : 8, words + first);
    }
}

// Signed values with columns in lanes: lane j of vector v stands for column v * n_lanes + j of 32.
template <class C> struct SignLanes {
    using Word = std::conditional_t<sizeof(C) == 4, std::uint32_t, std::uint64_t>;
    using Words = Vector<Word, n_lanes<C>>;
    static constexpr int n_vectors = 32 / n_lanes<C>;
    static constexpr int top = 8 * sizeof(C) - 1;
    Words shift[n_vectors];

    SignLanes() {
        for (int v = 0; v < n_vectors; ++v)
            for (int lane = 0; lane < n_lanes<C>; ++lane)
                shift[v][lane] = static_cast<Word>(top - v * n_lanes<C> - lane);
    }
    // +value where the column's bit is set in `signs`, else -value.
    Lanes<C> apply(Lanes<C> value, std::uint32_t signs, int v) const {
        const Word word = ~signs;
        const Words minus = (word << shift[v]) & (Word{1} << top);
        return (Lanes<C>)((Words)value ^ minus);
    }
    // The same result where the negative of the value is already computed.
    Lanes<C> choose(Lanes<C> plus, [[maybe_unused]] Lanes<C> minus, std::uint32_t signs,
                    int v) const {
#if defined(__AVX2__) && PK_VECTOR_BYTES == 32
        const Words word = (Word{signs} - Words{}) << shift[v];
        if constexpr (sizeof(C) == 4)
            return (Lanes<C>)_mm256_blendv_ps((__m256)minus, (__m256)plus, (__m256)word);
        else
            return (Lanes<C>)_mm256_blendv_pd((__m256d)minus, (__m256d)plus, (__m256d)word);
#else
        return apply(plus, signs, v);
#endif
    }
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// Small squares of numbers transposed in registers: rows of the data become lanes.
#pragma once

#include "lanes/vectors.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

#if defined(__AVX2__)
// Transposes a square: column c of the input vectors becomes output row c; output rows are `stride`
// numbers apart.
inline void transpose(const Vector<float, 8> (&in)[8], float *out, std::int64_t stride) {
    __m256 a[8], b[8];
    for (int i = 0; i < 4; ++i) {
        a[2 * i] = _mm256_unpacklo_ps((__m256)in[2 * i], (__m256)in[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_ps((__m256)in[2 * i], (__m256)in[2 * i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
        b[4 * i + 0] = _mm256_shuffle_ps(a[4 * i], a[4 * i + 2], 0x44);
        b[4 * i + 1] = _mm256_shuffle_ps(a[4 * i], a[4 * i + 2], 0xee);
        b[4 * i + 2] = _mm256_shuffle_ps(a[4 * i + 1], a[4 * i + 3], 0x44);
        b[4 * i + 3] = _mm256_shuffle_ps(a[4 * i + 1], a[4 * i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
        _mm256_storeu_ps(out + i * stride, _mm256_permute2f128_ps(b[i], b[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * stride, _mm256_permute2f128_ps(b[i], b[i + 4], 0x31));
    }
}
inline void transpose(const Vector<double, 4> (&in)[4], double *out, std::int64_t stride) {
    const __m256d low01 = _mm256_unpacklo_pd((__m256d)in[0], (__m256d)in[1]);
    const __m256d high01 = _mm256_unpackhi_pd((__m256d)in[0], (__m256d)in[1]);
    const __m256d low23 = _mm256_unpacklo_pd((__m256d)in[2], (__m256d)in[3]);
    const __m256d high23 = _mm256_unpackhi_pd((__m256d)in[2], (__m256d)in[3]);
    _mm256_storeu_pd(out, _mm256_permute2f128_pd(low01, low23, 0x20));
    _mm256_storeu_pd(out + stride, _mm256_permute2f128_pd(high01, high23, 0x20));
    _mm256_storeu_pd(out + 2 * stride, _mm256_permute2f128_pd(low01, low23, 0x31));
    _mm256_storeu_pd(out + 3 * stride, _mm256_permute2f128_pd(high01, high23, 0x31));
}
inline void transpose(const Vector<std::int32_t, 8> (&in)[8], std::int32_t *out,
                      std::int64_t stride) {
    Vector<float, 8> bits[8];  // the same bits, only moved
    for (int i = 0; i < 8; ++i) bits[i] = (Vector<float, 8>)in[i];
    transpose(bits, reinterpret_cast<float *>(out), stride);
}
inline void transpose(const Vector<std::int16_t, 16> (&in)[16], std::int16_t *out,
                      std::int64_t stride) {
    __m256i a[16], b[16];
    for (int i = 0; i < 8; ++i) {  // a[2 i + h]: rows 2 i and 2 i + 1, columns 4 h .. 4 h + 3
        a[2 * i] = _mm256_unpacklo_epi16((__m256i)in[2 * i], (__m256i)in[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_epi16((__m256i)in[2 * i], (__m256i)in[2 * i + 1]);
    }
    for (int i = 0; i < 4; ++i)  // b[4 i + q]: rows 4 i .. 4 i + 3, columns 2 q and 2 q + 1
        for (int h = 0; h < 2; ++h) {
            b[4 * i + 2 * h] = _mm256_unpacklo_epi32(a[4 * i + h], a[4 * i + 2 + h]);
            b[4 * i + 2 * h + 1] = _mm256_unpackhi_epi32(a[4 * i + h], a[4 * i + 2 + h]);
        }
    for (int i = 0; i < 2; ++i)  // a[8 i + c]: rows 8 i .. 8 i + 7, column c
        for (int q = 0; q < 4; ++q) {
            a[8 * i + 2 * q] = _mm256_unpacklo_epi64(b[8 * i + q], b[8 * i + 4 + q]);
            a[8 * i + 2 * q + 1] = _mm256_unpackhi_epi64(b[8 * i + q], b[8 * i + 4 + q]);
        }
    for (int c = 0; c < 8; ++c) {
        auto *low = reinterpret_cast<__m256i *>(out + c * stride);
        auto *high = reinterpret_cast<__m256i *>(out + (c + 8) * stride);
        _mm256_storeu_si256(low, _mm256_permute2x128_si256(a[c], a[8 + c], 0x20));
        _mm256_storeu_si256(high, _mm256_permute2x128_si256(a[c], a[8 + c], 0x31));
    }
}
template <class C> constexpr int square = 32 / sizeof(C);  // rows and columns of a square
#else
template <class C, int n>
inline void transpose(const Vector<C, n> (&in)[n], C *out, std::int64_t stride) {
    for (int column = 0; column < n; ++column)
        for (int row = 0; row < n; ++row) out[column * stride + row] = in[row][column];
}
template <class C> constexpr int square = 16 / sizeof(C);  // rows and columns of a square
#endif
// Tiles and lists are written square by square, and have no room for half a square at their end.
static_assert(n_lanes<double> % square<double> == 0, "squares fill a vector of any type exactly");

// Copies rows to out[column][row]; output rows are `stride` numbers apart.
template <class C>
inline void transpose_rows(const C *const (&from)[square<C>], std::int64_t n_columns, C *out,
                           std::int64_t stride) {
    constexpr int side = square<C>;
    std::int64_t column = 0;
    for (; column + side <= n_columns; column += side) {
        Vector<C, side> in[side];
#pragma GCC unroll 8
        for (int i = 0; i < side; ++i) std::memcpy(&in[i], from[i] + column, sizeof in[i]);
        transpose(in, out + column * stride, stride);
    }
    for (; column < n_columns; ++column)
        for (int i = 0; i < side; ++i) out[column * stride + i] = from[i][column];
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

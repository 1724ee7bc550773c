// Vectors of the compiled instruction set, and rows of any element type brought into them.
// Everything stands in a namespace of its instruction set: no code is shared between two of them,
// so the linker cannot hand an AVX-512 function to a machine without it.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#ifndef PK_INSTRUCTION_SET
#error "PK_INSTRUCTION_SET names the namespace and PK_VECTOR_BYTES the width; see CMakeLists.txt"
#endif

namespace projected_kmeans::PK_INSTRUCTION_SET {

template <class C, int n> struct VectorOf {
    typedef C type __attribute__((vector_size(n * sizeof(C))));
};
template <class C, int n> using Vector = typename VectorOf<C, n>::type;

template <class C> constexpr int n_lanes = PK_VECTOR_BYTES / sizeof(C);
template <class C> using Lanes = Vector<C, n_lanes<C>>;

// Kernels that put rows into lanes take this many rows at once: two vectors hide the latency of
// an addition and share each broadcast or table address.
template <class C> constexpr int tile_rows = 2 * n_lanes<C>;

template <class C> inline Lanes<C> broadcast(C value) { return value - Lanes<C>{}; }

template <class C> inline Lanes<C> load(const C *from) {
    Lanes<C> lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

template <class C> inline void store(C *to, Lanes<C> lanes) {
    std::memcpy(to, &lanes, sizeof lanes);
}

// The smaller and the larger of two numbers or vectors, b where they are equal; written so that
// one instruction does it.
template <class V> inline V smaller(V a, V b) { return a < b ? a : b; }
template <class V> inline V larger(V a, V b) { return a > b ? a : b; }

inline float widen(Half half) {
    const std::uint32_t sign = (half.bits & 0x8000u) << 16;
    const std::uint32_t magnitude = (half.bits & 0x7fffu) << 13;
    float value;
    std::memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112f;  // moves the exponent's bias from 15 to 127; subnormals come out right
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (magnitude >= 0x0f800000u) bits = magnitude | 0x7f800000u;  // infinity and NaN
    bits |= sign;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> inline T widen(T value) { return value; }

#if defined(__AVX2__)
// Small integers as eight int32; compilers take vectors of 8 bytes apart element by element.
template <class T> inline __m256i load_integers(const T *from) {
    const auto *bytes = reinterpret_cast<const __m128i *>(from);
    if constexpr (std::is_same_v<T, std::uint8_t>)
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64(bytes));
    if constexpr (std::is_same_v<T, std::int8_t>)
        return _mm256_cvtepi8_epi32(_mm_loadl_epi64(bytes));
    if constexpr (std::is_same_v<T, std::uint16_t>)
        return _mm256_cvtepu16_epi32(_mm_loadu_si128(bytes));
    if constexpr (std::is_same_v<T, std::int16_t>)
        return _mm256_cvtepi16_epi32(_mm_loadu_si128(bytes));
}
#endif

// n consecutive elements as numbers of type C.
template <class C, int n, class T> inline Vector<C, n> load_as(const T *from) {
#if defined(__AVX2__)
    if constexpr (n == 8 && sizeof(T) <= 2)
        return __builtin_convertvector((Vector<std::int32_t, 8>)load_integers(from), Vector<C, n>);
#endif
    Vector<T, n> stored;
    std::memcpy(&stored, from, sizeof stored);
    return __builtin_convertvector(stored, Vector<C, n>);
}
template <class C, int n> inline Vector<C, n> load_as(const Half *from) {
#if defined(__AVX2__)
    if constexpr (n == 8) {
        Vector<float, 8> wide = (Vector<float, 8>)_mm256_cvtph_ps(
            _mm_loadu_si128(reinterpret_cast<const __m128i *>(from)));
        return __builtin_convertvector(wide, Vector<C, n>);
    }
#endif
    Vector<C, n> lanes;
    for (int lane = 0; lane < n; ++lane) lanes[lane] = widen(from[lane]);
    return lanes;
}

// Both halves of a vector of int16 as int32.
inline void widen_halves(Lanes<std::int16_t> lanes, Lanes<std::int32_t> (&wide)[2]) {
#if defined(__AVX2__) && PK_VECTOR_BYTES == 32
    wide[0] = (Lanes<std::int32_t>)_mm256_cvtepi16_epi32(_mm256_castsi256_si128((__m256i)lanes));
    wide[1] =
        (Lanes<std::int32_t>)_mm256_cvtepi16_epi32(_mm256_extracti128_si256((__m256i)lanes, 1));
#else
    Vector<std::int16_t, n_lanes<std::int32_t>> half[2];
    std::memcpy(half, &lanes, sizeof half);
    for (int i = 0; i < 2; ++i) wide[i] = __builtin_convertvector(half[i], Lanes<std::int32_t>);
#endif
}

template <class C> inline C sum_lanes(Lanes<C> lanes) {
    C total = 0;
    for (int lane = 0; lane < n_lanes<C>; ++lane) total += lanes[lane];
    return total;
}

// An integer as wide as a number of type C, for indices that stand in lanes beside it.
template <class C> struct LaneIndexOf;
template <> struct LaneIndexOf<float> {
    using type = std::int32_t;
};
template <> struct LaneIndexOf<double> {
    using type = std::int64_t;
};
template <class C> using LaneIndex = typename LaneIndexOf<C>::type;
template <class C> using IndexLanes = Vector<LaneIndex<C>, n_lanes<C>>;

template <class C> inline IndexLanes<C> broadcast_index(std::int64_t index) {
    return static_cast<LaneIndex<C>>(index) - IndexLanes<C>{};
}

#if defined(__AVX2__)
inline Vector<float, 4> sum_four(const Vector<float, 8> (&in)[4]) {
    const __m256 low = _mm256_hadd_ps((__m256)in[0], (__m256)in[1]);
    const __m256 high = _mm256_hadd_ps((__m256)in[2], (__m256)in[3]);
    const __m256 both = _mm256_hadd_ps(low, high);
    return (Vector<float, 4>)_mm_add_ps(_mm256_castps256_ps128(both),
                                        _mm256_extractf128_ps(both, 1));
}
inline Vector<double, 4> sum_four(const Vector<double, 4> (&in)[4]) {
    const __m256d low = _mm256_hadd_pd((__m256d)in[0], (__m256d)in[1]);
    const __m256d high = _mm256_hadd_pd((__m256d)in[2], (__m256d)in[3]);
    return (Vector<double, 4>)_mm256_add_pd(_mm256_permute2f128_pd(low, high, 0x20),
                                            _mm256_permute2f128_pd(low, high, 0x31));
}
#else
template <class V> inline auto sum_four(const V (&in)[4]) {
    using C = std::remove_cvref_t<decltype(in[0][0])>;
    Vector<C, 4> sums = {};
    for (int i = 0; i < 4; ++i)
        for (unsigned lane = 0; lane < sizeof(V) / sizeof(C); ++lane) sums[i] += in[i][lane];
    return sums;
}
#endif

// The sum over the lanes of each of four vectors, in any order of additions.
template <class C> inline Vector<C, 4> sum_each(const Lanes<C> (&in)[4]) {
    if constexpr (PK_VECTOR_BYTES <= 32) {
        return sum_four(in);
    } else {
        Vector<C, n_lanes<C> / 2> halves[4], high;
        for (int i = 0; i < 4; ++i) {
            std::memcpy(&halves[i], &in[i], sizeof high);
            std::memcpy(&high, reinterpret_cast<const char *>(&in[i]) + sizeof high, sizeof high);
            halves[i] += high;
        }
        return sum_four(halves);
    }
}

// Scratch memory at a cache line's boundary.
template <class C> class Buffer {
  public:
    explicit Buffer(std::int64_t size)
        : data_(static_cast<C *>(::operator new(size * sizeof(C) + line))) {
        const auto address = reinterpret_cast<std::uintptr_t>(data_);
        aligned_ = reinterpret_cast<C *>((address + line - 1) / line * line);
    }
    ~Buffer() { ::operator delete(data_); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    C *data() { return aligned_; }
    const C *data() const { return aligned_; }
    C &operator[](std::int64_t index) { return aligned_[index]; }
    const C &operator[](std::int64_t index) const { return aligned_[index]; }

  private:
    static constexpr std::uintptr_t line = 64;
    C *data_;
    C *aligned_;
};

#if defined(__AVX2__)
// Transposes 8 x 8 floats: column c of the input rows becomes output row c.
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
    Vector<float, 8> bits[8];  // only moved, never computed with
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
template <class C> constexpr int square = 32 / sizeof(C);
#else
template <class C, int n>
inline void transpose(const Vector<C, n> (&in)[n], C *out, std::int64_t stride) {
    for (int column = 0; column < n; ++column)
        for (int row = 0; row < n; ++row) out[column * stride + row] = in[row][column];
}
template <class C> constexpr int square = 16 / sizeof(C);
#endif

// Brings `n_rows` <= `tile` rows, columns [first, first + n_columns), into out[column][row],
// columns `stride` apart; rows that are not there become zeros. With a stride of two tiles, every
// column is followed by its negative.
template <class C, int tile, int stride, class T>
void pack_tile_of(const Rows &rows, std::int64_t first_row, std::int64_t n_rows, std::int64_t first,
                  std::int64_t n_columns, C *out) {
    constexpr int side = square<C>;
    for (int base = 0; base < tile; base += side) {
        const int there = n_rows - base < side ? static_cast<int>(n_rows - base) : side;
        const T *from[side] = {};
        for (int row = 0; row < there; ++row)
            from[row] = rows.row<T>(first_row + base + row) + first;
        std::int64_t column = 0;
        for (; column + side <= n_columns; column += side) {
            Vector<C, side> in[side];
            if (there == side)
                for (int row = 0; row < side; ++row) in[row] = load_as<C, side>(from[row] + column);
            else
                for (int row = 0; row < side; ++row)
                    in[row] =
                        row < there ? load_as<C, side>(from[row] + column) : Vector<C, side>{};
            C *to = out + column * stride + base;
            transpose(in, to, stride);
            if constexpr (stride == 2 * tile)
                for (int i = 0; i < side; ++i) {
                    Vector<C, side> lanes;
                    std::memcpy(&lanes, to + i * stride, sizeof lanes);
                    lanes = -lanes;
                    std::memcpy(to + i * stride + tile, &lanes, sizeof lanes);
                }
        }
        for (; column < n_columns; ++column)
            for (int row = 0; row < side; ++row) {
                C *to = out + column * stride + base + row;
                *to = row < there ? static_cast<C>(widen(from[row][column])) : C{0};
                if constexpr (stride == 2 * tile) to[tile] = -*to;
            }
    }
}

// packed <- (packed - origin) * scale, and norms += its squares.
template <class C>
inline void enter_frame(C *packed, Frame<C> frame, std::int64_t first, std::int64_t n_columns,
                        Lanes<C> (&norms)[2]) {
    for (std::int64_t column = 0; column < n_columns; ++column) {
        const C origin = frame.origin[first + column];
        for (int half = 0; half < 2; ++half) {
            C *lanes = packed + column * tile_rows<C> + half * n_lanes<C>;
            const Lanes<C> moved = (load(lanes) - origin) * frame.scale;
            store(lanes, moved);
            norms[half] += moved * moved;
        }
    }
}

// Copies past the caches: what is not read again soon need not be read to be overwritten.
template <class C> inline void stream(const C *from, std::int64_t n, C *to) {
    std::int64_t i = 0;
#if defined(__AVX2__)
    constexpr int step = 32 / sizeof(C);
    for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % 32 != 0; ++i) to[i] = from[i];
    for (; i + step <= n; i += step)
        _mm256_stream_si256(reinterpret_cast<__m256i *>(to + i),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i)));
    _mm_sfence();
#endif
    for (; i < n; ++i) to[i] = from[i];
}

// Calls `action` with a value of the rows' element type.
template <class Action> inline void with_element(Element element, Action action) {
    switch (element) {
    case Element::float32: return action(float{});
    case Element::float64: return action(double{});
    case Element::float16: return action(Half{});
    case Element::uint8: return action(std::uint8_t{});
    case Element::int8: return action(std::int8_t{});
    case Element::uint16: return action(std::uint16_t{});
    case Element::int16: return action(std::int16_t{});
    }
}

template <class C>
using PackTile = void (*)(const Rows &, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                          C *);

template <class C, int tile = tile_rows<C>, int stride = tile>
inline PackTile<C> pack_tile_for(Element element) {
    PackTile<C> pack = nullptr;
    with_element(element,
                 [&](auto zero) { pack = &pack_tile_of<C, tile, stride, decltype(zero)>; });
    return pack;
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

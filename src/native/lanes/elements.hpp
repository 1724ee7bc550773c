// Numbers of any element type that a block may hold, converted to the type that a kernel computes
// in.
#pragma once

#include "lanes/rows.hpp"
#include "lanes/vectors.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// The number as float if it is half precision, else as it is.
inline float widen(Half half) {
    const std::uint32_t sign = (half.bits & 0x8000u) << 16;
    const std::uint32_t magnitude = (half.bits & 0x7fffu) << 13;
    float value;
    std::memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112f;  // changes the exponent's bias from 15 to 127, also for subnormal numbers
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (magnitude >= 0x0f800000u) bits = magnitude | 0x7f800000u;  // infinity and NaN
    bits |= sign;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> inline T widen(T value) { return value; }

#if defined(__AVX2__)
// Eight small integers as int32. Written with intrinsics, because compilers convert vectors of 8
// bytes one element at a time.
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

// n neighbouring elements as numbers of type C.
template <class C, int n, class T> inline Vector<C, n> load_as(const T *from) {
#if defined(__AVX2__)
    if constexpr (n == 8 && sizeof(T) <= 2)
        return __builtin_convertvector((Vector<std::int32_t, 8>)load_integers(from), Vector<C, n>);
    // GCC would convert two numbers at a time.
    if constexpr (n == 4 && std::is_same_v<T, float> && std::is_same_v<C, double>)
        return (Vector<C, n>)_mm256_cvtps_pd(_mm_loadu_ps(from));
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

// Eight neighbouring elements as doubles. Two vectors of four, because compilers convert to eight
// doubles one element at a time. Small types become float first, which is exact.
template <class T> inline void load_doubles(const T *from, Vector<double, 4> (&out)[2]) {
    if constexpr (sizeof(T) <= 2) {
        const Vector<float, 8> wide = load_as<float, 8>(from);
        float values[8];
        std::memcpy(values, &wide, sizeof values);
        load_doubles(values, out);
    } else {
        for (int i = 0; i < 2; ++i) out[i] = load_as<double, 4>(from + 4 * i);
    }
}

// The first and the second half of a vector of int16, as int32.
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

// Calls `action` with a zero of the given element type, so that `action` knows the type.
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

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

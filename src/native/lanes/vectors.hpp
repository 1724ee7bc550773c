// Vectors of the compiled instruction set: load, store, compare and sum them.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lanes/instruction_set.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace projected_kmeans::PK_INSTRUCTION_SET {

// n numbers of type C side by side.
template <class C, int n> struct VectorOf {
    typedef C type __attribute__((vector_size(n * sizeof(C))));
};
template <class C, int n> using Vector = typename VectorOf<C, n>::type;

// A full vector of this instruction set, and how many numbers it holds.
template <class C> constexpr int n_lanes = PK_VECTOR_BYTES / sizeof(C);
template <class C> using Lanes = Vector<C, n_lanes<C>>;

// Rows of a tile: kernels with one row a lane take two vectors of rows at once. Two additions then
// run side by side and share each broadcast value or table address.
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

// The minimum and the maximum of two numbers or vectors; b if they are equal or either is
// NaN. Written so that the compiler uses one instruction.
template <class V> constexpr V smaller(V a, V b) { return a < b ? a : b; }
template <class V> constexpr V larger(V a, V b) { return a > b ? a : b; }

// Adds the lanes from first to last.
template <class C> inline C sum_lanes(Lanes<C> lanes) {
    C total = 0;
    for (int lane = 0; lane < n_lanes<C>; ++lane) total += lanes[lane];
    return total;
}

// The smallest of some numbers.
template <class C, int n> inline C smallest_of(Vector<C, n> lanes) {
    if constexpr (n == 2) {
        return smaller(lanes[0], lanes[1]);
    } else {
        Vector<C, n / 2> low, high;
        std::memcpy(&low, &lanes, sizeof low);
        std::memcpy(&high, reinterpret_cast<const char *>(&lanes) + sizeof low, sizeof high);
        return smallest_of<C, n / 2>(smaller(low, high));
    }
}
template <class C> inline C smallest_lane(Lanes<C> lanes) {
    return smallest_of<C, n_lanes<C>>(lanes);
}

// An integer as wide as C, for indices that are kept in lanes beside numbers of type C.
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

// 0, 1, 2, ...: the number of each lane.
template <class C> inline IndexLanes<C> lane_numbers() {
    IndexLanes<C> numbers = {};
    for (int lane = 0; lane < n_lanes<C>; ++lane) numbers[lane] = lane;
    return numbers;
}

// One bit for each lane of a that is at most the same lane of b.
template <class C> inline unsigned lanes_at_most(Lanes<C> a, Lanes<C> b) {
#if defined(__AVX512F__) && PK_VECTOR_BYTES == 64
    if constexpr (sizeof(C) == sizeof(float))
        return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ);
    else
        return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LE_OQ);
#elif defined(__AVX2__) && PK_VECTOR_BYTES == 32
    if constexpr (sizeof(C) == sizeof(float))
        return static_cast<unsigned>(
            _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LE_OQ)));
    else
        return static_cast<unsigned>(
            _mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_LE_OQ)));
#else
    unsigned bits = 0;
    for (int lane = 0; lane < n_lanes<C>; ++lane)
        bits |= static_cast<unsigned>(a[lane] <= b[lane]) << lane;
    return bits;
#endif
}

// Whether any lane of a is less than the same lane of b.
template <class C> inline bool any_below(Lanes<C> a, Lanes<C> b) {
#if defined(__AVX512F__) && PK_VECTOR_BYTES == 64
    if constexpr (sizeof(C) == sizeof(float))
        return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ) != 0;
    else
        return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ) != 0;
#elif defined(__AVX2__) && PK_VECTOR_BYTES == 32
    if constexpr (sizeof(C) == sizeof(float))
        return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LT_OQ)) != 0;
    else
        return _mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_LT_OQ)) != 0;
#else
    bool any = false;
    for (int lane = 0; lane < n_lanes<C>; ++lane) any |= a[lane] < b[lane];
    return any;
#endif
}

// The sum over the lanes of each of four vectors of at most 32 bytes.
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

// The sum over the lanes of each of four vectors. The order of additions depends on the instruction
// set.
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

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// Small tables in registers: every lane takes the entry that its code names.
#pragma once

#include "lanes/vectors.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

using CodeLanes = Vector<std::uint32_t, n_lanes<float>>;

// Lane i of the result is entry codes[i] of a table of n_registers * n_lanes<float> entries. Of a
// code only as many of its lowest bits count as name an entry.
template <int n_registers>
inline Lanes<float> look_up(const Lanes<float> (&table)[n_registers], CodeLanes codes) {
    static_assert(n_registers == 1 || n_registers == 2);
#if defined(__AVX512F__) && PK_VECTOR_BYTES == 64
    if constexpr (n_registers == 1)
        // With a mask of all lanes, because GCC 12 warns of the version without a mask.
        return (Lanes<float>)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)codes, (__m512)table[0]);
    else
        return (Lanes<float>)_mm512_permutex2var_ps((__m512)table[0], (__m512i)codes,
                                                    (__m512)table[1]);
#else
    constexpr unsigned last = n_registers * n_lanes<float> - 1;
    float entries[last + 1];
    std::memcpy(entries, table, sizeof entries);
    Lanes<float> found;
    for (int lane = 0; lane < n_lanes<float>; ++lane) found[lane] = entries[codes[lane] & last];
    return found;
#endif
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

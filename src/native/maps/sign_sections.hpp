// In which groups and sections the signed coordinates of a row are added. Dense and sparse rows
// follow the same rule, so that they give the same bits.
#pragma once

#include <cstdint>
#include <type_traits>

#include "lanes/instruction_set.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

constexpr int groups = 8;  // in a section

template <int bits> constexpr int entries = 1 << bits;          // of a group's table
template <int bits> constexpr int coordinates = bits * groups;  // of a section

// Whether tables of numbers of type C are kept in registers (register_tables.hpp) and not in memory
// (sign_tables.hpp).
template <class C>
constexpr bool has_register_tables = PK_VECTOR_BYTES == 64 && std::is_same_v<C, float>;

// Calls `action` with the number of coordinates in a group as a constant. One more coordinate means
// fewer look-ups but a table twice as large, so groups are longer where R has more columns. A table
// in registers has 16 or 32 entries.
template <class C, class Action>
inline void with_group_bits(std::int64_t n_components, Action action) {
    if constexpr (!has_register_tables<C>) {
        if (n_components <= 24) return action(std::integral_constant<int, 3>{});
        if (n_components > 300) return action(std::integral_constant<int, 6>{});
    }
    if (n_components <= 80) return action(std::integral_constant<int, 4>{});
    action(std::integral_constant<int, 5>{});
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// In which groups and sections the signed coordinates of a row are added. Dense and sparse rows
// follow the same rule, so that they give the same bits.
#pragma once

#include <cstdint>
#include <type_traits>

namespace projected_kmeans {

constexpr int groups = 8;  // in a section

template <int bits> constexpr int entries = 1 << bits;          // of a group's table
template <int bits> constexpr int coordinates = bits * groups;  // of a section

// Calls `action` with the number of coordinates in a group as a constant. One more coordinate means
// fewer look-ups but a table twice as large, so groups are longer where R has more columns.
template <class Action> inline void with_group_bits(std::int64_t n_components, Action action) {
    if (n_components <= 24) return action(std::integral_constant<int, 3>{});
    if (n_components <= 80) return action(std::integral_constant<int, 4>{});
    if (n_components <= 300) return action(std::integral_constant<int, 5>{});
    action(std::integral_constant<int, 6>{});
}

}  // namespace projected_kmeans

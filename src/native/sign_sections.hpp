// How the coordinates of a row are bracketed when signed values are summed; the same for dense and
// sparse rows, so that zeros that are stored and zeros that are not give the same bits.
// Holds the rule only.
#pragma once

#include <cstdint>
#include <type_traits>

namespace projected_kmeans {

constexpr int groups = 8;  // in a section

template <int bits> constexpr int entries = 1 << bits;          // of a group's table
template <int bits> constexpr int coordinates = bits * groups;  // of a section

// Calls `action` with the number of coordinates in a group as a constant: a longer group halves the
// look-ups and doubles the table, so the wider R, the longer the group.
template <class Action> inline void with_group_bits(std::int64_t n_components, Action action) {
    if (n_components <= 24) return action(std::integral_constant<int, 3>{});
    if (n_components <= 80) return action(std::integral_constant<int, 4>{});
    if (n_components <= 300) return action(std::integral_constant<int, 5>{});
    action(std::integral_constant<int, 6>{});
}

}  // namespace projected_kmeans

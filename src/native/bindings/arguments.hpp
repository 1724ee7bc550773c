// The arguments that several kernels of clustering share, checked and turned into C++ values.
#pragma once

#include <cstddef>
#include <type_traits>

#include "bindings/array_memory.hpp"
#include "bindings/arrays.hpp"
#include "clustering/arguments.hpp"

namespace projected_kmeans {

// An array argument: taken as it is, never converted to another type or copied.
inline auto array(const char *name) { return nb::arg(name).noconvert(); }

// The kernel for dense blocks or the one for sparse blocks, depending on the type of the block.
template <class B, class Dense, class Sparse>
using KernelFor = std::conditional_t<std::is_same_v<B, Block>, Dense, Sparse>;

// Centers that kernels number in 32 bits, with room for padding.
constexpr std::size_t max_centers = std::size_t{1} << 30;

template <class C, class R> Frame<C> frame_of(const R &rows, const In<C, 1> &origin, double scale) {
    require(static_cast<std::int64_t>(origin.shape(0)) == rows.n_columns,
            "origin has a value for every column");
    return {origin.data(), static_cast<C>(scale)};
}

template <class C, class R> Centers<C> centers_of(const R &rows, const In<C, 2> &centers) {
    require(static_cast<std::int64_t>(centers.shape(1)) == rows.n_columns,
            "centers have a value for every column");
    require(centers.shape(0) <= max_centers, "the number of centers is at most 2^30");
    return {centers.data(), static_cast<std::int64_t>(centers.shape(0))};
}

// The work of a kernel that does something with every stored entry of rows, counted as for
// thread_count.
inline double work_of(const Rows &rows, std::int64_t each) {
    return static_cast<double>(rows.n_rows) * static_cast<double>(rows.n_columns) *
           static_cast<double>(each);
}
template <class C> double work_of(const SparseRows<C> &rows, std::int64_t each) {
    return static_cast<double>(rows.start(rows.n_rows)) * static_cast<double>(each);
}

inline void require_labels(std::int64_t n_rows, const std::int32_t *labels, std::size_t n_labels,
                           std::int64_t n_centers, std::int32_t least = 0) {
    require(static_cast<std::int64_t>(n_labels) == n_rows, "labels have an entry for every row");
    std::int32_t lowest = 0, highest = -1;
    for (std::size_t i = 0; i < n_labels; ++i) {
        lowest = labels[i] < lowest ? labels[i] : lowest;
        highest = labels[i] > highest ? labels[i] : highest;
    }
    require(lowest >= least && highest < n_centers, "labels name a center each");
}

}  // namespace projected_kmeans

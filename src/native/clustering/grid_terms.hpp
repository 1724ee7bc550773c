// Terms of sums over clusters, split on two grids. Kernels for dense and for sparse rows share this
// code, so that both give the same bits. Files that include it are compiled without contraction
// into fused operations (see CMakeLists.txt), so that each operation rounds as it is written.
#pragma once

#include "clustering/arguments.hpp"
#include "lanes/elements.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// A number or vector as a multiple of the coarse spacing plus a multiple of the fine spacing. With
// M the magic number of a grid, (t + M) - M rounds t to a multiple of the grid's spacing.
template <class V> struct Split {
    V coarse, fine;

    Split(V term, V magic, double ratio) {
        coarse = (term + magic) - magic;
        const V left = term - coarse, finer = magic * ratio;
        fine = (left + finer) - finer;
    }
};

// Private sums for every thread may have this many bytes; larger ones cost more than they save.
constexpr std::int64_t private_bytes = std::int64_t{8} << 20;

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

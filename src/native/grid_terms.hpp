// Terms of sums over clusters, split on two grids: what the kernels for dense and for sparse rows
// share, so that both bring the same bits. Files that use it are compiled without contraction into
// fused operations: each term is rounded once, as written.
#pragma once

#include "kernels.hpp"
#include "lanes.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// A number or vector as a multiple of the coarse spacing and one of the fine; with M the magic
// number, (t + M) - M rounds t to a multiple of the grid's spacing.
template <class V> struct Split {
    V coarse, fine;

    Split(V term, V magic, double ratio) {
        coarse = (term + magic) - magic;
        const V left = term - coarse, finer = magic * ratio;
        fine = (left + finer) - finer;
    }
};

// Above this size a private copy of the sums for every thread costs more than it saves.
constexpr std::int64_t private_bytes = std::int64_t{8} << 20;

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

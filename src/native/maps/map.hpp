// What a product needs to know of a random map. The matrix R of the map is never stored.
#pragma once

#include <cstdint>

namespace projected_kmeans {

struct Map {
    std::uint64_t key;  // fixes all random numbers of R
    double scale;       // multiplies every result
    std::int64_t n_components;
    int n_nonzeros;                 // in each row of R; sparse signs only
    const std::int64_t *positions;  // the entries of the transform that are kept; Hadamard only
};

// The most nonzeros that a row of a sparse sign matrix may have.
constexpr int max_nonzeros = 64;

}  // namespace projected_kmeans

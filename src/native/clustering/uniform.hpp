// Random numbers of kernels, by the index of the draw.
#pragma once

#include <cstdint>

#include "lanes/instruction_set.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Uniform numbers in [0, 1): the SplitMix64 generator.
inline double uniform(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t word = seed + (index + 1) * 0x9E3779B97F4A7C15u;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((word ^ (word >> 31)) >> 11) * 0x1p-53;
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

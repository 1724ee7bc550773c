// Random numbers as pure functions of their coordinates (Philox4x32-10, Salmon et al. 2011): the
// same on every machine, with no state.
#pragma once

#include <cstdint>

#include "lanes/rows.hpp"

namespace projected_kmeans {

struct Philox4x32 {
    std::uint32_t word[4];
};

constexpr std::uint32_t philox_multiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
constexpr std::uint32_t philox_weyl[2] = {0x9E3779B9u, 0xBB67AE85u};
constexpr int philox_rounds = 10;

PK_LOCAL Philox4x32 philox(Philox4x32 counter, std::uint64_t key) {
    auto key_low = static_cast<std::uint32_t>(key);
    auto key_high = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < philox_rounds; ++round) {
        const std::uint64_t first = std::uint64_t{philox_multiplier[0]} * counter.word[0];
        const std::uint64_t second = std::uint64_t{philox_multiplier[1]} * counter.word[2];
        counter = {{static_cast<std::uint32_t>(second >> 32) ^ counter.word[1] ^ key_low,
                    static_cast<std::uint32_t>(second),
                    static_cast<std::uint32_t>(first >> 32) ^ counter.word[3] ^ key_high,
                    static_cast<std::uint32_t>(first)}};
        key_low += philox_weyl[0];
        key_high += philox_weyl[1];
    }
    return counter;
}

// The last word of the counter: one number for each use of a key, so that uses are independent.
enum class Stream : std::uint32_t { signs = 0, words = 1, sparse_signs = 2 };

PK_LOCAL Philox4x32 philox_cell(std::uint64_t key, Stream stream, std::uint64_t row,
                                std::uint32_t cell) {
    return philox({{static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), cell,
                    static_cast<std::uint32_t>(stream)}},
                  key);
}

// One Philox cell holds the signs of 128 neighbouring columns in one row of R. So a nonzero of a
// sparse row needs n_components / 128 cells.
constexpr int columns_per_cell = 128;

// Entry (row, column) of the sign matrix: a set bit is +1, a clear one -1.
PK_LOCAL int sign(std::uint64_t key, std::uint64_t row, std::uint64_t column) {
    const auto cell =
        philox_cell(key, Stream::signs, row, static_cast<std::uint32_t>(column / columns_per_cell));
    return (cell.word[column / 32 % 4] >> (column % 32)) & 1u ? 1 : -1;
}

// A 32-bit word for each nonzero in a row of a sparse sign matrix: four words a cell.
PK_LOCAL std::uint32_t sparse_word(std::uint64_t key, std::uint64_t row, std::uint64_t nonzero) {
    const auto cell =
        philox_cell(key, Stream::sparse_signs, row, static_cast<std::uint32_t>(nonzero / 4));
    return cell.word[nonzero % 4];
}

// A uniform 64-bit word for every (row, column): two columns a cell.
PK_LOCAL std::uint64_t random_word(std::uint64_t key, std::uint64_t row, std::uint64_t column) {
    const auto cell = philox_cell(key, Stream::words, row, static_cast<std::uint32_t>(column / 2));
    const auto half = 2 * (column % 2);
    return std::uint64_t{cell.word[half + 1]} << 32 | cell.word[half];
}

}  // namespace projected_kmeans

// The places and signs of the nonzeros of a sparse sign matrix R. In each row of R the columns are
// cut into `n_nonzeros` stretches of nearly equal length; each stretch has one random sign at a
// random place. With one nonzero this is CountSketch.
#pragma once

#include "maps/sign_words.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Twice the column, plus one if the sign is minus.
using Target = std::uint32_t;

struct Stretches {
    std::int64_t n_components;
    int n_nonzeros;

    std::int64_t begin(int stretch) const { return stretch * n_components / n_nonzeros; }
    Target target(int stretch, std::uint32_t word) const {
        const auto length = static_cast<std::uint64_t>(begin(stretch + 1) - begin(stretch));
        const std::uint64_t place = (word & 0x7fffffffu) * length >> 31;
        const auto column = static_cast<std::uint64_t>(begin(stretch)) + place;
        return static_cast<Target>(2 * column + 1 - (word >> 31));
    }
};

// targets[i][stretch] <- the targets of rows row_of(0), ..., row_of(n - 1) of R.
template <class T, class RowOf>
void generate_targets(std::uint64_t key, Stretches stretches, std::int64_t n, RowOf row_of,
                      T *targets) {
    const int s = stretches.n_nonzeros;
    for (std::int64_t first = 0; first < n; first += 8) {
        const std::int64_t n_rows = n - first < 8 ? n - first : 8;
        for (int cell = 0; 4 * cell < s; ++cell) {
            std::uint32_t words[8][4];
            cells_of(
                key, Stream::sparse_signs, static_cast<std::uint32_t>(cell), n_rows,
                [&](std::int64_t i) { return row_of(first + i); }, words);
            for (std::int64_t i = 0; i < n_rows; ++i)
                for (int j = 4 * cell; j < s && j < 4 * cell + 4; ++j)
                    targets[(first + i) * s + j] =
                        static_cast<T>(stretches.target(j, words[i][j % 4]));
        }
    }
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

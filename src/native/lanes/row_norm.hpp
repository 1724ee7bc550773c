// The squared norm of a row. Dense and sparse rows give the same bits, because both add entries to
// eight sums, chosen by column, and a zero changes no sum. Files that include this header are
// compiled without contraction (see CMakeLists.txt).
#pragma once

#include "lanes/elements.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

struct RowNorm {
    static constexpr int half = 4, n_sums = 2 * half;
    double sums[n_sums] = {};

    void add(std::int64_t column, double value) { sums[column % n_sums] += value * value; }

    template <class T> void add_row(const T *row, std::int64_t n_columns) {
        Vector<double, half> low = load_as<double, half>(sums);
        Vector<double, half> high = load_as<double, half>(sums + half);
        std::int64_t column = 0;
        for (; column + n_sums <= n_columns; column += n_sums) {
            Vector<double, half> values[2];
            load_doubles(row + column, values);
            low += values[0] * values[0];
            high += values[1] * values[1];
        }
        std::memcpy(sums, &low, sizeof low);
        std::memcpy(sums + half, &high, sizeof high);
        for (; column < n_columns; ++column) add(column, static_cast<double>(widen(row[column])));
    }

    double total() const {
        return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
               ((sums[2] + sums[6]) + (sums[3] + sums[7]));
    }
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// A few points side by side, in lanes, and the squared distances of rows to all of them.
#pragma once

#include <limits>

#include "lanes/buffer.hpp"
#include "lanes/vectors.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Rows that are measured at once.
constexpr int rows_together = 2;

// Points side by side: data[column][point], padded with points at an infinite distance.
struct Panel {
    static constexpr int lanes = n_lanes<double>;
    std::int64_t n_columns, width;
    Buffer<double> data;

    Panel(std::int64_t n_points, std::int64_t columns)
        : n_columns(columns), width((n_points + lanes - 1) / lanes * lanes), data(columns * width) {
        for (std::int64_t i = 0; i < columns * width; ++i)
            data[i] = std::numeric_limits<double>::infinity();
    }
    void set(std::int64_t point, const double *from) {
        for (std::int64_t column = 0; column < n_columns; ++column)
            data[column * width + point] = from[column];
    }

    // Calls action(row, point, squared distance) for each of the rows and points, the padding too.
    template <class Action>
    void meet(const double *const (&rows)[rows_together], Action action) const {
        for (std::int64_t at = 0; at < width;) {
            const std::int64_t left = (width - at) / lanes;
            if (left >= 4)
                at = measure<4>(rows, at, action);
            else if (left == 3)
                at = measure<3>(rows, at, action);
            else if (left == 2)
                at = measure<2>(rows, at, action);
            else
                at = measure<1>(rows, at, action);
        }
    }

  private:
    template <int n_vectors, class Action>
    std::int64_t measure(const double *const (&rows)[rows_together], std::int64_t first,
                         Action action) const {
        Lanes<double> squared[rows_together][n_vectors] = {};
        const double *points = data.data() + first;
        for (std::int64_t column = 0; column < n_columns; ++column, points += width) {
#pragma GCC unroll 2
            for (int row = 0; row < rows_together; ++row)
#pragma GCC unroll 4
                for (int v = 0; v < n_vectors; ++v) {
                    const Lanes<double> gap = load(points + v * lanes) - rows[row][column];
                    squared[row][v] += gap * gap;
                }
        }
        double out[rows_together][n_vectors * lanes];
        for (int row = 0; row < rows_together; ++row)
            for (int v = 0; v < n_vectors; ++v) store(out[row] + v * lanes, squared[row][v]);
        for (int j = 0; j < n_vectors * lanes; ++j)
            for (int row = 0; row < rows_together; ++row) action(row, first + j, out[row][j]);
        return first + n_vectors * lanes;
    }
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

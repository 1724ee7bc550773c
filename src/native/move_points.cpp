// One cyclic pass of single-point moves (Hartigan; the second phase of MatLab's kmeans).
// Does not batch: each move changes two centers before the next row is looked at.
#include "kernels.hpp"
#include "lanes.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

inline double squared_distance(const double *a, const double *b, std::int64_t n_columns) {
    constexpr int lanes = n_lanes<double>;
    Lanes<double> sum[4] = {};
    std::int64_t column = 0;
    for (; column + 4 * lanes <= n_columns; column += 4 * lanes)
        for (int i = 0; i < 4; ++i) {
            const Lanes<double> gap = load(a + column + i * lanes) - load(b + column + i * lanes);
            sum[i] += gap * gap;
        }
    double total = sum_lanes<double>((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (; column < n_columns; ++column) {
        const double gap = a[column] - b[column];
        total += gap * gap;
    }
    return total;
}

// What the sum of squares gains if the row joins the center, or loses if it leaves its own.
inline double change(double squared, double weight, double mass, bool own) {
    const double other = own ? mass - weight : mass + weight;
    return own && other <= 0 ? 0.0 : weight * mass / other * squared;
}

inline void shift_center(double *center, const double *row, double share, std::int64_t n_columns) {
    for (std::int64_t column = 0; column < n_columns; ++column)
        center[column] += share * (row[column] - center[column]);
}

}  // namespace

std::int64_t move_points(const Rows &rows, const double *weights, std::int32_t *labels,
                         double *centers, double *mass, std::int64_t n_centers) {
    const std::int64_t width = rows.n_columns;
    Buffer<double> row(width);
    std::int64_t n_moves = 0;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const double weight = weights ? weights[i] : 1.0;
        if (weight <= 0) continue;
        with_element(rows.element, [&](auto zero) {
            const auto *from = rows.row<decltype(zero)>(i);
            for (std::int64_t column = 0; column < width; ++column)
                row[column] = static_cast<double>(widen(from[column]));
        });
        const std::int32_t own = labels[i];
        const auto cost = [&](std::int64_t j) {
            const double squared = squared_distance(row.data(), centers + j * width, width);
            return change(squared, weight, mass[j], j == own);
        };
        std::int32_t best = own;
        double least = cost(own);
        for (std::int64_t j = 0; j < n_centers; ++j) {
            if (j == own) continue;
            const double candidate = cost(j);
            if (candidate < least) {
                least = candidate;
                best = static_cast<std::int32_t>(j);
            }
        }
        if (best == own) continue;
        mass[own] -= weight;
        mass[best] += weight;
        shift_center(centers + own * width, row.data(), -weight / mass[own], width);
        shift_center(centers + best * width, row.data(), weight / mass[best], width);
        labels[i] = best;
        ++n_moves;
    }
    return n_moves;
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

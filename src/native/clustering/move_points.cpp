// One cyclic pass of single-row moves (Hartigan's method; the second phase of MatLab's kmeans).
// Each move changes two centers before the next row is visited.
//
// Few rows move. So move_filter.hpp first looks at a stretch of rows, on all threads and in type C.
// For each row it finds bounds on the costs of its own center and of the others. Then rows are
// visited in their order. If the bounds, corrected by how far centers drifted, show that a row
// stays, it is skipped. Otherwise the cost of its own center is computed in double precision. If
// only the cheapest other center and the centers that moved can be cheaper, only these are
// compared; otherwise all are. The moves have the bits of the plain method, whatever the stretches
// and threads.
#include <cmath>

#include "clustering/kernels.hpp"
#include "clustering/move_filter.hpp"

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

// How much the sum of squares grows if the row joins the center, or falls if it leaves its own.
inline double change(double squared, double weight, double mass, bool own) {
    const double other = own ? mass - weight : mass + weight;
    return own && other <= 0 ? 0.0 : weight * mass / other * squared;
}

// Moves the center towards the row, or away from it; returns how far it went.
inline double shift_center(double *center, const double *row, double share,
                           std::int64_t n_columns) {
    double squared = 0;
    for (std::int64_t column = 0; column < n_columns; ++column) {
        const double before = center[column];
        center[column] += share * (row[column] - before);
        squared += (center[column] - before) * (center[column] - before);
    }
    return std::sqrt(squared);
}

// Visits rows one after the other, in double precision.
struct Walk {
    const Rows &rows;
    const double *weights;
    std::int32_t *labels;
    double *centers, *mass;
    std::int64_t n_centers;
    Buffer<double> row;
    std::int64_t n_compared = 0;  // how many costs were compared

    double weight(std::int64_t i) const { return weights ? weights[i] : 1.0; }

    void read(std::int64_t i) {
        with_element(rows.element, [&](auto zero) {
            const auto *from = rows.row<decltype(zero)>(i);
            for (std::int64_t column = 0; column < rows.n_columns; ++column)
                row[column] = static_cast<double>(widen(from[column]));
        });
    }

    double cost(std::int64_t i, std::int64_t j) {
        const std::int64_t width = rows.n_columns;
        const double squared = squared_distance(row.data(), centers + j * width, width);
        return change(squared, weight(i), mass[j], j == labels[i]);
    }

    // The center with the lowest cost. Of equal costs the row's own center wins, else the lowest.
    template <class C> std::int32_t cheapest(std::int64_t i, MoveFilter<C> &filter) {
        const std::int32_t own = labels[i];
        const double own_cost = cost(i, own);
        double least = own_cost;
        std::int64_t best = own;
        filter.for_each_rival(i, own_cost / weight(i), [&](std::int64_t j) {
            ++n_compared;
            if (j == own) return;
            const double candidate = cost(i, j);
            if (candidate < least || (candidate == least && best != own && j < best)) {
                least = candidate;
                best = j;
            }
        });
        return static_cast<std::int32_t>(best);
    }

    template <class C> void move(std::int64_t i, std::int32_t to, MoveFilter<C> &filter) {
        const std::int64_t width = rows.n_columns, from = labels[i];
        mass[from] -= weight(i);
        mass[to] += weight(i);
        double way =
            shift_center(centers + from * width, row.data(), -weight(i) / mass[from], width);
        filter.follow(from, way, mass[from]);
        way = shift_center(centers + to * width, row.data(), weight(i) / mass[to], width);
        filter.follow(to, way, mass[to]);
        labels[i] = to;
    }
};

}  // namespace

template <class C>
std::int64_t move_points(const Rows &rows, const double *weights, Frame<C> frame,
                         std::int32_t *labels, double *centers, double *mass,
                         std::int64_t n_centers, int n_threads) {
    MoveFilter<C> filter(rows, frame, n_centers, n_threads);
    Walk walk{rows, weights, labels, centers, mass, n_centers, Buffer<double>(rows.n_columns)};
    std::int64_t n_moves = 0, length = longest;
    for (std::int64_t first = 0, last; first < rows.n_rows; first = last) {
        last = first + length < rows.n_rows ? first + length : rows.n_rows;
        double heaviest = 0;
        for (std::int64_t i = first; i < last; ++i)
            heaviest = walk.weight(i) > heaviest ? walk.weight(i) : heaviest;
        filter.look(first, last - first, labels, centers, mass, heaviest);
        walk.n_compared = 0;
        for (std::int64_t i = first; i < last; ++i) {
            const std::int32_t own = labels[i];
            const double weight = walk.weight(i);
            if (weight <= 0 || filter.keeps(i, own, change(1.0, weight, mass[own], true) / weight))
                continue;
            walk.read(i);
            const std::int32_t best = walk.cheapest(i, filter);
            if (best == labels[i]) continue;
            walk.move(i, best, filter);
            ++n_moves;
        }
        const std::int64_t all = (last - first) * n_centers;
        if (32 * walk.n_compared > all)
            length = length / 2 > shortest ? length / 2 : shortest;
        else if (128 * walk.n_compared < all)
            length = 2 * length < longest ? 2 * length : longest;
    }
    return n_moves;
}

PK_INSTANTIATE(move_points);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

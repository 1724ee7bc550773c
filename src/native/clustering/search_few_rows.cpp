// Search for clusters of few rows, which are in memory: whole runs of Lloyd's method, and swaps of
// centers after them, in one call. A pass over a thousand rows takes less time than a call from
// Python, so that passes one by one would mostly wait.
//
// After Lloyd's method has ended, rows are drawn by their squared distance to their center, and for
// each the center is found whose removal costs least if the row becomes a center in its place. The
// best such swap is tried: if a few passes lead below the best inertia so far, it is kept.
// Otherwise the search goes back to the best centers.
//
// Everything is computed in double precision by one thread. There are no bounds that would save
// distances: on digits, with 10 clusters, they saved nothing.
#include <limits>
#include <utility>

#include "clustering/kernels.hpp"
#include "clustering/point_panel.hpp"
#include "clustering/uniform.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Rows that are drawn for each swap; the one that leaves the lowest inertia becomes a center.
constexpr int n_drawn = 2;

// Passes until a swap must have led below the best inertia, the relabelling by the swap included.
constexpr int swap_passes = 5;

// An inertia is lower if it is by more than this share.
constexpr double rounding = 1e-9;

constexpr double infinite = std::numeric_limits<double>::infinity();

// The nearest and the second nearest center of a row; of equally near ones the lowest comes first.
struct Leaders {
    double nearest = infinite, second = infinite;
    std::int32_t label = 0, next = 0;

    void meet(std::int64_t center, double squared) {
        if (squared < nearest) {
            second = nearest, next = label;
            nearest = squared, label = static_cast<std::int32_t>(center);
        } else if (squared < second) {
            second = squared, next = static_cast<std::int32_t>(center);
        }
    }
};

// The nearest centers of all rows.
struct Partition {
    Buffer<double> centers;            // [cluster][column]
    Buffer<std::int32_t> label, next;  // the nearest and the second nearest center
    Buffer<double> nearest, second;    // squared distances to them
    double inertia = infinite;

    Partition(std::int64_t n_rows, std::int64_t n_columns, std::int64_t n_centers)
        : centers(n_centers * n_columns), label(n_rows), next(n_rows), nearest(n_rows),
          second(n_rows) {
        for (std::int64_t i = 0; i < n_rows; ++i) label[i] = -1;
    }
};

struct FewRows {
    const double *rows;
    std::int64_t n, d, k;
    const double *weights;
    std::int64_t max_iter, n_passes = 0;
    double tol;
    Panel panel, drawn;
    Buffer<double> sums, mass, losses;
    Buffer<double> gaps;  // [drawn row][row]: squared distances
    std::int64_t places[n_drawn] = {};

    FewRows(const double *from, std::int64_t n_rows, std::int64_t n_columns, std::int64_t n_centers,
            const double *row_weights, std::int64_t most, double least_gain)
        : rows(from), n(n_rows), d(n_columns), k(n_centers), weights(row_weights), max_iter(most),
          tol(least_gain), panel(k, d), drawn(n_drawn, d), sums(k * d), mass(k), losses(k),
          gaps(n_drawn * n) {}

    double weight(std::int64_t row) const { return weights ? weights[row] : 1.0; }

    // Gives every row its nearest center; returns whether a label changed.
    bool assign(Partition &found) {
        for (std::int64_t c = 0; c < k; ++c) panel.set(c, found.centers.data() + c * d);
        bool changed = false;
        found.inertia = 0;
        for (std::int64_t i = 0; i < n; i += rows_together) {
            Leaders leaders[rows_together];
            panel.meet(pair_at(i), [&](int row, std::int64_t center, double squared) {
                leaders[row].meet(center, squared);
            });
            for (int row = 0; row < rows_together && i + row < n; ++row) {
                const Leaders &own = leaders[row];
                changed |= found.label[i + row] != own.label;
                found.label[i + row] = own.label, found.next[i + row] = own.next;
                found.nearest[i + row] = own.nearest, found.second[i + row] = own.second;
                found.inertia += own.nearest * weight(i + row);
            }
        }
        ++n_passes;
        return changed;
    }

    // Moves centers to the means of their rows. One without weight stays.
    void move(Partition &found) {
        for (std::int64_t i = 0; i < k * d; ++i) sums[i] = 0;
        for (std::int64_t c = 0; c < k; ++c) mass[c] = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            const double share = weight(i);
            double *to = sums.data() + found.label[i] * d;
            mass[found.label[i]] += share;
            for (std::int64_t column = 0; column < d; ++column)
                to[column] += share * rows[i * d + column];
        }
        for (std::int64_t c = 0; c < k; ++c)
            for (std::int64_t column = 0; column < d && mass[c] > 0; ++column)
                found.centers[c * d + column] = sums[c * d + column] / mass[c];
    }

    // Lloyd's method from the means of a partition.
    void descend(Partition &found) {
        while (n_passes < max_iter) {
            const double before = found.inertia;
            move(found);
            if (!assign(found) || !(before - found.inertia > tol * found.inertia)) break;
        }
    }

    // Makes `trial` the best swap of some draws: a row in place of a center, with its labels.
    void swap(const Partition &best, Partition &trial, std::uint64_t seed, std::uint64_t index) {
        for (int j = 0; j < n_drawn; ++j) {
            places[j] = draw(best, uniform(seed, index * n_drawn + static_cast<std::uint64_t>(j)));
            drawn.set(j, rows + places[j] * d);
        }
        for (std::int64_t i = 0; i < n; i += rows_together)
            drawn.meet(pair_at(i), [&](int row, std::int64_t j, double squared) {
                if (j < n_drawn && i + row < n) gaps[j * n + i + row] = squared;
            });
        std::int64_t center = 0;
        int best_draw = 0;
        trial.inertia = infinite;
        for (int j = 0; j < n_drawn; ++j) {
            const std::int64_t c = find_spare(best, gaps.data() + j * n);
            if (losses[c] < trial.inertia) trial.inertia = losses[c], center = c, best_draw = j;
        }
        std::memcpy(trial.centers.data(), best.centers.data(), k * d * sizeof(double));
        std::memcpy(trial.centers.data() + center * d, rows + places[best_draw] * d,
                    d * sizeof(double));
        relabel(best, trial, gaps.data() + best_draw * n, static_cast<std::int32_t>(center));
    }

    // Whether a few passes from a swap lead below an inertia. If the gain of the last pass, once
    // more in every pass that is left, would not, they are given up.
    bool succeeds(Partition &trial, double goal) {
        for (int pass = 1; !(trial.inertia < goal); ++pass) {
            if (pass == swap_passes || n_passes == max_iter) return false;
            const double before = trial.inertia;
            move(trial);
            assign(trial);
            const double gain = before - trial.inertia;
            if (trial.inertia - gain * (swap_passes - 1 - pass) >= goal) return false;
        }
        return true;
    }

  private:
    using Pair = const double *const[rows_together];

    // A row and the one after it; the last row twice if there is no other.
    struct RowPair {
        Pair rows;
        operator Pair &() const { return rows; }
    };
    RowPair pair_at(std::int64_t first) const {
        return {{rows + first * d, rows + (first + 1 < n ? first + 1 : first) * d}};
    }

    // The row at a point in [0, 1) of the cumulative inertia; never one that adds nothing.
    std::int64_t draw(const Partition &best, double point) const {
        double left = point * best.inertia;
        std::int64_t found = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            const double share = best.nearest[i] * weight(i);
            if (!(share > 0)) continue;
            found = i;
            if (left < share) break;
            left -= share;
        }
        return found;
    }

    // losses[center] <- the inertia if a row with these distances became a center in its place;
    // returns the center with the lowest.
    std::int64_t find_spare(const Partition &best, const double *gap) {
        double total = 0;
        for (std::int64_t c = 0; c < k; ++c) losses[c] = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            const double with = smaller(gap[i], best.nearest[i]), share = weight(i);
            total += with * share;
            losses[best.label[i]] += (smaller(gap[i], best.second[i]) - with) * share;
        }
        std::int64_t spare = 0;
        for (std::int64_t c = 0; c < k; ++c) {
            losses[c] += total;
            if (losses[c] < losses[spare]) spare = c;
        }
        return spare;
    }

    // Labels of `trial`, in which a row with these distances is `center`.
    void relabel(const Partition &best, Partition &trial, const double *gap, std::int32_t center) {
        for (std::int64_t i = 0; i < n; ++i) {
            const bool loses = best.label[i] == center;
            const double rest = loses ? best.second[i] : best.nearest[i];
            trial.label[i] = gap[i] < rest ? center : loses ? best.next[i] : best.label[i];
        }
    }
};

}  // namespace

double search_few_rows(const double *rows, std::int64_t n_rows, std::int64_t n_columns,
                       const double *weights, std::uint64_t seed, std::int64_t patience,
                       std::int64_t max_iter, double tol, std::int64_t n_centers,
                       std::int32_t *labels, double *centers) {
    FewRows few(rows, n_rows, n_columns, n_centers, weights, max_iter, tol);
    Partition one(n_rows, n_columns, n_centers), other(n_rows, n_columns, n_centers);
    Partition *best = &one, *trial = &other;
    std::memcpy(best->centers.data(), centers, n_centers * n_columns * sizeof(double));
    few.assign(*best);
    few.descend(*best);
    std::uint64_t index = 0;
    for (std::int64_t failed = 0; failed < patience && few.n_passes < max_iter; ++index) {
        if (n_centers < 2 || !(best->inertia > 0)) break;
        few.swap(*best, *trial, seed, index);
        if (few.succeeds(*trial, best->inertia * (1 - rounding))) {
            few.descend(*trial);
            std::swap(best, trial);
            failed = 0;
        } else {
            ++failed;
        }
    }
    std::memcpy(centers, best->centers.data(), n_centers * n_columns * sizeof(double));
    std::memcpy(labels, best->label.data(), n_rows * sizeof(std::int32_t));
    return best->inertia;
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// Decides which center is nearest to a sparse row if scores in type C are too close to tell.
//
// The centers whose scores are within the rounding error of the best are first compared in double
// precision over the nonzeros. Those that are still too close, as they are if a row is equally far
// from both, are compared by `settle` on the row with its zeros. So labels are those of dense rows.
#pragma once

#include "clustering/center_columns.hpp"
#include "clustering/exact_distance.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Scratch memory of a thread that asks a referee.
template <class C> struct RefereeScratch {
    Buffer<double> scores, settling;
    Buffer<C> dense;

    RefereeScratch(std::int64_t n_names, std::int64_t n_columns)
        : scores(n_names), settling(settle_scratch(n_columns)), dense(n_columns) {}
};

// The centers and what decides between them, the same for all rows.
template <class C> class Referee {
  public:
    Referee(const SparseRows<C> &rows, Frame<C> frame, Centers<double> exact, int n_threads)
        : rows_(rows), frame_(frame), exact_(exact),
          constants_(exact.n_centers, frame, rows.n_columns, n_threads,
                     [&](std::int64_t j, std::int64_t column) { return inside(j, column); }),
          first_equal_(exact.n_centers) {
        const std::size_t bytes = rows.n_columns * sizeof(double);
        for (std::int64_t j = 0; j < exact.n_centers; ++j) {
            first_equal_[j] = static_cast<std::int32_t>(j);
            for (std::int64_t other = 0; other < j && first_equal_[j] == j; ++other)
                if (constants_.score[other] == constants_.score[j] &&
                    std::memcmp(center(other), center(j), bytes) == 0)
                    first_equal_[j] = static_cast<std::int32_t>(other);
        }
    }

    double constant(std::int64_t center) const { return constants_.score[center]; }

    // An entry of a center in the frame.
    double inside(std::int64_t j, std::int64_t column) const {
        return (center(j)[column] - static_cast<double>(frame_.origin[column])) * scale();
    }

    // |x'|^2, where x' is the row in the frame: a zero of the row is at -origin * scale.
    double squared_norm(std::int64_t row) const {
        double sum = 0;
        for (std::int64_t e = rows_.start(row); e < rows_.start(row + 1); ++e) {
            const double origin = static_cast<double>(frame_.origin[rows_.index(e)]) * scale();
            const double entry = static_cast<double>(rows_.values[e]) * scale();
            sum += entry * (entry - 2 * origin);
        }
        return larger(sum + constants_.origin * constants_.origin, 0.0);
    }

    // A bound on the difference between a score in type C over the nonzeros of a row and the score
    // of `settle`.
    double margin(std::int64_t row, double norm) const {
        const double reach = std::sqrt(norm) + constants_.origin + constants_.largest;
        const double n = static_cast<double>(rows_.start(row + 1) - rows_.start(row) + 8);
        return std::numeric_limits<C>::epsilon() / 2 * n * reach * reach + rounding(row, reach);
    }

    // The nearest of the centers in `names`, which ascend and include all whose scores are within
    // the margin of the best. Overwrites `names`.
    std::int32_t decide(std::int64_t row, double norm, std::int32_t *names, std::int64_t n,
                        std::int32_t present, RefereeScratch<C> &scratch) const {
        if (n == 0) return larger(present, 0);  // all scores are NaN
        if (all_equal(names, n)) return among_equal(names, n, present);
        double *scores = scratch.scores.data();
        double best = std::numeric_limits<double>::infinity();
        for (std::int64_t i = 0; i < n; ++i) {
            scores[i] = score(row, names[i]);
            best = smaller(scores[i], best);
        }
        const double reach = std::sqrt(norm) + constants_.origin + constants_.largest;
        const double limit = best + 2 * rounding(row, reach);
        std::int64_t n_left = 0;
        for (std::int64_t i = 0; i < n; ++i)
            if (scores[i] <= limit) names[n_left++] = names[i];
        if (all_equal(names, n_left)) return among_equal(names, n_left, present);
        return settle_dense(row, names, n_left, present, scratch);
    }

  private:
    double scale() const { return static_cast<double>(frame_.scale); }
    const double *center(std::int64_t j) const { return exact_.data + j * rows_.n_columns; }

    // A bound on the difference between a score in double precision over the nonzeros and the score
    // of `settle`, which adds all columns.
    double rounding(std::int64_t row, double reach) const {
        const std::int64_t n = 2 * rows_.n_columns + rows_.start(row + 1) - rows_.start(row) + 32;
        return std::numeric_limits<double>::epsilon() * static_cast<double>(n) * reach * reach;
    }

    double score(std::int64_t row, std::int64_t j) const {
        double product = 0;
        for (std::int64_t e = rows_.start(row); e < rows_.start(row + 1); ++e)
            product += static_cast<double>(rows_.values[e]) * scale() * inside(j, rows_.index(e));
        return constants_.score[j] - product;
    }

    bool all_equal(const std::int32_t *names, std::int64_t n) const {
        for (std::int64_t i = 1; i < n; ++i)
            if (first_equal_[names[i]] != first_equal_[names[0]]) return false;
        return true;
    }

    // The choice between equal centers: the row's present one, or else the lowest.
    static std::int32_t among_equal(const std::int32_t *names, std::int64_t n,
                                    std::int32_t present) {
        for (std::int64_t i = 0; i < n; ++i)
            if (names[i] == present) return present;
        return names[0];
    }

    std::int32_t settle_dense(std::int64_t row, const std::int32_t *names, std::int64_t n,
                              std::int32_t present, RefereeScratch<C> &scratch) const {
        const std::int64_t width = rows_.n_columns;
        C *dense = scratch.dense.data();
        for (std::int64_t column = 0; column < width; ++column) dense[column] = 0;
        for (std::int64_t e = rows_.start(row); e < rows_.start(row + 1); ++e)
            dense[rows_.index(e)] = rows_.values[e];
        const Element element = sizeof(C) == sizeof(float) ? Element::float32 : Element::float64;
        return settle({dense, element, 1, width, width}, 0, frame_, exact_, present, names, n,
                      scratch.settling.data());
    }

    const SparseRows<C> &rows_;
    Frame<C> frame_;
    Centers<double> exact_;
    CenterConstants constants_;
    Buffer<std::int32_t> first_equal_;  // for each center, the lowest center that equals it
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

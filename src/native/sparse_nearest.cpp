// Sparse rows to their nearest centers, to the nearest of a few, and to all: never made dense.
// Does not update centers. Labels are those of the kernels for dense rows.
//
// Scores are sums over nonzeros (see center_columns.hpp). Where the best two are closer than their
// rounding, those within it are compared in double precision over the nonzeros; those that are
// still as close, as they are where a row is just as far from both, by `settle` on the row with its
// zeros.
#include <omp.h>

#include "center_columns.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Centers and what decides between them, the same for all rows.
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

    // |x'|^2: zeros of the row are at -o'.
    double squared_norm(std::int64_t row) const {
        double sum = 0;
        for (std::int64_t e = rows_.start(row); e < rows_.start(row + 1); ++e) {
            const double origin = static_cast<double>(frame_.origin[rows_.index(e)]) * scale();
            const double entry = static_cast<double>(rows_.values[e]) * scale();
            sum += entry * (entry - 2 * origin);
        }
        return larger(sum + constants_.origin * constants_.origin, 0.0);
    }

    // What a score in type C over the nonzeros of a row may be off from that of `settle`.
    double margin(std::int64_t row, double norm) const {
        const double reach = std::sqrt(norm) + constants_.origin + constants_.largest;
        const double n = static_cast<double>(rows_.start(row + 1) - rows_.start(row) + 8);
        return std::numeric_limits<C>::epsilon() / 2 * n * reach * reach + rounding(row, reach);
    }

    // The nearest of the centers named, which ascend: all whose scores are within the margin.
    std::int32_t decide(std::int64_t row, double norm, std::int32_t *names, std::int64_t n,
                        std::int32_t present) const {
        if (all_equal(names, n)) return among_equal(names, n, present);
        Buffer<double> scores(n);
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
        return settle_dense(row, names, n_left, present);
    }

  private:
    double scale() const { return static_cast<double>(frame_.scale); }
    const double *center(std::int64_t j) const { return exact_.data + j * rows_.n_columns; }
    double inside(std::int64_t j, std::int64_t column) const {
        return (center(j)[column] - static_cast<double>(frame_.origin[column])) * scale();
    }

    // What a score in double precision may be off from that of `settle`, which sums all columns.
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

    // Equal centers are equally far: the row stays, or goes to the lowest.
    static std::int32_t among_equal(const std::int32_t *names, std::int64_t n,
                                    std::int32_t present) {
        for (std::int64_t i = 0; i < n; ++i)
            if (names[i] == present) return present;
        return names[0];
    }

    std::int32_t settle_dense(std::int64_t row, const std::int32_t *names, std::int64_t n,
                              std::int32_t present) const {
        const std::int64_t width = rows_.n_columns;
        Buffer<C> dense(width);
        for (std::int64_t column = 0; column < width; ++column) dense[column] = 0;
        for (std::int64_t e = rows_.start(row); e < rows_.start(row + 1); ++e)
            dense[rows_.index(e)] = rows_.values[e];
        const Element element = sizeof(C) == sizeof(float) ? Element::float32 : Element::float64;
        return settle({dense.data(), element, 1, width, width}, 0, frame_, exact_, present, names,
                      n);
    }

    const SparseRows<C> &rows_;
    Frame<C> frame_;
    Centers<double> exact_;
    CenterConstants constants_;
    Buffer<std::int32_t> first_equal_;  // the lowest center that is the same
};

// Scores of a row's candidates.
template <class C> class SparseChoice {
  public:
    SparseChoice(const SparseRows<C> &rows, Frame<C> frame, Centers<C> centers,
                 const Referee<C> &referee, std::int64_t n_candidates)
        : rows_(rows), frame_(frame), centers_(centers), referee_(referee), scores_(n_candidates),
          names_(n_candidates) {}

    // The nearest candidate; the row stays among ties, or else goes to the lowest of them.
    template <class I>
    std::int32_t choose(const I *indices, Candidates candidates, std::int64_t row,
                        std::int32_t own) {
        const std::int64_t n = candidates.n_candidates;
        for (std::int64_t i = 0; i < n; ++i) names_[i] = candidates.get(row, i);
        for (std::int64_t first = 0; first < n; first += n_together) score(indices, row, first, n);
        C best = std::numeric_limits<C>::infinity();
        for (std::int64_t i = 0; i < n; ++i) best = smaller(scores_[i], best);
        const double norm = referee_.squared_norm(row);
        const C limit = best + static_cast<C>(2 * referee_.margin(row, norm));
        std::int64_t n_near = 0;
        for (std::int64_t i = 0; i < n; ++i)
            if (scores_[i] <= limit) insert(names_[i], n_near);
        return n_near == 0   ? own
               : n_near == 1 ? names_[0]
                             : referee_.decide(row, norm, names_.data(), n_near, own);
    }

  private:
    static constexpr int n_together = 8;

    // Puts a name in its place among the first, which ascend; those behind it are done with.
    void insert(std::int32_t name, std::int64_t &n) {
        std::int64_t place = n;
        for (std::int64_t i = 0; i < n; ++i)
            if (names_[i] == name) return;
        for (; place > 0 && names_[place - 1] > name; --place) names_[place] = names_[place - 1];
        names_[place] = name;
        ++n;
    }

    template <class I>
    void score(const I *indices, std::int64_t row, std::int64_t first, std::int64_t n) {
        const C *from[n_together];
        for (int j = 0; j < n_together; ++j)
            from[j] = centers_.data + names_[first + j < n ? first + j : first] * rows_.n_columns;
        C sums[n_together] = {};
        const std::int64_t end = rows_.start(row + 1);
        for (std::int64_t e = rows_.start(row); e < end; ++e) {
            const C value = rows_.values[e] * frame_.scale;
#pragma GCC unroll 8
            for (int j = 0; j < n_together; ++j) sums[j] += value * from[j][indices[e]];
        }
        for (int j = 0; j < n_together && first + j < n; ++j)
            scores_[first + j] = static_cast<C>(referee_.constant(names_[first + j])) - sums[j];
    }

    const SparseRows<C> &rows_;
    Frame<C> frame_;
    Centers<C> centers_;
    const Referee<C> &referee_;
    Buffer<C> scores_;
    Buffer<std::int32_t> names_;
};

// Labels a row by its scores, all of which are known.
template <class C> struct Leader {
    C best = std::numeric_limits<C>::infinity(), second = best;
    std::int32_t label = 0;

    Leader(const C *scores, std::int64_t n_centers) {
        for (std::int64_t j = 0; j < n_centers; ++j) {
            if (scores[j] < best) {
                second = best;
                best = scores[j];
                label = static_cast<std::int32_t>(j);
            } else {
                second = smaller(scores[j], second);
            }
        }
    }
};

}  // namespace

template <class C>
void nearest_center(const SparseRows<C> &rows, Frame<C> frame, Centers<C> centers,
                    Centers<double> exact, bool keep_ties, std::int32_t *labels, C *nearest,
                    C *second, int n_threads) {
    const Referee<C> referee(rows, frame, exact, n_threads);
    CenterColumns<C> columns(centers, rows.n_columns, n_threads);
    const std::int64_t k = centers.n_centers, n_nonzeros = rows.start(rows.n_rows);
    rows.with_indices([&](const auto *indices) {
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            Buffer<C> scores(columns.n_products());
            Buffer<std::int32_t> names(k);
#pragma omp for schedule(dynamic, 64)
            for (std::int64_t row = 0; row < rows.n_rows; ++row) {
                columns.multiply(rows.values, indices, rows.start(row), rows.start(row + 1),
                                 n_nonzeros, frame.scale, scores.data());
                for (std::int64_t j = 0; j < k; ++j)
                    scores[j] = static_cast<C>(referee.constant(j)) - scores[j];
                const Leader<C> leader(scores.data(), k);
                const double norm = referee.squared_norm(row);
                const C limit = leader.best + static_cast<C>(2 * referee.margin(row, norm));
                const std::int32_t present = keep_ties ? labels[row] : -1;
                labels[row] = leader.label;
                if (leader.second <= limit) {
                    std::int64_t n = 0;
                    for (std::int64_t j = 0; j < k; ++j)
                        if (scores[j] <= limit) names[n++] = static_cast<std::int32_t>(j);
                    labels[row] = referee.decide(row, norm, names.data(), n, present);
                }
                nearest[row] = static_cast<C>(larger(norm + 2.0 * leader.best, 0.0));
                second[row] = static_cast<C>(larger(norm + 2.0 * leader.second, 0.0));
            }
        }
    });
}

template <class C>
void nearest_candidate(const SparseRows<C> &rows, Frame<C> frame, Centers<C> centers,
                       Centers<double> exact, Candidates candidates, std::int32_t *labels,
                       int n_threads) {
    const Referee<C> referee(rows, frame, exact, n_threads);
    // Rows of a cluster together: they meet much the same candidates while these are in a cache.
    Buffer<std::int64_t> order(rows.n_rows), next(centers.n_centers + 1);
    for (std::int64_t j = 0; j <= centers.n_centers; ++j) next[j] = 0;
    for (std::int64_t row = 0; row < rows.n_rows; ++row) ++next[labels[row] + 1];
    for (std::int64_t j = 0; j < centers.n_centers; ++j) next[j + 1] += next[j];
    for (std::int64_t row = 0; row < rows.n_rows; ++row) order[next[labels[row]]++] = row;
    rows.with_indices([&](const auto *indices) {
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            SparseChoice<C> choice(rows, frame, centers, referee, candidates.n_candidates);
#pragma omp for schedule(dynamic, 64)
            for (std::int64_t i = 0; i < rows.n_rows; ++i) {
                const std::int64_t row = order[i];
                labels[row] = choice.choose(indices, candidates, row, labels[row]);
            }
        }
    });
}

template <class C>
void squared_distances(const SparseRows<C> &rows, Frame<C> frame, Centers<C> centers, C *out,
                       int n_threads) {
    const std::int64_t k = centers.n_centers, width = rows.n_columns;
    const CenterConstants constants(
        k, frame, width, n_threads, [&](std::int64_t j, std::int64_t column) {
            return static_cast<double>(centers.data[j * width + column]);
        });
    CenterColumns<double> columns(centers, width, n_threads);
    const auto scale = static_cast<double>(frame.scale);
    rows.with_indices([&](const auto *indices) {
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            Buffer<double> products(columns.n_products());
#pragma omp for schedule(dynamic, 64)
            for (std::int64_t row = 0; row < rows.n_rows; ++row) {
                const std::int64_t begin = rows.start(row), end = rows.start(row + 1);
                columns.multiply(rows.values, indices, begin, end, rows.start(rows.n_rows), scale,
                                 products.data());
                double norm = constants.origin * constants.origin;
                for (std::int64_t e = begin; e < end; ++e) {
                    const double entry = static_cast<double>(rows.values[e]) * scale;
                    norm +=
                        entry * (entry - 2 * static_cast<double>(frame.origin[indices[e]]) * scale);
                }
                for (std::int64_t j = 0; j < k; ++j) {
                    const double squared = norm + 2 * (constants.score[j] - products[j]);
                    out[j * rows.n_rows + row] = static_cast<C>(larger(squared, 0.0));
                }
            }
        }
    });
}

#define PK_INSTANTIATE(C)                                                                          \
    template void nearest_center<C>(const SparseRows<C> &, Frame<C>, Centers<C>, Centers<double>,  \
                                    bool, std::int32_t *, C *, C *, int);                          \
    template void nearest_candidate<C>(const SparseRows<C> &, Frame<C>, Centers<C>,                \
                                       Centers<double>, Candidates, std::int32_t *, int);          \
    template void squared_distances<C>(const SparseRows<C> &, Frame<C>, Centers<C>, C *, int);

PK_INSTANTIATE(float)
PK_INSTANTIATE(double)

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

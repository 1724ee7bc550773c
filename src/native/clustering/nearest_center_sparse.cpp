// The nearest center of every sparse row, with the labels of the kernel for dense rows, and the
// distances of sparse rows to all centers. Rows are never made dense, except for a tie.
//
// Scores are sums over the nonzeros (see center_columns.hpp); where the best two are too close,
// referee.hpp decides.
#include "clustering/kernels.hpp"
#include "clustering/referee.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The best and the second best of a row's scores, and the center with the best.
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
void nearest_center_sparse(const SparseRows<C> &rows, Frame<C> frame, Centers<C>,
                           Centers<double> exact, bool keep_ties, std::int32_t *labels, C *nearest,
                           C *second, int n_threads) {
    const Referee<C> referee(rows, frame, exact, n_threads);
    const std::int64_t k = exact.n_centers, n_nonzeros = rows.start(rows.n_rows);
    const CenterColumns<C> columns(
        k, rows.n_columns, n_threads,
        [&](std::int64_t j, std::int64_t column) { return referee.inside(j, column); });
    PerThread<Buffer<C>> all_scores(n_threads, columns.n_products());
    PerThread<Buffer<std::int32_t>> all_names(n_threads, k);
    PerThread<RefereeScratch<C>> all_scratch(n_threads, k, rows.n_columns);
    rows.with_indices([&](const auto *indices) {
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            Buffer<C> &scores = all_scores.own();
            Buffer<std::int32_t> &names = all_names.own();
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
                    labels[row] =
                        referee.decide(row, norm, names.data(), n, present, all_scratch.own());
                }
                nearest[row] = static_cast<C>(larger(norm + 2.0 * leader.best, 0.0));
                second[row] = static_cast<C>(larger(norm + 2.0 * leader.second, 0.0));
            }
        }
    });
}

template <class C>
void squared_distances_sparse(const SparseRows<C> &rows, Frame<C> frame, Centers<C> centers, C *out,
                              int n_threads) {
    const std::int64_t k = centers.n_centers, width = rows.n_columns;
    const CenterConstants constants(
        k, frame, width, n_threads, [&](std::int64_t j, std::int64_t column) {
            return static_cast<double>(centers.data[j * width + column]);
        });
    const CenterColumns<double> columns(
        k, width, n_threads, [&](std::int64_t j, std::int64_t column) {
            return static_cast<double>(centers.data[j * width + column]);
        });
    PerThread<Buffer<double>> all_products(n_threads, columns.n_products());
    const auto scale = static_cast<double>(frame.scale);
    rows.with_indices([&](const auto *indices) {
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            Buffer<double> &products = all_products.own();
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

PK_INSTANTIATE(nearest_center_sparse);
PK_INSTANTIATE(squared_distances_sparse);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

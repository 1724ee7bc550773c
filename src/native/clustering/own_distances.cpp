// The squared distance of every row to its own center, in double precision.
// Compiled without contraction, so that every machine gives the same bits.
#include "clustering/exact_distance.hpp"
#include "clustering/kernels.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

void own_distances(const Rows &rows, const std::int32_t *labels, Centers<double> centers,
                   double scale, double *out, int n_threads) {
#pragma omp parallel for num_threads(n_threads) if (n_threads > 1)
    for (std::int64_t row = 0; row < rows.n_rows; ++row)
        out[row] = exact_distance(rows, row, centers.data + labels[row] * rows.n_columns, scale);
}

// A row of zeros is at distance |c| from a center c. Each nonzero of a row corrects that by its
// column.
template <class C>
void own_distances_sparse(const SparseRows<C> &rows, const std::int32_t *labels,
                          Centers<double> centers, double scale, double *out, int n_threads) {
    const std::int64_t width = rows.n_columns;
    Buffer<double> norms(centers.n_centers), origin(width);
    for (std::int64_t column = 0; column < width; ++column) origin[column] = 0;
    const Rows zeros{origin.data(), Element::float64, 1, width, width};
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
#pragma omp for
        for (std::int64_t j = 0; j < centers.n_centers; ++j)
            norms[j] = exact_distance(zeros, 0, centers.data + j * width, scale);
#pragma omp for schedule(dynamic, 256)
        for (std::int64_t row = 0; row < rows.n_rows; ++row) {
            const double *center = centers.data + labels[row] * width;
            double sum = 0;
            for (std::int64_t e = rows.start(row); e < rows.start(row + 1); ++e) {
                const double entry = center[rows.index(e)] * scale;
                const double gap = static_cast<double>(rows.values[e]) * scale - entry;
                sum += gap * gap - entry * entry;
            }
            out[row] = larger(norms[labels[row]] + sum, 0.0);
        }
    }
}

PK_INSTANTIATE(own_distances_sparse);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

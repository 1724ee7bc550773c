// Dot products of rows in float64, in an order that zeros do not change: rows that are stored
// without most of their zeros have the dot products of the dense rows, to the bit.
//
// The product of column j goes to sum j % dot_span, from the first column to the last. Then the
// second half of the sums is added to the first half, and so on, until one is left.
#include "clustering/kernels.hpp"
#include "lanes/instruction_set.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The number of sums that can get a product, rounded up to a power of two.
int used_sums(std::int64_t n_columns) {
    static_assert((dot_span & (dot_span - 1)) == 0, "rounded up, it is not above dot_span");
    int n_sums = 1;
    while (n_sums < dot_span && n_sums < n_columns) n_sums *= 2;
    return n_sums;
}

double fold(double *sums, int n_sums) {
    for (int half = n_sums / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) sums[i] += sums[half + i];
    return sums[0];
}

void add_products(const double *left, const double *right, std::int64_t n_columns, double *sums) {
    for (std::int64_t first = 0; first < n_columns; first += dot_span) {
        const std::int64_t rest = n_columns - first, n = rest < dot_span ? rest : dot_span;
        for (std::int64_t i = 0; i < n; ++i) sums[i] += left[first + i] * right[first + i];
    }
}

}  // namespace

void dot_rows(const double *left, const double *right, DotShape shape, double *out) {
    const int n_sums = used_sums(shape.n_columns);
    double sums[dot_span];
    for (std::int64_t row = 0; row < shape.n_rows; ++row) {
        for (int i = 0; i < n_sums; ++i) sums[i] = 0;
        if (shape.columns)
            for (std::int64_t i = 0; i < shape.n_stored; ++i)
                sums[shape.columns[i] % dot_span] += left[i] * right[i];
        else
            add_products(left, right, shape.n_stored, sums);
        out[row] = fold(sums, n_sums);
        left += shape.n_stored;
        right += shape.n_stored;
    }
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

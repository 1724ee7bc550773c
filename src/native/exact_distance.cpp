// Distances in double precision, in one fixed order: who is nearer where rounding leaves it open.
// Slow and rarely asked. Compiled without contraction, so that every machine rounds alike.
#include "exact_distance.hpp"

#include <omp.h>

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The same number of lanes for every instruction set.
constexpr int lanes = 4;

template <class T>
double distance_of(const T *row, const double *center, double scale, std::int64_t n_columns) {
    Vector<double, lanes> sum[2] = {};
    std::int64_t column = 0;
    for (; column + 2 * lanes <= n_columns; column += 2 * lanes)
        for (int i = 0; i < 2; ++i) {
            const std::int64_t at = column + i * lanes;
            const auto gap =
                (load_as<double, lanes>(row + at) - load_as<double, lanes>(center + at)) * scale;
            sum[i] += gap * gap;
        }
    const Vector<double, lanes> both = sum[0] + sum[1];
    double total = (both[0] + both[1]) + (both[2] + both[3]);
    for (; column < n_columns; ++column) {
        const double gap = (static_cast<double>(widen(row[column])) - center[column]) * scale;
        total += gap * gap;
    }
    return total;
}

// The sum of c (c / 2 - x) for c in the frame.
double score_of(const double *row, const double *center, const double *origin, double scale,
                std::int64_t n_columns) {
    Vector<double, lanes> sum[2] = {};
    std::int64_t column = 0;
    for (; column + 2 * lanes <= n_columns; column += 2 * lanes)
        for (int i = 0; i < 2; ++i) {
            const std::int64_t at = column + i * lanes;
            const auto inside =
                (load_as<double, lanes>(center + at) - load_as<double, lanes>(origin + at)) * scale;
            sum[i] += inside * (inside * 0.5 - load_as<double, lanes>(row + at));
        }
    const Vector<double, lanes> both = sum[0] + sum[1];
    double total = (both[0] + both[1]) + (both[2] + both[3]);
    for (; column < n_columns; ++column) {
        const double inside = (center[column] - origin[column]) * scale;
        total += inside * (inside * 0.5 - row[column]);
    }
    return total;
}

}  // namespace

double exact_distance(const Rows &rows, std::int64_t row, const double *center, double scale) {
    double squared = 0;
    with_element(rows.element, [&](auto zero) {
        squared = distance_of(rows.row<decltype(zero)>(row), center, scale, rows.n_columns);
    });
    return squared;
}

template <class C>
std::int32_t settle(const Rows &rows, std::int64_t row, Frame<C> frame, Centers<double> centers,
                    std::int32_t present, const std::int32_t *names, std::int64_t n_names) {
    const std::int64_t width = rows.n_columns;
    Buffer<double> inside(width), origin(width);
    const auto scale = static_cast<double>(frame.scale);
    for (std::int64_t column = 0; column < width; ++column)
        origin[column] = static_cast<double>(frame.origin[column]);
    with_element(rows.element, [&](auto zero) {
        const auto *values = rows.row<decltype(zero)>(row);
        for (std::int64_t column = 0; column < width; ++column)
            inside[column] = (static_cast<double>(widen(values[column])) - origin[column]) * scale;
    });
    std::int32_t nearest = -1;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < (names ? n_names : centers.n_centers); ++j) {
        const std::int32_t label = names ? names[j] : static_cast<std::int32_t>(j);
        const double score =
            score_of(inside.data(), centers.data + label * width, origin.data(), scale, width);
        const bool preferred = label == present || (nearest != present && label < nearest);
        if (score < least || (score == least && preferred)) {
            nearest = label;
            least = score;
        }
    }
    return nearest;
}

void own_distances(const Rows &rows, const std::int32_t *labels, Centers<double> centers,
                   double scale, double *out, int n_threads) {
#pragma omp parallel for num_threads(n_threads) if (n_threads > 1)
    for (std::int64_t row = 0; row < rows.n_rows; ++row)
        out[row] = exact_distance(rows, row, centers.data + labels[row] * rows.n_columns, scale);
}

// A zero of a row is at distance |c| of a center: what is not zero replaces its share of that.
template <class C>
void own_distances(const SparseRows<C> &rows, const std::int32_t *labels, Centers<double> centers,
                   double scale, double *out, int n_threads) {
    const std::int64_t width = rows.n_columns;
    Buffer<double> norms(centers.n_centers), origin(width);
    for (std::int64_t column = 0; column < width; ++column) origin[column] = 0;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
#pragma omp for
        for (std::int64_t j = 0; j < centers.n_centers; ++j)
            norms[j] = distance_of(origin.data(), centers.data + j * width, scale, width);
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

template std::int32_t settle<float>(const Rows &, std::int64_t, Frame<float>, Centers<double>,
                                    std::int32_t, const std::int32_t *, std::int64_t);
template std::int32_t settle<double>(const Rows &, std::int64_t, Frame<double>, Centers<double>,
                                     std::int32_t, const std::int32_t *, std::int64_t);
template void own_distances<float>(const SparseRows<float> &, const std::int32_t *, Centers<double>,
                                   double, double *, int);
template void own_distances<double>(const SparseRows<double> &, const std::int32_t *,
                                    Centers<double>, double, double *, int);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

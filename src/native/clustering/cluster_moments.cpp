// Sums over the rows of each cluster: of weights, of weighted offsets from a reference center, and
// of weighted squared distances to it. The update half of Lloyd's method needs them, and so does
// lifting.
//
// Every term is split on two grids (see MomentGrid). Sums of multiples of a grid's spacing are
// exact in double precision. So rows and columns may be added in any order, by any number of
// threads and in any blocks, with the same bits. A row can also be taken away again without a
// trace, because the negative of a term is split into the negatives of its parts.
#include <omp.h>

#include "clustering/grid_terms.hpp"
#include "clustering/kernels.hpp"
#include "lanes/buffer.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Threads take columns in whole cache lines: 8 doubles.
constexpr std::int64_t line = 8;

// The sums of one cluster on both grids: offsets (n_columns) and totals (weight, squared distance).
struct Sums {
    double *offsets[2];
    double *totals[2];
};

// Adds columns [begin, end) of a row to the sums.
template <class T>
void add_row(const T *row, double weight, const double *center, MomentGrid grid,
             std::int64_t n_columns, std::int64_t begin, std::int64_t end, const Sums &sums) {
    constexpr int lanes = n_lanes<double>;
    const double square_magic = grid.magic[n_columns + 1];
    const Lanes<double> square_magics = broadcast(square_magic);
    Lanes<double> squares[2] = {};
    std::int64_t column = begin;
    for (; column + lanes <= end; column += lanes) {
        const Lanes<double> offset = load_as<double, lanes>(row + column) - load(center + column);
        const Lanes<double> term = offset * weight;
        const Split<Lanes<double>> moved(term, load(grid.magic + column), grid.fine_ratio);
        const Split<Lanes<double>> square(offset * term, square_magics, grid.squares_ratio);
        store(sums.offsets[0] + column, load(sums.offsets[0] + column) + moved.coarse);
        store(sums.offsets[1] + column, load(sums.offsets[1] + column) + moved.fine);
        squares[0] += square.coarse;
        squares[1] += square.fine;
    }
    double total[2] = {sum_lanes<double>(squares[0]), sum_lanes<double>(squares[1])};
    for (; column < end; ++column) {
        const double offset = static_cast<double>(widen(row[column])) - center[column];
        const double term = offset * weight;
        const Split<double> moved(term, grid.magic[column], grid.fine_ratio);
        const Split<double> square(offset * term, square_magic, grid.squares_ratio);
        sums.offsets[0][column] += moved.coarse;
        sums.offsets[1][column] += moved.fine;
        total[0] += square.coarse;
        total[1] += square.fine;
    }
    if (begin == 0) {
        const Split<double> mass(weight, grid.magic[n_columns], grid.fine_ratio);
        sums.totals[0][0] += mass.coarse;
        sums.totals[1][0] += mass.fine;
    }
    for (int grain = 0; grain < 2; ++grain) sums.totals[grain][1] += total[grain];
}

// Adds all rows. If the sums are small, threads share the rows and each has private sums, which are
// added at the end. Else threads share the columns and add to the same sums.
template <class T>
void add_rows(const Rows &rows, const std::int32_t *labels, const std::int32_t *before,
              const double *weights, Centers<double> centers, MomentGrid grid, double *offsets,
              double *totals, int n_threads) {
    const std::int64_t width = rows.n_columns, k = centers.n_centers;
    const std::int64_t n_lines = (width + line - 1) / line;
    const bool by_rows = 2 * k * width * std::int64_t{sizeof(double)} <= private_bytes;
    const std::int64_t n_private = by_rows ? 2 * k * width : 0;
    PerThread<Buffer<double>> all_offsets(n_threads, n_private), all_totals(n_threads, 4 * k);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const std::int64_t thread = omp_get_thread_num(), n = omp_get_num_threads();
        Buffer<double> &own_offsets = all_offsets.own(), &own_totals = all_totals.own();
        for (std::int64_t i = 0; i < n_private; ++i) own_offsets[i] = 0;
        for (std::int64_t i = 0; i < 4 * k; ++i) own_totals[i] = 0;
        double *to = by_rows ? own_offsets.data() : offsets;
        const std::int64_t first = by_rows ? rows.n_rows * thread / n : 0;
        const std::int64_t last = by_rows ? rows.n_rows * (thread + 1) / n : rows.n_rows;
        const std::int64_t begin = by_rows ? 0 : n_lines * thread / n * line;
        const std::int64_t bound = by_rows ? width : n_lines * (thread + 1) / n * line;
        const std::int64_t end = bound < width ? bound : width;
        const auto add = [&](std::int64_t i, std::int64_t j, double weight) {
            add_row(rows.row<T>(i), weight, centers.data + j * width, grid, width, begin, end,
                    {{to + j * width, to + (k + j) * width},
                     {own_totals.data() + 2 * j, own_totals.data() + 2 * (k + j)}});
        };
        for (std::int64_t i = first; begin < end && i < last; ++i) {
            if (before && before[i] == labels[i]) continue;
            const double weight = weights ? weights[i] : 1.0;
            add(i, labels[i], weight);
            if (before) add(i, before[i], -weight);
        }
#pragma omp critical
        {
            for (std::int64_t i = 0; i < n_private; ++i) offsets[i] += own_offsets[i];
            for (std::int64_t i = 0; i < 4 * k; ++i) totals[i] += own_totals[i];
        }
    }
}

}  // namespace

void cluster_moments(const Rows &rows, const std::int32_t *labels, const std::int32_t *before,
                     const double *weights, Centers<double> centers, MomentGrid grid,
                     double *offsets, double *totals, int n_threads) {
    with_element(rows.element, [&](auto zero) {
        add_rows<decltype(zero)>(rows, labels, before, weights, centers, grid, offsets, totals,
                                 n_threads);
    });
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// Sums over the rows of each cluster: of weights, of weighted offsets from a reference center, and
// of weighted squared distances to it. The update half of Lloyd's method needs them, and so does
// lifting.
//
// Every term is split on grids (see MomentGrid). Sums of multiples of a grid's spacing are exact in
// double precision. So rows and columns may be added in any order, by any number of
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

// The sums of squares of one row, or of a part of it.
struct RowSquares {
    double coarse, fine;
};

// Adds columns [begin, end) of a row to the offsets of its cluster on both grids, and returns the
// sums of their squares.
template <class T>
RowSquares add_row(const T *row, double weight, const double *center, const double *magic,
                   const MomentGrid &grid, std::int64_t n_columns, std::int64_t begin,
                   std::int64_t end, double *coarse, double *fine) {
    constexpr int lanes = n_lanes<double>;
    // Copies, because stores to the sums could change what a reference shows.
    const double fine_ratio = grid.fine_ratio, squares_ratio = grid.squares_ratio;
    const double square_magic = magic[n_columns + 1];
    const Lanes<double> square_magics = broadcast(square_magic);
    Lanes<double> squares[2] = {};
    std::int64_t column = begin;
    for (; column + lanes <= end; column += lanes) {
        const Lanes<double> offset = load_as<double, lanes>(row + column) - load(center + column);
        const Lanes<double> term = offset * weight;
        const Split<Lanes<double>> moved(term, load(magic + column), fine_ratio);
        const Split<Lanes<double>> square(offset * term, square_magics, squares_ratio);
        store(coarse + column, load(coarse + column) + moved.coarse);
        store(fine + column, load(fine + column) + moved.fine);
        squares[0] += square.coarse;
        squares[1] += square.fine;
    }
    RowSquares sums{sum_lanes<double>(squares[0]), sum_lanes<double>(squares[1])};
    for (; column < end; ++column) {
        const double offset = static_cast<double>(widen(row[column])) - center[column];
        const double term = offset * weight;
        const Split<double> moved(term, magic[column], fine_ratio);
        const Split<double> square(offset * term, square_magic, squares_ratio);
        coarse[column] += moved.coarse;
        fine[column] += moved.fine;
        sums.coarse += square.coarse;
        sums.fine += square.fine;
    }
    return sums;
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
    PerThread<Buffer<double>> all_offsets(n_threads, n_private), all_totals(n_threads, 6 * k);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const std::int64_t thread = omp_get_thread_num(), n = omp_get_num_threads();
        Buffer<double> &own_offsets = all_offsets.own(), &own_totals = all_totals.own();
        for (std::int64_t i = 0; i < n_private; ++i) own_offsets[i] = 0;
        for (std::int64_t i = 0; i < 6 * k; ++i) own_totals[i] = 0;
        const Totals own{own_totals.data(), k};
        double *to = by_rows ? own_offsets.data() : offsets;
        const std::int64_t first = by_rows ? rows.n_rows * thread / n : 0;
        const std::int64_t last = by_rows ? rows.n_rows * (thread + 1) / n : rows.n_rows;
        const std::int64_t begin = by_rows ? 0 : n_lines * thread / n * line;
        const std::int64_t bound = by_rows ? width : n_lines * (thread + 1) / n * line;
        const std::int64_t end = bound < width ? bound : width;
        const auto add = [&](std::int64_t i, std::int64_t j, double weight) {
            const double *magic = grid.magic_of(j);
            const RowSquares found =
                add_row(rows.row<T>(i), weight, centers.data + j * width, magic, grid, width, begin,
                        end, to + j * width, to + (k + j) * width);
            own.squares(j).add_row(found.coarse, found.fine, magic[width + 1], grid);
            if (begin > 0) return;
            const Split<double> mass(weight, magic[width], grid.fine_ratio);
            own.weight(0, j) += mass.coarse;
            own.weight(1, j) += mass.fine;
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
            for (std::int64_t j = 0; j < k; ++j)
                Totals{totals, k}.add(j, own, j, grid.magic_of(j)[width + 1], grid);
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

// Sums over the rows of each cluster: weight, weighted offset from a reference center, and weighted
// squared distance to it: the update half of Lloyd's method, and all that lifting needs.
// Does not divide, does not decide labels.
//
// Every term is split on two grids (see MomentGrid): with t the term and M the magic number,
// (t + M) - M rounds t to a multiple of the grid's spacing, and sums of such multiples are exact
// in double precision. So rows may be added in any order, by any number of threads, in any blocks,
// and what a row brought may be taken away again: rounding is symmetric, so it leaves no trace.
// Compiled without contraction into fused operations: each term is rounded once, as written.
#include <omp.h>

#include "kernels.hpp"
#include "lanes.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Squared distances are summed over fixed stretches of columns, each rounded to the grid on its
// own, so that threads may share out columns as well as rows without touching a bit.
constexpr std::int64_t stretch = 512;

// Above this size a private copy of the sums for every thread costs more than it saves, and
// threads share out the columns instead.
constexpr std::int64_t private_bytes = std::int64_t{8} << 20;

template <class V> inline V round_to_grid(V term, V magic) { return (term + magic) - magic; }

// Sums of one cluster: offsets (n_columns) and totals (weight, squared distance), on both grids.
struct Sums {
    double *offsets[2];
    double *totals[2];
};

inline void add_total(const Sums &sums, int which, double term, double magic, double ratio) {
    const double rounded = round_to_grid(term, magic);
    sums.totals[0][which] += rounded;
    sums.totals[1][which] += round_to_grid(term - rounded, magic * ratio);
}

template <class T>
void add_row(const T *row, double weight, const double *center, MomentGrid grid,
             std::int64_t n_columns, std::int64_t begin, std::int64_t end, const Sums &sums) {
    constexpr int lanes = n_lanes<double>;
    const double ratio = grid.fine_ratio;
    for (std::int64_t from = begin; from < end; from += stretch) {
        const std::int64_t to = from + stretch < end ? from + stretch : end;
        Lanes<double> squares = {};
        std::int64_t column = from;
        for (; column + lanes <= to; column += lanes) {
            const Lanes<double> offset =
                load_as<double, lanes>(row + column) - load(center + column);
            squares += offset * offset;
            const Lanes<double> term = offset * weight;
            const Lanes<double> magic = load(grid.magic + column);
            const Lanes<double> coarse = round_to_grid(term, magic);
            const Lanes<double> fine = round_to_grid(term - coarse, magic * ratio);
            store(sums.offsets[0] + column, load(sums.offsets[0] + column) + coarse);
            store(sums.offsets[1] + column, load(sums.offsets[1] + column) + fine);
        }
        double squared = sum_lanes<double>(squares);
        for (; column < to; ++column) {
            const double offset = static_cast<double>(widen(row[column])) - center[column];
            squared += offset * offset;
            const double term = offset * weight;
            const double coarse = round_to_grid(term, grid.magic[column]);
            sums.offsets[0][column] += coarse;
            sums.offsets[1][column] += round_to_grid(term - coarse, grid.magic[column] * ratio);
        }
        add_total(sums, 1, squared * weight, grid.magic[n_columns + 1], ratio);
    }
    if (begin == 0) add_total(sums, 0, weight, grid.magic[n_columns], ratio);
}

template <class T>
void add_rows(const Rows &rows, const std::int32_t *labels, const std::int32_t *before,
              const double *weights, Centers<double> centers, MomentGrid grid, double *offsets,
              double *totals, int n_threads) {
    const std::int64_t width = rows.n_columns, k = centers.n_centers;
    const std::int64_t n_stretches = (width + stretch - 1) / stretch;
    const bool by_rows = 2 * k * width * std::int64_t{sizeof(double)} <= private_bytes;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const std::int64_t thread = omp_get_thread_num(), n = omp_get_num_threads();
        const std::int64_t n_private = by_rows ? 2 * k * width : 0;
        Buffer<double> own_offsets(n_private), own_totals(4 * k);
        for (std::int64_t i = 0; i < n_private; ++i) own_offsets[i] = 0;
        for (std::int64_t i = 0; i < 4 * k; ++i) own_totals[i] = 0;
        double *to = by_rows ? own_offsets.data() : offsets;
        const std::int64_t first = by_rows ? rows.n_rows * thread / n : 0;
        const std::int64_t last = by_rows ? rows.n_rows * (thread + 1) / n : rows.n_rows;
        const std::int64_t begin = by_rows ? 0 : n_stretches * thread / n * stretch;
        const std::int64_t bound = by_rows ? width : n_stretches * (thread + 1) / n * stretch;
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

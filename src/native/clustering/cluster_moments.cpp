// Sums over the rows of each cluster: of weights, of weighted offsets from a reference center, and
// of weighted squared distances to it. The update half of Lloyd's method needs them, and so does
// lifting.
//
// Every term is split on grids (see MomentGrid). Sums of multiples of a grid's spacing are exact in
// double precision. So rows and columns may be added in any order, by any number of
// threads and in any blocks, with the same bits. A row can also be taken away again without a
// trace, because the negative of a term is split into the negatives of its parts.
//
// Rows are sorted by cluster, and eight rows of a cluster are added at once: the sums of a few
// columns stay in registers, and the reference center, the grid and the sums are loaded once for
// all of them.
#include <omp.h>

#include "clustering/kernels.hpp"
#include "clustering/shares.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Rows of a cluster that are added at once. The squares of one row sum up to less than 2^50 coarse
// spacings, and their rests to less than 2^49 fine ones, so that the sums of 8 rows are exact.
constexpr int together = 8;

// Bytes of each of the next rows that are prefetched. Processors fetch the rest of long rows.
constexpr std::int64_t fetched_bytes = 256;

// Up to `together` rows of one cluster with their weights.
template <class T> struct Group {
    const T *rows[together];
    double weights[together];
    int n_rows;

    Group(const Rows &all, const Shares &shares, const double *all_weights, std::int64_t first,
          std::int64_t last)
        : n_rows(last - first < together ? static_cast<int>(last - first) : together) {
        for (int i = 0; i < n_rows; ++i) {
            rows[i] = all.row<T>(shares.row(first + i));
            weights[i] = shares.weight(first + i, all_weights);
        }
        for (std::int64_t next = first + n_rows; next < first + 2 * n_rows && next < last; ++next) {
            const auto *bytes = reinterpret_cast<const char *>(all.row<T>(shares.row(next)));
            for (std::int64_t byte = 0; byte < fetched_bytes; byte += 64)
                __builtin_prefetch(bytes + byte);
        }
    }
};

// The sums of one cluster: the point that they are about, their grid, and the offsets.
struct ClusterSums {
    const double *center, *magic;
    double *coarse, *fine;
};

// The sums of squares of some rows.
struct RowSquares {
    double coarse, fine;
};

// Sums of terms on one grid, added as whole numbers. The bits of a term plus the grid's magic
// number, read as an integer, are those of the magic number plus the number of spacings in the
// term. Processors add integers beside floating-point numbers. The sums may wrap on the way.
struct GridCounter {
    using Bits = Vector<std::uint64_t, n_lanes<double>>;
    Lanes<double> magic;
    Bits count;

    GridCounter(Lanes<double> of_grid, Lanes<double> sum)
        : magic(of_grid), count((Bits)(sum + of_grid)) {}

    // Adds a term and returns it rounded to the grid, plus the magic number.
    Lanes<double> add(Lanes<double> term) {
        const Lanes<double> rounded = term + magic;
        count += (Bits)rounded;
        return rounded;
    }
    // The sum after `n_terms` terms in each lane, if it is less than 2^51 spacings.
    Lanes<double> sum(std::uint64_t n_terms) const {
        return (Lanes<double>)(count - n_terms * (Bits)magic) - magic;
    }
    // The sum of all lanes, which began at 0, if it is less than 2^53 spacings.
    double total(std::uint64_t n_terms) const {
        const Bits spacings = count - (n_terms + 1) * (Bits)magic;
        const Lanes<double> spacing = (Lanes<double>)((Bits)magic + 1) - magic;
        std::uint64_t all = 0;
        for (int lane = 0; lane < n_lanes<double>; ++lane) all += spacings[lane];
        return static_cast<double>(static_cast<std::int64_t>(all)) * spacing[0];
    }
};

// Sums of terms on both grids.
struct SplitCounter {
    GridCounter coarse, fine;

    SplitCounter(Lanes<double> magic, double ratio, Lanes<double> coarse_sum,
                 Lanes<double> fine_sum)
        : coarse(magic, coarse_sum), fine(magic * ratio, fine_sum) {}

    void add(Lanes<double> term) { fine.add(term - (coarse.add(term) - coarse.magic)); }
};

// Adds the rows of a group to the offsets of their cluster on both grids, and returns the sums of
// their squares. `fixed` is the number of rows if the compiler knows it, else 0. If not `weighted`,
// all weights are 1.
template <int fixed, bool weighted, class T>
RowSquares add_group(const Group<T> &group, const ClusterSums &to, const MomentGrid &grid,
                     std::int64_t n_columns) {
    constexpr int lanes = n_lanes<double>;
    const int n_rows = fixed > 0 ? fixed : group.n_rows;
    const auto n_added = static_cast<std::uint64_t>(n_rows);
    // Copies, because stores to the sums could change what a reference shows.
    const double fine_ratio = grid.fine_ratio, squares_ratio = grid.squares_ratio;
    const double square_magic = to.magic[n_columns + 1];
    SplitCounter squares(broadcast(square_magic), squares_ratio, Lanes<double>{}, Lanes<double>{});
    std::int64_t column = 0;
    for (; column + lanes <= n_columns; column += lanes) {
        const Lanes<double> center = load(to.center + column);
        SplitCounter moved(load(to.magic + column), fine_ratio, load(to.coarse + column),
                           load(to.fine + column));
#pragma GCC unroll 4
        for (int i = 0; i < n_rows; ++i) {
            const Lanes<double> offset = load_as<double, lanes>(group.rows[i] + column) - center;
            const Lanes<double> term = weighted ? offset * group.weights[i] : offset;
            moved.add(term);
            squares.add(offset * term);
        }
        store(to.coarse + column, moved.coarse.sum(n_added));
        store(to.fine + column, moved.fine.sum(n_added));
    }
    const auto n_terms = static_cast<std::uint64_t>(column / lanes * n_rows);
    RowSquares sums{squares.coarse.total(n_terms), squares.fine.total(n_terms)};
    for (; column < n_columns; ++column) {
        for (int i = 0; i < n_rows; ++i) {
            const double value = static_cast<double>(widen(group.rows[i][column]));
            const double offset = value - to.center[column];
            const double term = weighted ? offset * group.weights[i] : offset;
            const Split<double> step(term, to.magic[column], fine_ratio);
            const Split<double> square(offset * term, square_magic, squares_ratio);
            to.coarse[column] += step.coarse;
            to.fine[column] += step.fine;
            sums.coarse += square.coarse;
            sums.fine += square.fine;
        }
    }
    return sums;
}

template <class T>
void add_rows(const Rows &rows, const std::int32_t *labels, const std::int32_t *before,
              const double *weights, Centers<double> centers, MomentGrid grid, double *offsets,
              double *totals, int n_threads) {
    const std::int64_t width = rows.n_columns, k = centers.n_centers;
    const Shares shares(labels, before, rows.n_rows, k);
    const bool weighted = weights || before;
    const auto add = [&](std::int64_t first, std::int64_t last, std::int64_t cluster,
                         double *coarse, double *fine, const Totals &of_cluster) {
        const ClusterSums to{centers.data + cluster * width, grid.magic_of(cluster), coarse, fine};
        for (std::int64_t i = first; i < last;) {
            const Group<T> group(rows, shares, weights, i, last);
            const RowSquares found = weighted ? add_group<0, true>(group, to, grid, width)
                                     : group.n_rows == together
                                         ? add_group<together, false>(group, to, grid, width)
                                         : add_group<0, false>(group, to, grid, width);
            of_cluster.squares(0).add_row(found.coarse, found.fine, to.magic[width + 1], grid);
            for (int row = 0; row < group.n_rows; ++row) {
                const Split<double> mass(group.weights[row], to.magic[width], grid.fine_ratio);
                of_cluster.weight(0, 0) += mass.coarse;
                of_cluster.weight(1, 0) += mass.fine;
            }
            i += group.n_rows;
        }
    };
    add_shares(
        shares, k, width, grid, offsets, totals, n_threads,
        [&](std::int64_t thread, std::int64_t n) { return shares.size() * thread / n; }, add);
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

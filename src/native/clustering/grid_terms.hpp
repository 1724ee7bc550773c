// Terms of sums over clusters, split on two grids. Kernels for dense and for sparse rows share this
// code, so that both give the same bits. Files that include it are compiled without contraction
// into fused operations (see CMakeLists.txt), so that each operation rounds as it is written.
#pragma once

#include "clustering/arguments.hpp"
#include "lanes/elements.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// A number or vector as a multiple of the coarse spacing plus a multiple of the fine spacing. With
// M the magic number of a grid, (t + M) - M rounds t to a multiple of the grid's spacing.
template <class V> struct Split {
    V coarse, fine;

    Split(V term, V magic, double ratio) {
        coarse = (term + magic) - magic;
        const V left = term - coarse, finer = magic * ratio;
        fine = (left + finer) - finer;
    }
};

// The sum of squares over rows, in three parts; see MomentGrid.
struct SquareSum {
    double &top, &middle, &fine;

    // Adds the squares of one row, or of a part of it: their sums on the coarse and the fine grid.
    void add_row(double coarse_sum, double fine_sum, double magic, const MomentGrid &grid) const {
        const double top_magic = magic * grid.top_ratio;
        const double to_top = (coarse_sum + top_magic) - top_magic;
        add(to_top, coarse_sum - to_top, fine_sum, magic, grid);
    }

    // Adds the parts of another sum, and carries what a part has too much to the part above it.
    void add(double other_top, double other_middle, double other_fine, double magic,
             const MomentGrid &grid) const {
        const double middle_magic = magic * grid.middle_ratio, top_magic = magic * grid.top_ratio;
        const double new_fine = fine + other_fine, new_middle = middle + other_middle;
        const double to_middle = (new_fine + middle_magic) - middle_magic;
        const double carried = new_middle + to_middle;
        const double to_top = (carried + top_magic) - top_magic;
        fine = new_fine - to_middle;
        middle = carried - to_top;
        top += other_top + to_top;
    }
};

// The sums of weights and squares of all clusters: totals[3][n_clusters][weight, squares]. Weights
// use the first two parts only.
struct Totals {
    double *data;
    std::int64_t n_clusters;

    double &weight(int part, std::int64_t cluster) const {
        return data[2 * (part * n_clusters + cluster)];
    }
    SquareSum squares(std::int64_t cluster) const {
        return {square(0, cluster), square(1, cluster), square(2, cluster)};
    }
    // Adds the totals of one cluster of another sum.
    void add(std::int64_t cluster, const Totals &other, std::int64_t other_cluster, double magic,
             const MomentGrid &grid) const {
        for (int part = 0; part < 2; ++part)
            weight(part, cluster) += other.weight(part, other_cluster);
        squares(cluster).add(other.square(0, other_cluster), other.square(1, other_cluster),
                             other.square(2, other_cluster), magic, grid);
    }

  private:
    double &square(int part, std::int64_t cluster) const {
        return data[2 * (part * n_clusters + cluster) + 1];
    }
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// The rows of a block sorted by cluster, so that the sums of a cluster stay in the cache or in
// registers. Kernels for dense and for sparse rows share this code.
#pragma once

#include <omp.h>

#include "clustering/grid_terms.hpp"
#include "lanes/buffer.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Each share is a row that joins a cluster or leaves one.
class Shares {
  public:
    // With `before`, only rows whose label changed have shares: one of each kind.
    Shares(const std::int32_t *labels, const std::int32_t *before, std::int64_t n_rows,
           std::int64_t n_clusters)
        : n_shares_(count(labels, before, n_rows)), begin_(n_clusters + 2), share_(n_shares_) {
        for (std::int64_t j = 0; j < n_clusters + 2; ++j) begin_[j] = 0;
        for_each(labels, before, n_rows,
                 [&](std::int64_t, std::int32_t cluster) { ++begin_[cluster + 2]; });
        for (std::int64_t j = 2; j < n_clusters + 2; ++j) begin_[j] += begin_[j - 1];
        for_each(labels, before, n_rows, [&](std::int64_t one, std::int32_t cluster) {
            share_[begin_[cluster + 1]++] = one;
        });
    }

    std::int64_t size() const { return n_shares_; }
    // Where the shares of a cluster begin.
    std::int64_t begin(std::int64_t cluster) const { return begin_[cluster]; }
    std::int64_t row(std::int64_t share) const { return share_[share] / 2; }
    // The weight of a share: that of its row, negative if the row leaves. `weights` may be null.
    double weight(std::int64_t share, const double *weights) const {
        const double size = weights ? weights[row(share)] : 1.0;
        return share_[share] % 2 ? -size : size;
    }

  private:
    template <class Action>
    static void for_each(const std::int32_t *labels, const std::int32_t *before,
                         std::int64_t n_rows, Action action) {
        for (std::int64_t row = 0; row < n_rows; ++row) {
            if (before && before[row] == labels[row]) continue;
            action(2 * row, labels[row]);
            if (before) action(2 * row + 1, before[row]);
        }
    }

    static std::int64_t count(const std::int32_t *labels, const std::int32_t *before,
                              std::int64_t n_rows) {
        if (!before) return n_rows;
        std::int64_t n = 0;
        for_each(labels, before, n_rows, [&](std::int64_t, std::int32_t) { ++n; });
        return n;
    }

    std::int64_t n_shares_;
    Buffer<std::int64_t> begin_;
    Buffer<std::int64_t> share_;  // 2 * row if the row joins, 2 * row + 1 if it leaves
};

// Adds all shares to the sums of their clusters: offsets[2][cluster][column] and totals. Thread i
// of n has the shares from first_of(i, n) to first_of(i + 1, n). If a cluster is cut between
// threads, the first of them adds to the cluster's sums. The others keep sums of their own, which
// are added when all threads are done.
//
// add(first, last, cluster, coarse, fine, totals) adds some shares of a cluster; `totals` are those
// of this cluster alone.
template <class FirstOf, class Add>
void add_shares(const Shares &shares, std::int64_t n_clusters, std::int64_t n_columns,
                const MomentGrid &grid, double *offsets, double *totals, int n_threads,
                FirstOf first_of, Add add) {
    const std::int64_t width = n_columns, k = n_clusters;
    PerThread<Buffer<double>> all_own(n_threads, n_threads > 1 ? 2 * width : 0);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const std::int64_t thread = omp_get_thread_num(), n = omp_get_num_threads();
        std::int64_t i = first_of(thread, n), cluster = 0;
        const std::int64_t last = first_of(thread + 1, n);
        while (cluster < k && shares.begin(cluster + 1) <= i) ++cluster;
        const bool joins = i < last && shares.begin(cluster) < i;
        const std::int64_t joined = cluster;
        Buffer<double> &own = all_own.own();
        for (std::int64_t column = 0; column < (joins ? 2 * width : 0); ++column) own[column] = 0;
        double kept[6] = {};
        for (; i < last; ++cluster) {
            const std::int64_t end = shares.begin(cluster + 1);
            const std::int64_t stop = end < last ? end : last;
            if (stop == i) continue;
            const bool own_part = joins && cluster == joined;
            double *to = own_part ? own.data() : offsets + cluster * width;
            double found[6] = {};
            add(i, stop, cluster, to, own_part ? to + width : to + k * width, Totals{found, 1});
            const Totals into = own_part ? Totals{kept, 1} : Totals{totals, k};
            into.add(own_part ? 0 : cluster, {found, 1}, 0, grid.magic_of(cluster)[width + 1],
                     grid);
            i = stop;
        }
#pragma omp barrier
#pragma omp critical
        if (joins) {
            for (int grain = 0; grain < 2; ++grain) {
                double *to = offsets + (grain * k + joined) * width;
                for (std::int64_t column = 0; column < width; ++column)
                    to[column] += own[grain * width + column];
            }
            Totals{totals, k}.add(joined, {kept, 1}, 0, grid.magic_of(joined)[width + 1], grid);
        }
    }
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

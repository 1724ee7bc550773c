// Sums over the sparse rows of each cluster. Rows are never made dense.
//
// In a column of a cluster, every zero adds the same term. So this kernel adds, for each nonzero,
// the nonzero's term minus the term of a zero; the caller then adds the term of a zero times the
// mass of the cluster. All terms and their differences are multiples of the grids' spacings, so the
// sums have the bits of the kernel for dense rows.
#include <omp.h>

#include "clustering/grid_terms.hpp"
#include "clustering/kernels.hpp"
#include "lanes/buffer.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// How many nonzeros ahead memory is prefetched.
constexpr std::int64_t ahead = 8;

// The shares: each is a row that joins a cluster or leaves one. They are sorted by cluster, so that
// the sums of a cluster stay in the cache.
struct Shares {
    std::int64_t n_clusters, n_shares;
    Buffer<std::int64_t> begin;  // where the shares of each cluster begin
    Buffer<std::int64_t> share;  // 2 * row if the row joins, 2 * row + 1 if it leaves
    Buffer<std::int64_t> work;   // the work before each share: its nonzeros, plus 4 for each row

    template <class C>
    Shares(const SparseRows<C> &rows, const std::int32_t *labels, const std::int32_t *before,
           std::int64_t n_centers)
        : n_clusters(n_centers), n_shares(count(labels, before, rows.n_rows)), begin(n_centers + 2),
          share(n_shares), work(n_shares + 1) {
        for (std::int64_t j = 0; j < n_centers + 2; ++j) begin[j] = 0;
        for_each(labels, before, rows.n_rows,
                 [&](std::int64_t, std::int32_t cluster) { ++begin[cluster + 2]; });
        for (std::int64_t j = 2; j < n_centers + 2; ++j) begin[j] += begin[j - 1];
        for_each(labels, before, rows.n_rows, [&](std::int64_t one, std::int32_t cluster) {
            share[begin[cluster + 1]++] = one;
        });
        work[0] = 0;
        for (std::int64_t i = 0; i < n_shares; ++i) {
            const std::int64_t row = share[i] / 2;
            work[i + 1] = work[i] + rows.start(row + 1) - rows.start(row) + 4;
        }
    }

    // The first share of thread `thread` out of n, so that all have about the same work.
    std::int64_t first_of(std::int64_t thread, std::int64_t n) const {
        const std::int64_t wanted = work[n_shares] / n * thread;
        std::int64_t low = 0, high = n_shares;
        while (low < high) {
            const std::int64_t middle = (low + high) / 2;
            if (work[middle] < wanted)
                low = middle + 1;
            else
                high = middle;
        }
        return thread == n ? n_shares : low;
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
        std::int64_t n = 0;
        for_each(labels, before, n_rows, [&](std::int64_t, std::int32_t) { ++n; });
        return n;
    }
};

template <class C, class I> struct Adder {
    const SparseRows<C> &rows;
    const I *indices;
    const double *weights;
    MomentGrid grid;

    // Adds shares [first, last) of one cluster.
    void add(const Shares &shares, std::int64_t first, std::int64_t last, const double *center,
             const double *magics, double *coarse, double *fine, const Totals &totals) const {
        const std::int64_t n_columns = rows.n_columns;
        // Copies, because stores to the sums could change what a reference shows.
        const double fine_ratio = grid.fine_ratio, squares_ratio = grid.squares_ratio;
        const double square_magic = magics[n_columns + 1];
        const SquareSum squares = totals.squares(0);
        for (std::int64_t i = first; i < last; ++i) {
            const std::int64_t row = shares.share[i] / 2;
            const double size = weights ? weights[row] : 1.0;
            const double weight = shares.share[i] % 2 ? -size : size;
            const std::int64_t end = rows.start(row + 1);
            double coarse_sum = 0, fine_sum = 0;
            for (std::int64_t e = rows.start(row); e < end; ++e) {
                if (e + ahead < end) {
                    const I next = indices[e + ahead];
                    __builtin_prefetch(center + next);
                    __builtin_prefetch(magics + next);
                    __builtin_prefetch(coarse + next, 1);
                    __builtin_prefetch(fine + next, 1);
                }
                const I column = indices[e];
                const double offset = static_cast<double>(rows.values[e]) - center[column];
                const double magic = magics[column];
                const double zero = magic > 0 ? 0.0 - center[column] : 0.0;
                const double term = offset * weight, zero_term = zero * weight;
                const Split<double> here(term, magic, fine_ratio);
                const Split<double> there(zero_term, magic, fine_ratio);
                coarse[column] += here.coarse - there.coarse;
                fine[column] += here.fine - there.fine;
                const Split<double> square(offset * term, square_magic, squares_ratio);
                const Split<double> nothing(zero * zero_term, square_magic, squares_ratio);
                coarse_sum += square.coarse - nothing.coarse;
                fine_sum += square.fine - nothing.fine;
            }
            squares.add_row(coarse_sum, fine_sum, square_magic, grid);
            const Split<double> mass(weight, magics[n_columns], grid.fine_ratio);
            totals.weight(0, 0) += mass.coarse;
            totals.weight(1, 0) += mass.fine;
        }
    }
};

// Adds all shares. If a cluster is cut between threads, the first of them adds to the cluster's
// sums. The others keep sums of their own, which are added when all threads are done.
template <class C, class I>
void add_shares(const Adder<C, I> &adder, const Shares &shares, Centers<double> centers,
                double *offsets, double *totals, int n_threads) {
    const std::int64_t width = adder.rows.n_columns, k = centers.n_centers;
    PerThread<Buffer<double>> all_own(n_threads, n_threads > 1 ? 2 * width : 0);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const std::int64_t thread = omp_get_thread_num(), n = omp_get_num_threads();
        std::int64_t i = shares.first_of(thread, n), cluster = 0;
        const std::int64_t last = shares.first_of(thread + 1, n);
        while (cluster < k && shares.begin[cluster + 1] <= i) ++cluster;
        const bool joins = i < last && shares.begin[cluster] < i;
        const std::int64_t joined = cluster;
        Buffer<double> &own = all_own.own();
        for (std::int64_t column = 0; column < (joins ? 2 * width : 0); ++column) own[column] = 0;
        double kept[6] = {};
        for (; i < last; ++cluster) {
            const std::int64_t end = shares.begin[cluster + 1];
            const std::int64_t stop = end < last ? end : last;
            const bool own_part = joins && cluster == joined;
            double *to = own_part ? own.data() : offsets + cluster * width;
            double found[6] = {};
            const double *magic = adder.grid.magic_of(cluster);
            adder.add(shares, i, stop, centers.data + cluster * width, magic, to,
                      own_part ? to + width : to + k * width, {found, 1});
            const Totals into = own_part ? Totals{kept, 1} : Totals{totals, k};
            into.add(own_part ? 0 : cluster, {found, 1}, 0, magic[width + 1], adder.grid);
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
            Totals{totals, k}.add(joined, {kept, 1}, 0, adder.grid.magic_of(joined)[width + 1],
                                  adder.grid);
        }
    }
}

}  // namespace

template <class C>
void cluster_moments_sparse(const SparseRows<C> &rows, const std::int32_t *labels,
                            const std::int32_t *before, const double *weights,
                            Centers<double> centers, MomentGrid grid, double *offsets,
                            double *totals, int n_threads) {
    const Shares shares(rows, labels, before, centers.n_centers);
    rows.with_indices([&](const auto *indices) {
        using I = std::remove_cvref_t<decltype(indices[0])>;
        add_shares(Adder<C, I>{rows, indices, weights, grid}, shares, centers, offsets, totals,
                   n_threads);
    });
}

PK_INSTANTIATE(cluster_moments_sparse);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

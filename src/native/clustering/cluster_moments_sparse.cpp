// Sums over the sparse rows of each cluster. Rows are never made dense.
//
// In a column of a cluster, every zero adds the same term. So this kernel adds, for each nonzero,
// the nonzero's term minus the term of a zero; the caller then adds the term of a zero times the
// mass of the cluster. All terms and their differences are multiples of the grids' spacings, so the
// sums have the bits of the kernel for dense rows.
#include <omp.h>

#include "clustering/kernels.hpp"
#include "clustering/shares.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// How many nonzeros ahead memory is prefetched.
constexpr std::int64_t ahead = 8;

// The work before each share, its nonzeros plus 4 for each row, so that threads share the work.
class Work {
  public:
    template <class C>
    Work(const Shares &shares, const SparseRows<C> &rows)
        : n_shares_(shares.size()), before_(n_shares_ + 1) {
        before_[0] = 0;
        for (std::int64_t i = 0; i < n_shares_; ++i) {
            const std::int64_t row = shares.row(i);
            before_[i + 1] = before_[i] + rows.start(row + 1) - rows.start(row) + 4;
        }
    }

    // The first share of thread `thread` out of n, so that all have about the same work.
    std::int64_t first_of(std::int64_t thread, std::int64_t n) const {
        const std::int64_t wanted = before_[n_shares_] / n * thread;
        std::int64_t low = 0, high = n_shares_;
        while (low < high) {
            const std::int64_t middle = (low + high) / 2;
            if (before_[middle] < wanted)
                low = middle + 1;
            else
                high = middle;
        }
        return thread == n ? n_shares_ : low;
    }

  private:
    std::int64_t n_shares_;
    Buffer<std::int64_t> before_;
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
            const std::int64_t row = shares.row(i);
            const double weight = shares.weight(i, weights);
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

}  // namespace

template <class C>
void cluster_moments_sparse(const SparseRows<C> &rows, const std::int32_t *labels,
                            const std::int32_t *before, const double *weights,
                            Centers<double> centers, MomentGrid grid, double *offsets,
                            double *totals, int n_threads) {
    const std::int64_t k = centers.n_centers, width = rows.n_columns;
    const Shares shares(labels, before, rows.n_rows, k);
    const Work work(shares, rows);
    rows.with_indices([&](const auto *indices) {
        using I = std::remove_cvref_t<decltype(indices[0])>;
        const Adder<C, I> adder{rows, indices, weights, grid};
        add_shares(
            shares, k, width, grid, offsets, totals, n_threads,
            [&](std::int64_t thread, std::int64_t n) { return work.first_of(thread, n); },
            [&](std::int64_t first, std::int64_t last, std::int64_t cluster, double *coarse,
                double *fine, const Totals &of_cluster) {
                adder.add(shares, first, last, centers.data + cluster * width,
                          grid.magic_of(cluster), coarse, fine, of_cluster);
            });
    });
}

PK_INSTANTIATE(cluster_moments_sparse);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

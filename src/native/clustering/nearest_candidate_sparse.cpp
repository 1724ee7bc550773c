// The nearest of a few candidates for every sparse row: the centers around its cluster.
//
// The products with candidates are sums over the nonzeros (see center_columns.hpp); where scores
// are too close, referee.hpp decides.
#include "clustering/kernels.hpp"
#include "clustering/referee.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Chooses among the candidates of a row by their scores.
template <class C> class SparseChoice {
  public:
    SparseChoice(const SparseRows<C> &rows, Frame<C> frame, Centers<C> centers,
                 const Referee<C> &referee, std::int64_t n_candidates)
        : rows_(rows), frame_(frame), centers_(centers), referee_(referee), scores_(n_candidates),
          names_(n_candidates), scratch_(n_candidates, rows.n_columns) {}

    // The nearest candidate. Of equally near ones the row's own center wins, else the lowest.
    template <class I>
    std::int32_t choose(const I *indices, Candidates candidates, std::int64_t row,
                        std::int32_t own) {
        const std::int64_t n = candidates.n_candidates;
        for (std::int64_t i = 0; i < n; ++i) names_[i] = candidates.get(row, i);
        for (std::int64_t first = 0; first < n; first += n_together) score(indices, row, first, n);
        C best = std::numeric_limits<C>::infinity();
        for (std::int64_t i = 0; i < n; ++i) best = smaller(scores_[i], best);
        const double norm = referee_.squared_norm(row);
        const C limit = best + static_cast<C>(2 * referee_.margin(row, norm));
        std::int64_t n_near = 0;
        for (std::int64_t i = 0; i < n; ++i)
            if (scores_[i] <= limit) insert(names_[i], n_near);
        return n_near == 0   ? own
               : n_near == 1 ? names_[0]
                             : referee_.decide(row, norm, names_.data(), n_near, own, scratch_);
    }

  private:
    static constexpr int n_together = 8;

    // Inserts a name among the first n names, which ascend. Names behind them are no longer needed.
    void insert(std::int32_t name, std::int64_t &n) {
        std::int64_t place = n;
        for (std::int64_t i = 0; i < n; ++i)
            if (names_[i] == name) return;
        for (; place > 0 && names_[place - 1] > name; --place) names_[place] = names_[place - 1];
        names_[place] = name;
        ++n;
    }

    template <class I>
    void score(const I *indices, std::int64_t row, std::int64_t first, std::int64_t n) {
        const C *from[n_together];
        for (int j = 0; j < n_together; ++j)
            from[j] = centers_.data + names_[first + j < n ? first + j : first] * rows_.n_columns;
        C sums[n_together] = {};
        const std::int64_t end = rows_.start(row + 1);
        for (std::int64_t e = rows_.start(row); e < end; ++e) {
            const C value = rows_.values[e] * frame_.scale;
#pragma GCC unroll 8
            for (int j = 0; j < n_together; ++j) sums[j] += value * from[j][indices[e]];
        }
        for (int j = 0; j < n_together && first + j < n; ++j)
            scores_[first + j] = static_cast<C>(referee_.constant(names_[first + j])) - sums[j];
    }

    const SparseRows<C> &rows_;
    Frame<C> frame_;
    Centers<C> centers_;
    const Referee<C> &referee_;
    Buffer<C> scores_;
    Buffer<std::int32_t> names_;
    RefereeScratch<C> scratch_;
};

}  // namespace

template <class C>
void nearest_candidate_sparse(const SparseRows<C> &rows, Frame<C> frame, Centers<C> centers,
                              Centers<double> exact, Candidates candidates, std::int32_t *labels,
                              int n_threads) {
    const Referee<C> referee(rows, frame, exact, n_threads);
    // Rows are visited cluster by cluster, because rows of one cluster have nearly the same
    // candidates, which then stay in the cache.
    Buffer<std::int64_t> order(rows.n_rows), next(centers.n_centers + 1);
    for (std::int64_t j = 0; j <= centers.n_centers; ++j) next[j] = 0;
    for (std::int64_t row = 0; row < rows.n_rows; ++row) ++next[labels[row] + 1];
    for (std::int64_t j = 0; j < centers.n_centers; ++j) next[j + 1] += next[j];
    for (std::int64_t row = 0; row < rows.n_rows; ++row) order[next[labels[row]]++] = row;
    PerThread<SparseChoice<C>> all_choices(n_threads, rows, frame, centers, referee,
                                           candidates.n_candidates);
    rows.with_indices([&](const auto *indices) {
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            SparseChoice<C> &choice = all_choices.own();
#pragma omp for schedule(dynamic, 64)
            for (std::int64_t i = 0; i < rows.n_rows; ++i) {
                const std::int64_t row = order[i];
                labels[row] = choice.choose(indices, candidates, row, labels[row]);
            }
        }
    });
}

PK_INSTANTIATE(nearest_candidate_sparse);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

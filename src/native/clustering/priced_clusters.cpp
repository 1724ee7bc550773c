// The best and the second best cluster of every row, at a price for each cluster.
#include <limits>

#include "clustering/kernels.hpp"
#include "lanes/instruction_set.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// One row after the other: nearly all costs are above the two lowest so far, so that both branches
// are rarely taken.
template <class C>
void priced_clusters(const C *distances, const C *prices, std::int64_t n_rows,
                     std::int64_t n_clusters, std::int32_t *labels, std::int32_t *seconds, C *least,
                     C *next, int n_threads) {
#pragma omp parallel for num_threads(n_threads) if (n_threads > 1)
    for (std::int64_t row = 0; row < n_rows; ++row) {
        const C *own = distances + row * n_clusters;
        C lowest = own[0] + prices[0], second = std::numeric_limits<C>::infinity();
        std::int32_t best = 0, after = 0;
        for (std::int64_t j = 1; j < n_clusters; ++j) {
            const C cost = own[j] + prices[j];
            if (!(cost < second)) continue;
            const bool leads = cost < lowest;
            second = leads ? lowest : cost;
            after = leads ? best : static_cast<std::int32_t>(j);
            if (leads) {
                lowest = cost;
                best = static_cast<std::int32_t>(j);
            }
        }
        labels[row] = best;
        seconds[row] = after;
        least[row] = lowest;
        next[row] = second;
    }
}

PK_INSTANTIATE(priced_clusters);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

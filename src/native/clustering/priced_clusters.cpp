// The best and the second best cluster of every row, at a price for each cluster.
#include <limits>
#include <type_traits>

#include "clustering/kernels.hpp"
#include "lanes/tiles.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Clusters whose distances are brought into lanes at once. They stay in the first-level cache.
constexpr std::int64_t depth = 64;

// The two lowest costs of a tile of rows so far, one row a lane.
template <class C> struct TwoLowest {
    Lanes<C> least[2], next[2];
    IndexLanes<C> labels[2] = {}, seconds[2] = {};

    TwoLowest() {
        for (int half = 0; half < 2; ++half)
            least[half] = next[half] = broadcast(std::numeric_limits<C>::infinity());
    }

    // Takes clusters [first, first + n_clusters), whose distances are in `packed`.
    void meet(const C *packed, const C *prices, std::int64_t first, std::int64_t n_clusters) {
        for (std::int64_t j = 0; j < n_clusters; ++j) {
            const IndexLanes<C> index = broadcast_index<C>(first + j);
            for (int half = 0; half < 2; ++half) {
                const C *lanes = packed + j * tile_rows<C> + half * n_lanes<C>;
                const Lanes<C> cost = load(lanes) + prices[first + j];
                const IndexLanes<C> leads = cost < least[half], follows = cost < next[half];
                seconds[half] = leads ? labels[half] : (follows ? index : seconds[half]);
                labels[half] = leads ? index : labels[half];
                next[half] = leads ? least[half] : (follows ? cost : next[half]);
                least[half] = leads ? cost : least[half];
            }
        }
    }
};

}  // namespace

template <class C>
void priced_clusters(const C *distances, const C *prices, std::int64_t n_rows,
                     std::int64_t n_clusters, std::int32_t *labels, std::int32_t *seconds, C *least,
                     C *next, int n_threads) {
    constexpr Element element = std::is_same_v<C, float> ? Element::float32 : Element::float64;
    constexpr std::int64_t size = tile_rows<C>;
    const Rows rows{distances, element, n_rows, n_clusters, n_clusters};
    const std::int64_t n_tiles = (n_rows + size - 1) / size;
#pragma omp parallel for num_threads(n_threads) if (n_threads > 1)
    for (std::int64_t tile = 0; tile < n_tiles; ++tile) {
        const std::int64_t begin = tile * size;
        const std::int64_t there = n_rows - begin < size ? n_rows - begin : size;
        C packed[depth * size];
        TwoLowest<C> lowest;
        for (std::int64_t first = 0; first < n_clusters; first += depth) {
            const std::int64_t n = n_clusters - first < depth ? n_clusters - first : depth;
            pack_tile_of<C, size, size, C>(rows, begin, there, first, n, packed);
            lowest.meet(packed, prices, first, n);
        }
        for (std::int64_t row = 0; row < there; ++row) {
            const int half = static_cast<int>(row / n_lanes<C>);
            const int lane = static_cast<int>(row % n_lanes<C>);
            labels[begin + row] = static_cast<std::int32_t>(lowest.labels[half][lane]);
            seconds[begin + row] = static_cast<std::int32_t>(lowest.seconds[half][lane]);
            least[begin + row] = lowest.least[half][lane];
            next[begin + row] = lowest.next[half][lane];
        }
    }
}

PK_INSTANTIATE(priced_clusters);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

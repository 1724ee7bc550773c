// Rows in the frame times given directions: the coordinates of each row along them.
// A row's result depends on that row alone: its products are added in the order of the columns,
// whatever the other rows of the block are.
#include <deque>

#include "lanes/center_panel.hpp"
#include "maps/kernels.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Columns that are packed at once: few enough to stay in the second-level cache with the
// directions.
constexpr std::int64_t depth = 512;

// Tiles that are multiplied with a part of the directions while that part is in the cache.
constexpr std::int64_t batch = 8;

}  // namespace

template <class C>
void direction_product(const Rows &rows, Frame<C> frame, Centers<C> directions, C *out,
                       int n_threads) {
    constexpr int tile = tile_rows<C>;
    const PackTile<C> pack = pack_tile_for<C>(rows.element);
    const std::int64_t width = rows.n_columns, t = directions.n_centers;
    const std::int64_t n_parts = (width + depth - 1) / depth;
    const std::int64_t n_batches = (rows.n_rows + batch * tile - 1) / (batch * tile);
    std::deque<CenterPanel<C>> panels;  // not a vector, because panels cannot be moved
    for (std::int64_t part = 0; part < n_parts; ++part) {
        const std::int64_t begin = part * depth, left = width - begin;
        panels.emplace_back(t, left < depth ? left : depth);
        panels.back().fill([&](std::int64_t j, std::int64_t column) {
            return directions.data[j * width + begin + column];
        });
    }
    PerThread<Buffer<C>> all_packed(n_threads, (width < depth ? width : depth) * tile);
    PerThread<Buffer<C>> all_sums(n_threads, batch * t * tile);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        Buffer<C> &packed = all_packed.own(), &sums = all_sums.own();
#pragma omp for schedule(dynamic, 1)
        for (std::int64_t index = 0; index < n_batches; ++index) {
            const std::int64_t first = index * batch * tile, left = rows.n_rows - first;
            const std::int64_t n_rows = left < batch * tile ? left : batch * tile;
            for (std::int64_t i = 0; i < batch * t * tile; ++i) sums[i] = 0;
            for (std::int64_t part = 0; part < n_parts; ++part) {
                const std::int64_t begin = part * depth, rest = width - begin;
                for (std::int64_t from = 0; from < n_rows; from += tile) {
                    const std::int64_t some = n_rows - from < tile ? n_rows - from : tile;
                    Lanes<C> norms[2] = {};
                    pack(rows, first + from, some, begin, rest < depth ? rest : depth,
                         packed.data());
                    enter_frame(packed.data(), frame, begin, rest < depth ? rest : depth, norms);
                    C *to = sums.data() + from * t;
                    panels[static_cast<std::size_t>(part)].meet_tile(
                        packed.data(), [&](std::int64_t j, int half, Lanes<C> product) {
                            C *place = to + j * tile + half * n_lanes<C>;
                            store(place, load(place) + product);
                        });
                }
            }
            for (std::int64_t row = 0; row < n_rows; ++row) {
                const C *from = sums.data() + row / tile * t * tile + row % tile;
                for (std::int64_t j = 0; j < t; ++j) out[(first + row) * t + j] = from[j * tile];
            }
        }
    }
}

PK_INSTANTIATE(direction_product);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

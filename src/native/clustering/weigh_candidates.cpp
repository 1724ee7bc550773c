// Seeding: the squared distances of a few rows to candidates, and what each candidate would leave.
//
// The rows of a stretch are added in type C, lane by lane. Then the sums of the stretches are added
// in double precision, from first to last. So bits do not depend on the number of threads.
#include "clustering/kernels.hpp"
#include "clustering/seed_tiles.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Tiles of a stretch.
constexpr std::int64_t stretch_tiles = 4;

template <class C> struct Weighing {
    Tiles<C> tiles;
    const SeedCenters<C> &centers;
    std::int64_t n_centers;
    const C *nearest;
    const C *shares;
    C *after;

    static constexpr std::int64_t per_tile = Tiles<C>::n_rows / tile_rows<C>;
    static_assert(Tiles<C>::n_rows % tile_rows<C> == 0, "parts fill a tile exactly");

    // Adds the terms of tile `index` to sums[center], lane by lane.
    void weigh(std::int64_t index, Lanes<C> *sums) const {
        for (std::int64_t part = 0; part < per_tile; ++part) {
            SeedTile<C> tile{tiles.data + index * tiles.n_columns * Tiles<C>::n_rows +
                                 part * tile_rows<C>,
                             Tiles<C>::n_rows,
                             {}};
            add_norms(tile, tiles.n_columns);
            const std::int64_t first = index * Tiles<C>::n_rows + part * tile_rows<C>;
            const Lanes<C> least[2] = {load(nearest + first), load(nearest + first + n_lanes<C>)};
            for (std::int64_t group = 0; group < centers.n_groups; ++group) {
                SeedGaps<C> gaps(tile, centers, group, least, rounding_of<C>(tiles.n_columns));
                if (gaps.doubtful) repair(gaps, tile, group);
                for (int j = 0; j < seeds_together && group * seeds_together + j < n_centers; ++j)
                    add(gaps.squared[j], least, first, group * seeds_together + j, sums);
            }
        }
    }

  private:
    void repair(SeedGaps<C> &gaps, const SeedTile<C> &tile, std::int64_t group) const {
        gaps.repair(tile, centers, group, [&](std::int64_t center, int row) {
            const C *values = centers.group(group) + center % seeds_together;
            C total = 0;
            for (std::int64_t column = 0; column < tiles.n_columns; ++column) {
                const C gap =
                    tile.packed[column * tile.stride + row] - values[column * seeds_together];
                total += gap * gap;
            }
            return total;
        });
    }

    void add(const Lanes<C> (&squared)[2], const Lanes<C> (&least)[2], std::int64_t first,
             std::int64_t center, Lanes<C> *sums) const {
        C *to = after + center * tiles.n_tiles * Tiles<C>::n_rows + first;
        for (int half = 0; half < 2; ++half) {
            const Lanes<C> lower = squared[half] < least[half] ? squared[half] : least[half];
            store(to + half * n_lanes<C>, lower);
            sums[center] += lower * load(shares + first + half * n_lanes<C>);
        }
    }
};

}  // namespace

template <class C>
void weigh_candidates(Tiles<C> tiles, Centers<C> centers, const C *nearest, const C *shares,
                      C *after, double *sums, int n_threads) {
    const SeedCenters<C> groups(centers, tiles.n_columns, nullptr);
    const std::int64_t m = centers.n_centers;
    const Weighing<C> weighing{tiles, groups, m, nearest, shares, after};
    const std::int64_t n_stretches = (tiles.n_tiles + stretch_tiles - 1) / stretch_tiles;
    Buffer<double> parts(n_stretches * m);
    PerThread<Buffer<Lanes<C>>> all_lanes(n_threads, m);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        Buffer<Lanes<C>> &lanes = all_lanes.own();
#pragma omp for schedule(static)
        for (std::int64_t stretch = 0; stretch < n_stretches; ++stretch) {
            for (std::int64_t j = 0; j < m; ++j) lanes[j] = Lanes<C>{};
            const std::int64_t first = stretch * stretch_tiles;
            for (std::int64_t tile = first; tile < first + stretch_tiles && tile < tiles.n_tiles;
                 ++tile)
                weighing.weigh(tile, lanes.data());
            for (std::int64_t j = 0; j < m; ++j)
                parts[stretch * m + j] = static_cast<double>(sum_lanes<C>(lanes[j]));
        }
    }
    for (std::int64_t j = 0; j < m; ++j) {
        sums[j] = 0;
        for (std::int64_t stretch = 0; stretch < n_stretches; ++stretch)
            sums[j] += parts[stretch * m + j];
    }
}

PK_INSTANTIATE(weigh_candidates);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// Squared distances of a tile of rows to a few centers, for seeding.
//
// They are computed as |x|^2 + |c|^2 - 2 <x, c> about the frame's origin, one row a lane and
// `seeds_together` centers at a time. Where this difference has lost its digits and could be the
// smallest, it is computed again from the differences x - c. So a row that equals a center is at
// distance zero, exactly.
#pragma once

#include <limits>

#include "clustering/arguments.hpp"
#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Centers that are multiplied with a tile at once.
constexpr int seeds_together = 4;

// A distance by products that is less than this share of |x|^2 + |c|^2 is not trusted.
template <class C> constexpr C trusted = C{1} / 64;

// Centers in the frame: data[group][column][seeds_together], padded with centers at an infinite
// distance. If there is no frame, the given centers are inside it already.
template <class C> struct SeedCenters {
    std::int64_t n_centers, n_groups;
    std::int64_t n_columns;
    Buffer<C> data;
    Buffer<C> norms;

    SeedCenters(Centers<C> centers, std::int64_t width, const Frame<C> *frame)
        : n_centers(centers.n_centers),
          n_groups((centers.n_centers + seeds_together - 1) / seeds_together), n_columns(width),
          data(n_groups * width * seeds_together), norms(n_groups * seeds_together) {
        for (std::int64_t j = 0; j < n_groups * seeds_together; ++j) {
            const bool real = j < centers.n_centers;
            C norm = 0;
            C *to = data.data() + j / seeds_together * width * seeds_together + j % seeds_together;
            for (std::int64_t column = 0; column < width; ++column) {
                C value = real ? centers.data[j * width + column] : C{0};
                if (real && frame)
                    value = frame->scale * value - frame->scale * frame->origin[column];
                to[column * seeds_together] = value;
                norm += value * value;
            }
            norms[j] = real ? norm : std::numeric_limits<C>::infinity();
        }
    }
    const C *group(std::int64_t index) const {
        return data.data() + index * n_columns * seeds_together;
    }
};

// A tile of rows, `stride` numbers from one column to the next, and their squared norms.
template <class C> struct SeedTile {
    const C *packed;
    std::int64_t stride;
    Lanes<C> norms[2];
};

// Squared distances of a tile's rows to the centers of one group. `doubtful` says whether some must
// be computed again: those that may be less than `nearest` and are too small to be trusted.
template <class C> struct SeedGaps {
    Lanes<C> squared[seeds_together][2];
    bool doubtful;

    SeedGaps(const SeedTile<C> &tile, const SeedCenters<C> &centers, std::int64_t group,
             const Lanes<C> (&nearest)[2], C rounding) {
        Lanes<C> product[seeds_together][2] = {};
        const C *values = centers.group(group);
        for (std::int64_t column = 0; column < centers.n_columns; ++column) {
            const Lanes<C> low = load(tile.packed + column * tile.stride);
            const Lanes<C> high = load(tile.packed + column * tile.stride + n_lanes<C>);
#pragma GCC unroll 4
            for (int j = 0; j < seeds_together; ++j) {
                const C value = values[column * seeds_together + j];
                product[j][0] += low * value;
                product[j][1] += high * value;
            }
        }
        auto doubts = nearest[0] != nearest[0];  // false everywhere
        for (int j = 0; j < seeds_together; ++j)
            for (int half = 0; half < 2; ++half) {
                const Lanes<C> norms = tile.norms[half] + centers.norms[group * seeds_together + j];
                const Lanes<C> gap = norms - 2 * product[j][half];
                squared[j][half] = gap > 0 ? gap : Lanes<C>{};
                doubts |= (gap < trusted<C> * norms) & (gap < nearest[half] + rounding * norms);
            }
        doubtful = false;
        for (int lane = 0; lane < n_lanes<C>; ++lane) doubtful |= doubts[lane] != 0;
    }

    // Replaces distances that are too small to be trusted by difference(center, row of the tile).
    // Leaves out the padding, which has a distance of 0 to rows that hold an infinity, because
    // `difference` would read a center that does not exist.
    template <class Difference>
    void repair(const SeedTile<C> &tile, const SeedCenters<C> &centers, std::int64_t group,
                Difference difference) {
        for (int j = 0; j < seeds_together && group * seeds_together + j < centers.n_centers; ++j)
            for (int row = 0; row < tile_rows<C>; ++row) {
                const int half = row / n_lanes<C>, lane = row % n_lanes<C>;
                const C norms = tile.norms[half][lane] + centers.norms[group * seeds_together + j];
                if (squared[j][half][lane] < trusted<C> * norms)
                    squared[j][half][lane] = difference(group * seeds_together + j, row);
            }
    }
};

// A bound on the relative rounding error of a distance by products.
template <class C> C rounding_of(std::int64_t n_columns) {
    return static_cast<C>(n_columns + 4) * std::numeric_limits<C>::epsilon();
}

// Computes the squared norms of a tile. There are four sums side by side, so that additions do not
// wait for each other.
template <class C> void add_norms(SeedTile<C> &tile, std::int64_t n_columns) {
    Lanes<C> a{}, b{}, c{}, d{};
    const C *from = tile.packed;
    for (std::int64_t column = 0; column + 1 < n_columns; column += 2) {
        const C *next = from + tile.stride;
        a += load(from) * load(from);
        b += load(from + n_lanes<C>) * load(from + n_lanes<C>);
        c += load(next) * load(next);
        d += load(next + n_lanes<C>) * load(next + n_lanes<C>);
        from = next + tile.stride;
    }
    if (n_columns % 2 == 1) {
        a += load(from) * load(from);
        b += load(from + n_lanes<C>) * load(from + n_lanes<C>);
    }
    tile.norms[0] = a + c;
    tile.norms[1] = b + d;
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// The two distances that seeding asks for: of all rows to the nearest center as centers are added,
// and of a few rows to candidates, with what each candidate would leave. Draws nothing.
//
// Both take |x|^2 + |c|^2 - 2 <x, c> for a tile of rows in lanes and `n_together` centers at a
// time, about the frame's origin. Where that difference has lost its digits and could be the
// smallest, it is computed again by differences: a row that equals a center is at distance zero,
// exactly.
#include <omp.h>

#include <limits>

#include "kernels.hpp"
#include "lanes.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

constexpr int n_together = 4;

// Below this share of |x|^2 + |c|^2 a distance by products is not trusted.
template <class C> constexpr C trusted = C{1} / 64;

// Rows whose terms are added in their own precision before they go to a sum in double precision.
constexpr std::int64_t stretch_tiles = 4;

// data[group][column][n_together], padded with centers that cannot be nearest.
template <class C> struct CenterGroups {
    std::int64_t n_groups;
    std::int64_t n_columns;
    Buffer<C> data;
    Buffer<C> norms;

    CenterGroups(Centers<C> centers, std::int64_t width, const Frame<C> *frame)
        : n_groups((centers.n_centers + n_together - 1) / n_together), n_columns(width),
          data(n_groups * width * n_together), norms(n_groups * n_together) {
        for (std::int64_t j = 0; j < n_groups * n_together; ++j) {
            const bool real = j < centers.n_centers;
            C norm = 0;
            C *to = data.data() + j / n_together * width * n_together + j % n_together;
            for (std::int64_t column = 0; column < width; ++column) {
                C value = real ? centers.data[j * width + column] : C{0};
                if (real && frame)
                    value = frame->scale * value - frame->scale * frame->origin[column];
                to[column * n_together] = value;
                norm += value * value;
            }
            norms[j] = real ? norm : std::numeric_limits<C>::infinity();
        }
    }
    const C *group(std::int64_t index) { return data.data() + index * n_columns * n_together; }
};

// Rows in lanes, `stride` numbers from one column to the next, and their squared norms.
template <class C> struct Tile {
    const C *packed;
    std::int64_t stride;
    Lanes<C> norms[2];
};

// Squared distances of a tile's rows to the centers of one group, and whether some must be
// computed again: those that may lie below `nearest` and are too small to be trusted.
template <class C> struct Gaps {
    Lanes<C> squared[n_together][2];
    bool doubtful;

    Gaps(const Tile<C> &tile, CenterGroups<C> &centers, std::int64_t group,
         const Lanes<C> (&nearest)[2], C rounding) {
        Lanes<C> product[n_together][2] = {};
        const C *values = centers.group(group);
        for (std::int64_t column = 0; column < centers.n_columns; ++column) {
            const Lanes<C> low = load(tile.packed + column * tile.stride);
            const Lanes<C> high = load(tile.packed + column * tile.stride + n_lanes<C>);
#pragma GCC unroll 4
            for (int j = 0; j < n_together; ++j) {
                const C value = values[column * n_together + j];
                product[j][0] += low * value;
                product[j][1] += high * value;
            }
        }
        auto doubts = nearest[0] != nearest[0];  // false everywhere
        for (int j = 0; j < n_together; ++j)
            for (int half = 0; half < 2; ++half) {
                const Lanes<C> norms = tile.norms[half] + centers.norms[group * n_together + j];
                const Lanes<C> gap = norms - 2 * product[j][half];
                squared[j][half] = gap > 0 ? gap : Lanes<C>{};
                doubts |= (gap < trusted<C> * norms) & (gap < nearest[half] + rounding * norms);
            }
        doubtful = false;
        for (int lane = 0; lane < n_lanes<C>; ++lane) doubtful |= doubts[lane] != 0;
    }

    // Computes what is too small by `difference(center, row of the tile)`.
    template <class Difference>
    void repair(const Tile<C> &tile, CenterGroups<C> &centers, std::int64_t group,
                Difference difference) {
        for (int j = 0; j < n_together; ++j)
            for (int row = 0; row < tile_rows<C>; ++row) {
                const int half = row / n_lanes<C>, lane = row % n_lanes<C>;
                const C norms = tile.norms[half][lane] + centers.norms[group * n_together + j];
                if (squared[j][half][lane] < trusted<C> * norms)
                    squared[j][half][lane] = difference(group * n_together + j, row);
            }
    }
};

template <class C> C rounding_of(std::int64_t n_columns) {
    return static_cast<C>(n_columns + 4) * std::numeric_limits<C>::epsilon();
}

// Four sums side by side: one after the other, their additions would wait for each other.
template <class C> void add_norms(Tile<C> &tile, std::int64_t n_columns) {
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

// The squared distance of a row to a center, both outside the frame, in its units.
template <class C, class T>
C difference_of(const Rows &rows, std::int64_t row, const C *center, C scale) {
    const T *values = rows.row<T>(row);
    C total = 0;
    for (std::int64_t column = 0; column < rows.n_columns; ++column) {
        const C gap = static_cast<C>(widen(values[column])) * scale - center[column] * scale;
        total += gap * gap;
    }
    return total;
}

template <class C> using Difference = C (*)(const Rows &, std::int64_t, const C *, C);

template <class C> Difference<C> difference_for(Element element) {
    Difference<C> chosen = nullptr;
    with_element(element, [&](auto zero) { chosen = &difference_of<C, decltype(zero)>; });
    return chosen;
}

template <class C> struct Lowering {
    const Rows &rows;
    PackTile<C> pack;
    Difference<C> difference;
    Frame<C> frame;
    Centers<C> given;
    CenterGroups<C> &centers;
    C *nearest;

    // Rows [first, first + n_rows), a tile at most; `packed` is scratch memory.
    void lower(std::int64_t first, std::int64_t n_rows, C *packed) const {
        constexpr int size = tile_rows<C>;
        pack(rows, first, n_rows, 0, rows.n_columns, packed);
        for (std::int64_t column = 0; column < rows.n_columns; ++column)
            for (int half = 0; half < 2; ++half) {
                C *lanes = packed + column * size + half * n_lanes<C>;
                store(lanes, load(lanes) * frame.scale - frame.origin[column] * frame.scale);
            }
        Tile<C> tile{packed, size, {}};
        add_norms(tile, rows.n_columns);
        C kept[size] = {};
        for (std::int64_t row = 0; row < n_rows; ++row) kept[row] = nearest[first + row];
        Lanes<C> least[2] = {load(kept), load(kept + n_lanes<C>)};
        for (std::int64_t group = 0; group < centers.n_groups; ++group) {
            Gaps<C> gaps(tile, centers, group, least, rounding_of<C>(rows.n_columns));
            if (gaps.doubtful)
                gaps.repair(tile, centers, group, [&](std::int64_t center, int row) {
                    return row < n_rows
                               ? difference(rows, first + row, given.data + center * rows.n_columns,
                                            frame.scale)
                               : C{0};
                });
            for (int j = 0; j < n_together; ++j)
                for (int half = 0; half < 2; ++half) {
                    const Lanes<C> gap = gaps.squared[j][half];
                    least[half] = gap < least[half] ? gap : least[half];
                }
        }
        store(kept, least[0]);
        store(kept + n_lanes<C>, least[1]);
        for (std::int64_t row = 0; row < n_rows; ++row) nearest[first + row] = kept[row];
    }
};

template <class C> struct Weighing {
    Tiles<C> tiles;
    CenterGroups<C> &centers;
    std::int64_t n_centers;
    const C *nearest;
    const C *shares;
    C *after;

    static constexpr std::int64_t per_tile = Tiles<C>::n_rows / tile_rows<C>;

    // Adds the terms of tile `index` to sums[center] in lanes.
    void weigh(std::int64_t index, Lanes<C> *sums) const {
        for (std::int64_t part = 0; part < per_tile; ++part) {
            Tile<C> tile{tiles.data + index * tiles.n_columns * Tiles<C>::n_rows +
                             part * tile_rows<C>,
                         Tiles<C>::n_rows,
                         {}};
            add_norms(tile, tiles.n_columns);
            const std::int64_t first = index * Tiles<C>::n_rows + part * tile_rows<C>;
            const Lanes<C> least[2] = {load(nearest + first), load(nearest + first + n_lanes<C>)};
            for (std::int64_t group = 0; group < centers.n_groups; ++group) {
                Gaps<C> gaps(tile, centers, group, least, rounding_of<C>(tiles.n_columns));
                if (gaps.doubtful) repair(gaps, tile, group);
                for (int j = 0; j < n_together && group * n_together + j < n_centers; ++j)
                    add(gaps.squared[j], least, first, group * n_together + j, sums);
            }
        }
    }

  private:
    void repair(Gaps<C> &gaps, const Tile<C> &tile, std::int64_t group) const {
        gaps.repair(tile, centers, group, [&](std::int64_t center, int row) {
            const C *values = centers.group(group) + center % n_together;
            C total = 0;
            for (std::int64_t column = 0; column < tiles.n_columns; ++column) {
                const C gap = tile.packed[column * tile.stride + row] - values[column * n_together];
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
void lower_distances(const Rows &rows, Frame<C> frame, Centers<C> centers, C *nearest,
                     int n_threads) {
    CenterGroups<C> groups(centers, rows.n_columns, &frame);
    const Lowering<C> lowering{rows,
                               pack_tile_for<C>(rows.element),
                               difference_for<C>(rows.element),
                               frame,
                               centers,
                               groups,
                               nearest};
    constexpr std::int64_t size = tile_rows<C>;
    const std::int64_t n_tiles = (rows.n_rows + size - 1) / size;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        Buffer<C> packed(rows.n_columns * size);
#pragma omp for schedule(dynamic, 32)
        for (std::int64_t tile = 0; tile < n_tiles; ++tile) {
            const std::int64_t left = rows.n_rows - tile * size;
            lowering.lower(tile * size, left < size ? left : size, packed.data());
        }
    }
}

template <class C>
void weigh_candidates(Tiles<C> tiles, Centers<C> centers, const C *nearest, const C *shares,
                      C *after, double *sums, int n_threads) {
    CenterGroups<C> groups(centers, tiles.n_columns, nullptr);
    const std::int64_t m = centers.n_centers;
    const Weighing<C> weighing{tiles, groups, m, nearest, shares, after};
    const std::int64_t n_stretches = (tiles.n_tiles + stretch_tiles - 1) / stretch_tiles;
    Buffer<double> parts(n_stretches * m);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        Buffer<Lanes<C>> lanes(m);
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

template void lower_distances<float>(const Rows &, Frame<float>, Centers<float>, float *, int);
template void lower_distances<double>(const Rows &, Frame<double>, Centers<double>, double *, int);
template void weigh_candidates<float>(Tiles<float>, Centers<float>, const float *, const float *,
                                      float *, double *, int);
template void weigh_candidates<double>(Tiles<double>, Centers<double>, const double *,
                                       const double *, double *, double *, int);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

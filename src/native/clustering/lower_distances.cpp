// Seeding: the squared distances of all rows to the nearest center, as centers are added.
#include "clustering/kernels.hpp"
#include "clustering/seed_tiles.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The squared distance of a row to a center by differences, in the frame's units. Both are given
// outside the frame.
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

// difference_of for an element type that is known only at run time.
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
    const SeedCenters<C> &centers;
    C *nearest;

    // Lowers the distances of rows [first, first + n_rows), at most a tile; `packed` is scratch
    // memory.
    void lower(std::int64_t first, std::int64_t n_rows, C *packed) const {
        constexpr int size = tile_rows<C>;
        pack(rows, first, n_rows, 0, rows.n_columns, packed);
        for (std::int64_t column = 0; column < rows.n_columns; ++column)
            for (int half = 0; half < 2; ++half) {
                C *lanes = packed + column * size + half * n_lanes<C>;
                store(lanes, load(lanes) * frame.scale - frame.origin[column] * frame.scale);
            }
        SeedTile<C> tile{packed, size, {}};
        add_norms(tile, rows.n_columns);
        C kept[size] = {};
        for (std::int64_t row = 0; row < n_rows; ++row) kept[row] = nearest[first + row];
        Lanes<C> least[2] = {load(kept), load(kept + n_lanes<C>)};
        for (std::int64_t group = 0; group < centers.n_groups; ++group) {
            SeedGaps<C> gaps(tile, centers, group, least, rounding_of<C>(rows.n_columns));
            if (gaps.doubtful)
                gaps.repair(tile, centers, group, [&](std::int64_t center, int row) {
                    return row < n_rows
                               ? difference(rows, first + row, given.data + center * rows.n_columns,
                                            frame.scale)
                               : C{0};
                });
            for (int j = 0; j < seeds_together; ++j)
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

}  // namespace

template <class C>
void lower_distances(const Rows &rows, Frame<C> frame, Centers<C> centers, C *nearest,
                     int n_threads) {
    const SeedCenters<C> groups(centers, rows.n_columns, &frame);
    const Lowering<C> lowering{rows,
                               pack_tile_for<C>(rows.element),
                               difference_for<C>(rows.element),
                               frame,
                               centers,
                               groups,
                               nearest};
    constexpr std::int64_t size = tile_rows<C>;
    const std::int64_t n_tiles = (rows.n_rows + size - 1) / size;
    PerThread<Buffer<C>> packed(n_threads, rows.n_columns * size);
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 32) if (n_threads > 1)
    for (std::int64_t tile = 0; tile < n_tiles; ++tile) {
        const std::int64_t left = rows.n_rows - tile * size;
        lowering.lower(tile * size, left < size ? left : size, packed.own().data());
    }
}

PK_INSTANTIATE(lower_distances);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

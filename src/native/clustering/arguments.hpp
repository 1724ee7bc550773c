// What kernels of clustering take besides rows, a frame and centers.
// The same for every instruction set; holds types and the constants that Python reads from _native.
#pragma once

#include "lanes/rows.hpp"

namespace projected_kmeans {

// Lower bounds that every row keeps: one for each group of centers.
constexpr int bounds_per_row = 16;

// Centers that a tile of rows meets at once in a search with bounds. The size of a group is padded
// to a multiple of it.
constexpr int centers_together = 4;

// The largest bound, in quanta: bounds are stored in 16 bits.
constexpr int max_quanta = 65535;

// Centers that 16 bits can number.
constexpr std::int64_t max_narrow_centers = 65536;

// Groups of centers: members[n_groups][size], padded with -1.
struct CenterGroups {
    const std::int32_t *members;
    std::int64_t n_groups;
    std::int64_t size;
};

// What is known of every row's distances from the pass before. Distances are counted in quanta.
struct Bounds {
    std::uint16_t *upper;               // in/out: [row], at least the distance to the row's center
    std::uint16_t *lower;               // in/out: [row][group], at most the distance to any other
                                        // center of the group
    const std::uint16_t *drifts;        // in: [center], at least how far it moved since that pass
    const std::uint16_t *group_drifts;  // in: [group], at least how far any of its centers moved
    double quantum;                     // in: quanta per unit of distance
};

// Rows in the frame's coordinates, 32 rows to a tile: data[tile][column][row].
template <class C> struct Tiles {
    static constexpr std::int64_t n_rows = 32;  // a multiple of every instruction set's tile
    const C *data;
    std::int64_t n_tiles;
    std::int64_t n_columns;
};

// A few centers for every row, by number: n_rows x n_candidates.
struct Candidates {
    void *data;
    bool wide;  // true if numbers are int32, false if they are uint16
    std::int64_t n_candidates;

    PK_LOCAL std::int32_t get(std::int64_t row, std::int64_t slot) const {
        const std::int64_t place = row * n_candidates + slot;
        return wide ? static_cast<const std::int32_t *>(data)[place]
                    : static_cast<const std::uint16_t *>(data)[place];
    }
    PK_LOCAL void set(std::int64_t row, std::int64_t slot, std::int32_t center) const {
        const std::int64_t place = row * n_candidates + slot;
        if (wide)
            static_cast<std::int32_t *>(data)[place] = center;
        else
            static_cast<std::uint16_t *>(data)[place] = static_cast<std::uint16_t>(center);
    }
};

// Centers that rows of the same group share: those of group g are members[starts[g]], ...,
// members[starts[g + 1] - 1].
struct CenterLists {
    const std::int64_t *starts;
    const std::int32_t *members;
    std::int64_t n_groups;
};

// Coordinates of rows and centers along a few directions. The distance of a row to a center is at
// least their distance here, less the row's error.
template <class C> struct Sketch {
    const C *rows, *errors;    // [row][column], [row]
    const C *centers;          // [center][column]
    const C *middles, *radii;  // [group][column], [group]: all centers of a group lie in this ball
    std::int64_t n_columns;
};

// Rows of a block by cell: those of cell c are order[starts[c]], ..., order[starts[c + 1] - 1].
struct CellRows {
    const std::int64_t *starts;
    const std::int64_t *order;
    std::int64_t n_cells;
};

// Cuts of a clustering matrix, three rows each: i, j, l of a triangle; i, j and -1 of a pair.
struct Cuts {
    const std::int32_t *rows;
    std::int64_t n_cuts;
};

// A symmetric matrix with all its n x n entries.
struct SquareMatrix {
    float *data;
    std::int64_t n;
};
struct ConstSquareMatrix {
    const float *data;
    std::int64_t n;
};

// The number of sums that the products of a dot product go to. Each has few terms, so that their
// rounding stays small.
constexpr int dot_span = 512;

// Two arrays of rows for dot products. Columns that are not stored hold zeros only.
struct DotShape {
    std::int64_t n_rows;
    std::int64_t n_columns;
    std::int64_t n_stored;        // columns of the arrays
    const std::int64_t *columns;  // the number of each stored column, ascending; null if all are
};

// The place of an entry in a block; -1 and -1 where there is none.
struct Position {
    std::int64_t row;
    std::int64_t column;
};

// The grids on which sums over rows are exact, and so do not depend on the order of rows. Every
// term is rounded to a multiple of a coarse spacing; the rest is rounded to a multiple of a fine
// spacing. Sums of such multiples have no rounding error in double precision.
//
// The spacings of squares are chosen for the sum of one row. Sums over rows of squares have three
// parts: multiples of a top spacing, of a middle spacing and of the fine spacing. After each row,
// what a part has too much is carried to the part above it.
struct MomentGrid {
    // For each cluster n_columns + 2 values: 1.5 * 2^52 * coarse spacing of each column, of
    // weights, of squares. For sparse rows, a column that every row of the cluster names has a
    // negative value (which rounds the same way), because the column has no zeros to account for.
    const double *magic;
    std::int64_t stride;   // between the values of two clusters; 0 if all have the same
    double fine_ratio;     // fine spacing / coarse spacing, for columns and weights
    double squares_ratio;  // the same for squares
    double middle_ratio;   // middle spacing / coarse spacing, for squares
    double top_ratio;      // top spacing / coarse spacing, for squares

    // The values of a cluster.
    PK_LOCAL const double *magic_of(std::int64_t cluster) const { return magic + cluster * stride; }
};

// What rows that are moved between clusters to mend their sizes begin and end with. Clusters have
// wanted sizes between a minimum and a maximum. Nodes are the clusters and one more, the hub.
struct SizeState {
    const double *reaches;  // how far a price may rise above the others
    std::int64_t minimum;
    std::int64_t maximum;
    std::int32_t *labels;  // of the rows that take part
    double *prices;
    std::int64_t *wanted;
    std::int64_t *excess;  // rows above the wanted size, of every node
};

}  // namespace projected_kmeans

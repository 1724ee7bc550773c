// What a kernel takes and gives, independent of the instruction set that it is compiled for.
// Holds declarations only.
#pragma once

#include <cstdint>

// Functions outside an instruction set's namespace that its files use: inlined everywhere, so that
// no copy compiled for one instruction set can be linked into another.
#define PK_LOCAL [[gnu::always_inline]] inline

namespace projected_kmeans {

enum class Element { float32, float64, float16, uint8, int8, uint16, int16 };

// IEEE half precision as stored; lanes.hpp widens it.
struct Half {
    std::uint16_t bits;
};

// A block of rows as it lies in memory: unit stride inside a row, any stride between rows.
struct Rows {
    const void *data;
    Element element;
    std::int64_t n_rows;
    std::int64_t n_columns;
    std::int64_t stride;  // elements from one row to the next

    template <class T> PK_LOCAL const T *row(std::int64_t index) const {
        return static_cast<const T *>(data) + index * stride;
    }
};

// Rows in compressed sparse row form, indices ascending inside a row.
template <class C> struct SparseRows {
    const C *values;
    const void *indices;  // of the nonzeros' columns
    const void *starts;   // n_rows + 1
    bool wide;            // whether indices and starts are int64, else int32
    std::int64_t n_rows;
    std::int64_t n_columns;

    PK_LOCAL std::int64_t start(std::int64_t row) const {
        return wide ? static_cast<const std::int64_t *>(starts)[row]
                    : static_cast<const std::int32_t *>(starts)[row];
    }
    PK_LOCAL std::int64_t index(std::int64_t nonzero) const {
        return wide ? static_cast<const std::int64_t *>(indices)[nonzero]
                    : static_cast<const std::int32_t *>(indices)[nonzero];
    }
    // Calls `action` with the indices in their own type.
    template <class Action> PK_LOCAL void with_indices(Action action) const {
        if (wide)
            action(static_cast<const std::int64_t *>(indices));
        else
            action(static_cast<const std::int32_t *>(indices));
    }
};

// What a product needs to know of a random map.
struct Map {
    std::uint64_t key;
    double scale;
    std::int64_t n_components;
    int n_nonzeros;                 // in a row of R, for sparse signs
    const std::int64_t *positions;  // of the transform's entries that are kept, for Hadamard
};

template <class C> using Product = void (*)(const Rows &, Map, C *out, int n_threads);
template <class C>
using SparseProduct = void (*)(const SparseRows<C> &, Map, C *out, int n_threads);

// Where a kernel subtracts `origin` and multiplies by `scale` before it computes in type C.
template <class C> struct Frame {
    const C *origin;  // one value a column
    C scale;
};

template <class C> struct Centers {
    const C *data;  // n_centers x n_columns in the frame's coordinates, C-contiguous
    std::int64_t n_centers;
};

// Groups of centers: members[n_groups][size], padded with -1.
struct CenterGroups {
    const std::int32_t *members;
    std::int64_t n_groups;
    std::int64_t size;
};

// What is known of every row's distances, in quanta, from the pass before.
constexpr int bounds_a_row = 16;
struct Bounds {
    std::uint16_t *upper;               // at least the distance to the row's center
    std::uint16_t *lower;               // for each group, at most that to its other centers
    const std::uint16_t *drifts;        // at least what each center has moved since
    const std::uint16_t *group_drifts;  // at least what any center of each group has
    double quantum;                     // quanta in a unit of distance
};

// Rows in the frame's coordinates, 32 to a tile, a tile's rows side by side: [tile][column][row].
template <class C> struct Tiles {
    static constexpr std::int64_t n_rows = 32;  // a multiple of every instruction set's tile
    const C *data;
    std::int64_t n_tiles;
    std::int64_t n_columns;
};

// A few centers of every row, by their indices: n_rows x n_candidates.
struct Candidates {
    void *data;
    bool wide;  // whether indices are int32, else uint16
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

struct Position {
    std::int64_t row;
    std::int64_t column;
};

// The grids that make sums over rows exact, hence independent of their order: every term is
// rounded to a multiple of its column's coarse spacing, and what is left to a multiple of the fine.
struct MomentGrid {
    const double *magic;   // 1.5 * 2^52 * coarse spacing: a column each, then weight, then squares
    double fine_ratio;     // fine spacing / coarse spacing, for columns and weight
    double squares_ratio;  // the same for squares, of which every row brings one a column

    // Of sparse rows, a column that every row names has a negative magic number, which rounds
    // alike: zero may be out of its range, and does not occur.
};

template <class C> struct KernelsOf {
    Product<C> sign_product, sparse_sign_product, hadamard_product;
    SparseProduct<C> sign_product_sparse, sparse_sign_product_sparse, hadamard_product_sparse;
    Product<C> on_the_fly_product, mailman_product;
    // Labels in and out; squared distances to the nearest center and the next, in frame units.
    void (*nearest_center)(const Rows &, Frame<C>, Centers<C>, Centers<double> exact,
                           bool keep_ties, std::int32_t *labels, C *nearest, C *second,
                           int n_threads);
    // The same labels; returns how many distances were computed.
    std::int64_t (*bounded_assignment)(const Rows &, Frame<C>, Centers<C>, Centers<double> exact,
                                       CenterGroups, Bounds, bool keep_ties, std::int32_t *labels,
                                       int n_threads);
    void (*squared_distances)(const Rows &, Frame<C>, Centers<C>, C *out, int n_threads);
    // out[row][direction]: products of rows in the frame with directions.
    void (*direction_product)(const Rows &, Frame<C>, Centers<C>, C *out, int n_threads);
    // Here centers are given outside the frame; nearest[row] <- least of it and their distances.
    void (*lower_distances)(const Rows &, Frame<C>, Centers<C>, C *nearest, int n_threads);
    // after[center][row] <- least of nearest[row] and the distance; sums[center] of after * shares.
    void (*weigh_candidates)(Tiles<C>, Centers<C>, const C *nearest, const C *shares, C *after,
                             double *sums, int n_threads);
    // Labels, centers and mass in and out; returns how many rows moved.
    std::int64_t (*move_points)(const Rows &, const double *weights, Frame<C>, std::int32_t *labels,
                                double *centers, double *mass, std::int64_t n_centers,
                                int n_threads);
    // The nearest centers of every row, its own among them.
    void (*candidate_centers)(const Rows &, Frame<C>, Centers<C>, const std::int32_t *labels,
                              Candidates out, int n_threads);
    // Labels in and out: the nearest of each row's candidates, its own where they tie.
    void (*nearest_candidate)(const Rows &, Frame<C>, Centers<C>, Centers<double> exact, Candidates,
                              std::int32_t *labels, int n_threads);
    // The same for sparse rows, with the same labels.
    void (*nearest_center_sparse)(const SparseRows<C> &, Frame<C>, Centers<C>,
                                  Centers<double> exact, bool keep_ties, std::int32_t *labels,
                                  C *nearest, C *second, int n_threads);
    void (*squared_distances_sparse)(const SparseRows<C> &, Frame<C>, Centers<C>, C *out,
                                     int n_threads);
    void (*nearest_candidate_sparse)(const SparseRows<C> &, Frame<C>, Centers<C>,
                                     Centers<double> exact, Candidates, std::int32_t *labels,
                                     int n_threads);
    Position (*scan_columns_sparse)(const SparseRows<C> &, double *minimum, double *maximum,
                                    double *norm, int n_threads);
    // Adds what a row brings beyond a row of zeros; the caller adds zeros, mass by mass.
    void (*cluster_moments_sparse)(const SparseRows<C> &, const std::int32_t *labels,
                                   const std::int32_t *before, const double *weights,
                                   Centers<double>, MomentGrid, double *offsets, double *totals,
                                   int n_threads);
    void (*own_distances_sparse)(const SparseRows<C> &, const std::int32_t *labels, Centers<double>,
                                 double scale, double *out, int n_threads);
    // out[row] = the row times a table (n_columns x width), and its transpose:
    // out[column] += the sum over rows of entry * table[row], threads sharing out the columns.
    void (*table_product)(const SparseRows<C> &, const C *table, std::int64_t width, C *out,
                          int n_threads);
    void (*transposed_product)(const SparseRows<C> &, const double *table, std::int64_t width,
                               double *out, int n_threads);
};

struct Kernels {
    const char *instruction_set;
    // Widens the ranges of all columns, and the largest squared norm of a row.
    Position (*scan_columns)(const Rows &, double *minimum, double *maximum, double *norm,
                             int n_threads);
    // Adds to offsets[2][center][column] and totals[2][center][weight, squares], coarse then fine;
    // with `before`, only what rows whose label changed since bring and take away.
    void (*cluster_moments)(const Rows &, const std::int32_t *labels, const std::int32_t *before,
                            const double *weights, Centers<double>, MomentGrid, double *offsets,
                            double *totals, int n_threads);
    // Squared distances of rows to their centers, the same bits on every machine.
    void (*own_distances)(const Rows &, const std::int32_t *labels, Centers<double>, double scale,
                          double *out, int n_threads);
    KernelsOf<float> single;
    KernelsOf<double> wide;
};

// The kernels of the best instruction set that this machine runs; nullptr where `name` is unknown
// or not to be run here. An empty name asks for the best.
const Kernels *choose_kernels(const char *name);

}  // namespace projected_kmeans

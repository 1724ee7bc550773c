// What a kernel takes and gives, independent of the instruction set that it is compiled for.
// Holds declarations only.
#pragma once

#include <cstdint>

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

    template <class T> const T *row(std::int64_t index) const {
        return static_cast<const T *>(data) + index * stride;
    }
};

// Where a kernel subtracts `origin` and multiplies by `scale` before it computes in type C.
template <class C> struct Frame {
    const C *origin;  // one value a column
    C scale;
};

template <class C> struct Centers {
    const C *data;  // n_centers x n_columns in the frame's coordinates, C-contiguous
    std::int64_t n_centers;
};

struct Position {
    std::int64_t row;
    std::int64_t column;
};

// The grids that make sums over rows exact, hence independent of their order: every term is
// rounded to a multiple of its column's coarse spacing, and what is left to a multiple of the fine.
struct MomentGrid {
    const double *magic;  // 1.5 * 2^52 * coarse spacing: a column each, then weight, then squares
    double fine_ratio;    // fine spacing / coarse spacing
};

template <class C> struct KernelsOf {
    void (*sign_product)(const Rows &, std::uint64_t key, double scale, C *out,
                         std::int64_t n_components, int n_threads);
    void (*nearest_center)(const Rows &, Frame<C>, Centers<C>, std::int32_t *labels, bool keep_ties,
                           C *distances, int n_threads);
    void (*squared_distances)(const Rows &, Frame<C>, Centers<C>, C *out, int n_threads);
};

struct Kernels {
    const char *instruction_set;
    Position (*scan_columns)(const Rows &, double *minimum, double *maximum, int n_threads);
    // Adds to offsets[2][center][column] and totals[2][center][weight, squares], coarse then fine.
    void (*cluster_moments)(const Rows &, const std::int32_t *labels, const double *weights,
                            Centers<double>, MomentGrid, double *offsets, double *totals,
                            int n_threads);
    std::int64_t (*move_points)(const Rows &, const double *weights, std::int32_t *labels,
                                double *centers, double *mass, std::int64_t n_centers);
    KernelsOf<float> single;
    KernelsOf<double> wide;
};

// The kernels of the best instruction set that this machine runs; nullptr where `name` is unknown
// or not to be run here. An empty name asks for the best.
const Kernels *choose_kernels(const char *name);

}  // namespace projected_kmeans

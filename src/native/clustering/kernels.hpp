// The kernels of clustering/: every signature is declared here, and only here. Definitions are in
// the .cpp files of this folder. There is no include guard, because bindings/compiled_kernels.hpp
// includes this file once for each instruction set.
//
// Inputs come first and are const; outputs come last, before the number of threads. An array that
// is read and then overwritten is marked "in/out". All arrays are C-contiguous. C is the type that
// is computed in: float or double. Centers are in the frame's coordinates unless said otherwise;
// `exact` holds the same centers outside the frame, in double precision.
#include "clustering/arguments.hpp"
#include "lanes/rows.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// labels (in/out) <- the nearest center of every row. Of equally near centers it is the row's
// present one if `keep_ties`, else the lowest. nearest and second <- the squared distances to the
// nearest center and the next one, in frame units. Sparse rows get the labels of dense rows; their
// kernel moves the exact centers into the frame itself and does not read `centers`.
template <class C>
void nearest_center(const Rows &rows, Frame<C> frame, Centers<C> centers, Centers<double> exact,
                    bool keep_ties, std::int32_t *labels, C *nearest, C *second, int n_threads);
template <class C>
void nearest_center_sparse(const SparseRows<C> &rows, Frame<C> frame, Centers<C> centers,
                           Centers<double> exact, bool keep_ties, std::int32_t *labels, C *nearest,
                           C *second, int n_threads);

// The labels of nearest_center; bounds from the pass before save most distances. Returns how many
// distances were computed. `bounds` and `labels` are in/out.
template <class C>
std::int64_t bounded_assignment(const Rows &rows, Frame<C> frame, Centers<C> centers,
                                Centers<double> exact, CenterGroups groups, Bounds bounds,
                                bool keep_ties, std::int32_t *labels, int n_threads);

// out[center][row] <- squared distances in frame units.
template <class C>
void squared_distances(const Rows &rows, Frame<C> frame, Centers<C> centers, C *out, int n_threads);
template <class C>
void squared_distances_sparse(const SparseRows<C> &rows, Frame<C> frame, Centers<C> centers, C *out,
                              int n_threads);

// out[row] <- the squared distance of a row to the center that its label names, in units of
// 1 / scale^2. Centers are outside the frame. The same bits on every machine.
void own_distances(const Rows &rows, const std::int32_t *labels, Centers<double> centers,
                   double scale, double *out, int n_threads);
template <class C>
void own_distances_sparse(const SparseRows<C> &rows, const std::int32_t *labels,
                          Centers<double> centers, double scale, double *out, int n_threads);

// labels (in/out) <- the nearest of each sparse row's candidates, the present one among equally
// near ones.
template <class C>
void nearest_candidate_sparse(const SparseRows<C> &rows, Frame<C> frame, Centers<C> centers,
                              Centers<double> exact, Candidates candidates, std::int32_t *labels,
                              int n_threads);

// labels (in/out) <- the nearest of the centers that a row's group lists; among equally near ones
// the present one, or else the lowest. `groups` may be null: a row's group is then its present
// label. With groups, a label may be -1 for no present center, and nothing is written for rows of
// the group -1. nearest and second <- the squared distances to the nearest of the listed centers
// and the next one, in frame units. No list is empty, and no center is listed twice in one.
template <class C>
void nearest_listed(const Rows &rows, Frame<C> frame, Centers<C> centers, Centers<double> exact,
                    const std::int32_t *groups, CenterLists lists, std::int32_t *labels, C *nearest,
                    C *second, int n_threads);

// labels (in/out) <- the nearest of all centers, of equally near ones the lowest. Most centers are
// ruled out because they are farther in the sketch than a first center of the row: the one that its
// label names or, for the label -1, the best in the sketch of those that its group lists. Every
// center is in one list. counts[row] <- how many centers the sketch did not rule out. If they are
// more than `most`, the label is that of the first center.
template <class C>
void nearest_by_sketch(const Rows &rows, Frame<C> frame, Centers<C> centers, Centers<double> exact,
                       Sketch<C> sketch, const std::int32_t *groups, CenterLists lists,
                       std::int64_t most, std::int32_t *labels, std::int32_t *counts,
                       int n_threads);

// out[center] <- the center itself and then its nearest ones among those that its group lists,
// ascending by distance, `n_neighbours` in all. Of equally near ones the lower center comes first.
template <class C>
void center_neighbours(Centers<C> centers, std::int64_t n_columns, const std::int32_t *groups,
                       CenterLists lists, std::int64_t n_neighbours, std::int32_t *out,
                       int n_threads);

// Greedy k-means++ inside every cell. Choosing a center takes 1 / potential of its cell's time, and
// the earliest centers of all cells win, until there are at least `n_centers` of them or no rows
// are left that could become one. Rows have elements of type C. counts[cell] <- how many centers a
// cell has; from starts[cell] on, chosen <- their rows, and times <- when they were placed,
// ascending. Returns the sum of counts. `weights` may be null; distances are measured after
// multiplication by `scale`; seeds[cell] fixes the draws of a cell.
template <class C>
std::int64_t race_centers(const Rows &rows, const double *weights, double scale, CellRows cells,
                          const std::uint64_t *seeds, std::int64_t n_centers, std::int64_t *counts,
                          std::int64_t *chosen, double *times, int n_threads);

// 2-means inside every cluster. Its first two centers are a row, drawn by weighted squared distance
// to the mean of the cluster, and the mirror image of the row. halves[row] <- 2 j or 2 j + 1 in
// cluster j, by the last pass; centers (2 for every cluster) <- the means of the halves after that,
// or where a half without rows was; gains[cluster] <- what two means gain beyond one, 0 if a half
// has no rows. Rows have elements of type C; `weights` may be null; distances are measured after
// multiplication by `scale`; `seed` fixes the draws.
template <class C>
void halve_clusters(const Rows &rows, const double *weights, double scale,
                    const std::int32_t *labels, Centers<double> means, std::uint64_t seed,
                    std::int64_t n_passes, std::int32_t *halves, double *centers, double *gains,
                    int n_threads);

// Lloyd's method from the given centers, until a pass changes no label or lowers the inertia by
// less than the share `tol`. Then centers are swapped for rows, as long as that lowers the inertia
// within a few passes; the search ends when `patience` tries in a row have failed, or after
// `max_iter` passes. centers (in/out) <- the best that were found; labels <- their nearest ones,
// the lowest of equally near ones. Returns the inertia of these labels about these centers. `seed`
// fixes the draws; `weights` may be null. One thread, because it is meant for few rows.
double search_few_rows(const double *rows, std::int64_t n_rows, std::int64_t n_columns,
                       const double *weights, std::uint64_t seed, std::int64_t patience,
                       std::int64_t max_iter, double tol, std::int64_t n_centers,
                       std::int32_t *labels, double *centers);

// nearest[row] (in/out) <- the minimum of itself and the squared distances to the centers, in frame
// units. Centers are outside the frame.
template <class C>
void lower_distances(const Rows &rows, Frame<C> frame, Centers<C> centers, C *nearest,
                     int n_threads);

// labels and seconds <- the cluster with the lowest sum of distance and price for every row, and
// the one after it; of equal ones the lower comes first. least and next <- these two sums.
// distances have n_rows * n_clusters entries, row by row. With one cluster, seconds are 0 and next
// infinity.
template <class C>
void priced_clusters(const C *distances, const C *prices, std::int64_t n_rows,
                     std::int64_t n_clusters, std::int32_t *labels, std::int32_t *seconds, C *least,
                     C *next, int n_threads);

// Moves rows along shortest paths from clusters with too many to clusters with too few, until no
// node of the state has an excess or a price would rise too far. labels, prices, wanted and excess
// of the state are in/out. distances have n_rows * n_clusters entries, row by row.
template <class C>
void repair_sizes(const C *distances, std::int64_t n_rows, std::int64_t n_clusters,
                  SizeState state);

// after[center][row] <- the minimum of nearest[row] and the squared distance to the center.
// sums[center] <- the sum over rows of after * shares.
template <class C>
void weigh_candidates(Tiles<C> tiles, Centers<C> centers, const C *nearest, const C *shares,
                      C *after, double *sums, int n_threads);

// out[row] <- the dot product of row `row` of both arrays.
void dot_rows(const double *left, const double *right, DotShape shape, double *out);

// minimum and maximum (in/out, one value for each column) are widened to hold all rows; *norm
// (in/out) is raised to the largest squared norm of a row. Returns the first entry that is NaN or
// infinite.
Position scan_columns(const Rows &rows, double *minimum, double *maximum, double *norm,
                      int n_threads);
template <class C>
Position scan_columns_sparse(const SparseRows<C> &rows, double *minimum, double *maximum,
                             double *norm, int n_threads);

// Adds every row to the sums of its cluster, about the cluster's center: offsets[2][center][column]
// on the coarse and the fine grid, and totals[3][center][weight, squares] (both in/out). With
// `before` (may be null), only rows whose label changed are added, and taken away from the sums of
// the cluster that they left. `weights` may be null: every row then weighs 1.
void cluster_moments(const Rows &rows, const std::int32_t *labels, const std::int32_t *before,
                     const double *weights, Centers<double> centers, MomentGrid grid,
                     double *offsets, double *totals, int n_threads);

// The same for sparse rows, but each row adds only what it brings beyond a row of zeros. The caller
// adds the zeros: their term times the mass of the cluster.
template <class C>
void cluster_moments_sparse(const SparseRows<C> &rows, const std::int32_t *labels,
                            const std::int32_t *before, const double *weights,
                            Centers<double> centers, MomentGrid grid, double *offsets,
                            double *totals, int n_threads);

// One pass of single-row moves. labels, centers (outside the frame) and mass are in/out. Returns
// how many rows moved. `weights` may be null.
template <class C>
std::int64_t move_points(const Rows &rows, const double *weights, Frame<C> frame,
                         std::int32_t *labels, double *centers, double *mass,
                         std::int64_t n_centers, int n_threads);

// One sweep of Hildreth's method over cuts, one after another, with Z = `matrix` and t = `values`
// (both in/out). U is Z with the entry (a, b) multiplied by scales[a] * scales[b], or Z itself if
// `scales` is null. A pair cut asks for U_ij <= U_ii, a triangle cut for U_ij + U_il <= U_ii +
// U_jl. If Z breaks a cut, or t > 0, Z is moved until the cut is met as an equality or t is 0,
// whichever comes first; t says how far. Only entries above the diagonal are read, and both are
// written.
void sweep_cuts(Cuts cuts, const double *scales, SquareMatrix matrix, float *values);

// For every row i the `most` triangle cuts that Z breaks most: violations[i] <- Z_ij + Z_il - Z_ii
// - Z_jl, above `floor`, descending, with j < l; others[i] <- j and l; counts[i] <- how many there
// are. Of equal violations the lower (j, l) comes first.
void violated_triangles(ConstSquareMatrix matrix, float floor, std::int64_t most,
                        std::int32_t *others, float *violations, std::int32_t *counts,
                        int n_threads);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

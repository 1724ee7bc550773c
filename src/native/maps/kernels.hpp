// The kernels of maps/: every signature is declared here, and only here. Definitions are in the
// .cpp files of this folder. There is no include guard, because bindings/compiled_kernels.hpp
// includes this file once for each instruction set.
//
// Inputs come first and are const; outputs come last, before the number of threads. All arrays are
// C-contiguous. C is the type that is computed in: float or double.
#include "lanes/rows.hpp"
#include "maps/map.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Products of dense rows with a random map: out[row][component].
template <class C> void sign_product(const Rows &rows, Map map, C *out, int n_threads);
template <class C> void sparse_sign_product(const Rows &rows, Map map, C *out, int n_threads);
template <class C> void hadamard_product(const Rows &rows, Map map, C *out, int n_threads);

// The sign product by two other methods, for section 5.2 of the paper.
template <class C> void on_the_fly_product(const Rows &rows, Map map, C *out, int n_threads);
template <class C> void mailman_product(const Rows &rows, Map map, C *out, int n_threads);

// The same maps of sparse rows. Both sign products have the bits of the same rows given dense.
template <class C>
void sign_product_sparse(const SparseRows<C> &rows, Map map, C *out, int n_threads);
template <class C>
void sparse_sign_product_sparse(const SparseRows<C> &rows, Map map, C *out, int n_threads);
template <class C>
void hadamard_product_sparse(const SparseRows<C> &rows, Map map, C *out, int n_threads);

// The sparse sign product with one nonzero in each row of R, as sparse rows: the columns that a row
// names and their values, with room for all nonzeros, and starts[n_rows + 1]. The values have the
// bits of the dense product; a sum may be 0.
template <class C>
void hash_columns(const SparseRows<C> &rows, Map map, C *values, std::int32_t *columns,
                  std::int64_t *starts, int n_threads);

// out[row][direction]: products of rows in the frame with given directions.
template <class C>
void direction_product(const Rows &rows, Frame<C> frame, Centers<C> directions, C *out,
                       int n_threads);

// out[row][j]: sparse rows times a table of n_columns x width numbers.
template <class C>
void table_product(const SparseRows<C> &rows, const C *table, std::int64_t width, C *out,
                   int n_threads);

// out[column][j] += the sum over rows of entry * table[row][j]; the table is n_rows x width.
template <class C>
void transposed_product(const SparseRows<C> &rows, const double *table, std::int64_t width,
                        double *out, int n_threads);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

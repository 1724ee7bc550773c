// The kernels as compiled for one instruction set, by name. Holds no code of its own.
#include "kernels.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

template <class C> void sign_product(const Rows &, Map, C *, int);
template <class C> void sparse_sign_product(const Rows &, Map, C *, int);
template <class C> void hadamard_product(const Rows &, Map, C *, int);
template <class C> void sign_product_sparse(const SparseRows<C> &, Map, C *, int);
template <class C> void sparse_sign_product_sparse(const SparseRows<C> &, Map, C *, int);
template <class C> void hadamard_product_sparse(const SparseRows<C> &, Map, C *, int);
template <class C> void on_the_fly_product(const Rows &, Map, C *, int);
template <class C> void mailman_product(const Rows &, Map, C *, int);
template <class C>
void nearest_center(const Rows &, Frame<C>, Centers<C>, Centers<double>, bool, std::int32_t *, C *,
                    C *, int);
template <class C>
std::int64_t bounded_assignment(const Rows &, Frame<C>, Centers<C>, Centers<double>, CenterGroups,
                                Bounds, bool, std::int32_t *, int);
template <class C> void squared_distances(const Rows &, Frame<C>, Centers<C>, C *, int);
template <class C> void direction_product(const Rows &, Frame<C>, Centers<C>, C *, int);
template <class C> void lower_distances(const Rows &, Frame<C>, Centers<C>, C *, int);
template <class C>
void weigh_candidates(Tiles<C>, Centers<C>, const C *, const C *, C *, double *, int);
template <class C>
void candidate_centers(const Rows &, Frame<C>, Centers<C>, const std::int32_t *, Candidates, int);
template <class C>
void nearest_candidate(const Rows &, Frame<C>, Centers<C>, Centers<double>, Candidates,
                       std::int32_t *, int);
template <class C>
std::int64_t move_points(const Rows &, const double *, Frame<C>, std::int32_t *, double *, double *,
                         std::int64_t, int);
Position scan_columns(const Rows &, double *, double *, double *, int);
void cluster_moments(const Rows &, const std::int32_t *, const std::int32_t *, const double *,
                     Centers<double>, MomentGrid, double *, double *, int);
void own_distances(const Rows &, const std::int32_t *, Centers<double>, double, double *, int);
template <class C>
void nearest_center(const SparseRows<C> &, Frame<C>, Centers<C>, Centers<double>, bool,
                    std::int32_t *, C *, C *, int);
template <class C> void squared_distances(const SparseRows<C> &, Frame<C>, Centers<C>, C *, int);
template <class C>
void nearest_candidate(const SparseRows<C> &, Frame<C>, Centers<C>, Centers<double>, Candidates,
                       std::int32_t *, int);
template <class C> Position scan_columns(const SparseRows<C> &, double *, double *, double *, int);
template <class C>
void cluster_moments(const SparseRows<C> &, const std::int32_t *, const std::int32_t *,
                     const double *, Centers<double>, MomentGrid, double *, double *, int);
template <class C>
void own_distances(const SparseRows<C> &, const std::int32_t *, Centers<double>, double, double *,
                   int);
template <class C> void table_product(const SparseRows<C> &, const C *, std::int64_t, C *, int);
template <class C>
void transposed_product(const SparseRows<C> &, const double *, std::int64_t, double *, int);

#define PK_STRING(name) #name
#define PK_NAME(name) PK_STRING(name)

template <class C>
constexpr KernelsOf<C> kernels_of = {
    .sign_product = sign_product<C>,
    .sparse_sign_product = sparse_sign_product<C>,
    .hadamard_product = hadamard_product<C>,
    .sign_product_sparse = sign_product_sparse<C>,
    .sparse_sign_product_sparse = sparse_sign_product_sparse<C>,
    .hadamard_product_sparse = hadamard_product_sparse<C>,
    .on_the_fly_product = on_the_fly_product<C>,
    .mailman_product = mailman_product<C>,
    .nearest_center = nearest_center<C>,
    .bounded_assignment = bounded_assignment<C>,
    .squared_distances = squared_distances<C>,
    .direction_product = direction_product<C>,
    .lower_distances = lower_distances<C>,
    .weigh_candidates = weigh_candidates<C>,
    .move_points = move_points<C>,
    .candidate_centers = candidate_centers<C>,
    .nearest_candidate = nearest_candidate<C>,
    .nearest_center_sparse = nearest_center<C>,
    .squared_distances_sparse = squared_distances<C>,
    .nearest_candidate_sparse = nearest_candidate<C>,
    .scan_columns_sparse = scan_columns<C>,
    .cluster_moments_sparse = cluster_moments<C>,
    .own_distances_sparse = own_distances<C>,
    .table_product = table_product<C>,
    .transposed_product = transposed_product<C>,
};

extern const Kernels kernels;
const Kernels kernels = {
    .instruction_set = PK_NAME(PK_INSTRUCTION_SET),
    .scan_columns = scan_columns,
    .cluster_moments = cluster_moments,
    .own_distances = own_distances,
    .single = kernels_of<float>,
    .wide = kernels_of<double>,
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

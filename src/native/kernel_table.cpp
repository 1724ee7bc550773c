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
void nearest_candidate(const Rows &, Frame<C>, Centers<C>, Candidates, std::int32_t *, int);
template <class C>
std::int64_t move_points(const Rows &, const double *, Frame<C>, std::int32_t *, double *, double *,
                         std::int64_t, int);
Position scan_columns(const Rows &, double *, double *, int);
void cluster_moments(const Rows &, const std::int32_t *, const std::int32_t *, const double *,
                     Centers<double>, MomentGrid, double *, double *, int);
void own_distances(const Rows &, const std::int32_t *, Centers<double>, double, double *, int);

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

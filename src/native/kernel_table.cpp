// The kernels as compiled for one instruction set, by name. Holds no code of its own.
#include "kernels.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

template <class C> void sign_product(const Rows &, std::uint64_t, double, C *, std::int64_t, int);
template <class C>
void nearest_center(const Rows &, Frame<C>, Centers<C>, std::int32_t *, bool, C *, int);
template <class C> void squared_distances(const Rows &, Frame<C>, Centers<C>, C *, int);
Position scan_columns(const Rows &, double *, double *, int);
void cluster_moments(const Rows &, const std::int32_t *, const double *, Centers<double>,
                     MomentGrid, double *, double *, int);
std::int64_t move_points(const Rows &, const double *, std::int32_t *, double *, double *,
                         std::int64_t);

#define PK_STRING(name) #name
#define PK_NAME(name) PK_STRING(name)

extern const Kernels kernels;
const Kernels kernels = {
    PK_NAME(PK_INSTRUCTION_SET),
    scan_columns,
    cluster_moments,
    move_points,
    {sign_product<float>, nearest_center<float>, squared_distances<float>},
    {sign_product<double>, nearest_center<double>, squared_distances<double>},
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

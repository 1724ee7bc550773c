// The distance that decides: double precision, one order of operations on every machine.
// Kernels in fewer digits or another order use it where their rounding could change an answer.
#pragma once

#include <cmath>
#include <limits>

#include "kernels.hpp"
#include "lanes.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// The squared distance of a row to a center by differences, in units of 1 / scale^2.
double exact_distance(const Rows &rows, std::int64_t row, const double *center, double scale);

// The nearest center of a row by scores |c|^2 / 2 - <x, c> in the frame, which tell centers apart
// even where a row is very far from all of them. Of equal ones it is the `present` one, or else the
// lowest. With `names`, only those `n_names` centers are compared.
template <class C>
std::int32_t settle(const Rows &rows, std::int64_t row, Frame<C> frame, Centers<double> centers,
                    std::int32_t present, const std::int32_t *names = nullptr,
                    std::int64_t n_names = 0);

// A score in type C is off by at most this from the score that `settle` computes, and |x|^2 plus
// twice the score by twice as much from the squared distance: with u the unit roundoff, a product
// is off by (n + 2) u |x| |c|, moving into the frame by u |x| and u |c|, and the score of `settle`
// is rounded as well where C is double.
template <class C> inline C score_margin(C squared_norm, C largest_center, std::int64_t n_columns) {
    const C reach = std::sqrt(squared_norm) + largest_center;
    return std::numeric_limits<C>::epsilon() / 2 * static_cast<C>(n_columns + 8) * reach * reach;
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

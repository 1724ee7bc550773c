// Distances in double precision, with the same bits on every machine. Kernels compute quickly
// first. Where their rounding could change a label, they ask the functions here. So labels do not
// depend on how a kernel computes.
#pragma once

#include <cmath>
#include <limits>

#include "lanes/buffer.hpp"
#include "lanes/elements.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// The squared distance of a row to a center by differences, in units of 1 / scale^2.
double exact_distance(const Rows &rows, std::int64_t row, const double *center, double scale);

// The nearest center of a row. Centers are compared by their scores |c|^2 / 2 - <x, c> in the
// frame, which differ even where a row is very far from all centers. Of equal scores the `present`
// center wins, or else the lowest. If `names` is not null, only those `n_names` centers are
// compared. If no score is a number below infinity, the present center wins, or else the lowest.
// `scratch` has room for settle_scratch(n_columns) numbers.
template <class C>
std::int32_t settle(const Rows &rows, std::int64_t row, Frame<C> frame, Centers<double> centers,
                    std::int32_t present, const std::int32_t *names, std::int64_t n_names,
                    double *scratch);
inline std::int64_t settle_scratch(std::int64_t n_columns) { return 2 * n_columns; }

// A bound on the difference between a score in type C and the score that `settle` computes. (The
// squared distance |x|^2 + 2 score is then wrong by at most twice as much.) With u the unit
// roundoff of C, a product whose n terms are added one after the other is wrong by at most
// (n + 2) u |x| |c|, moving into the frame adds u |x| and u |c|, and if C is double, the score of
// `settle` is rounded as well.
template <class C> inline C score_margin(C squared_norm, C largest_center, std::int64_t n_added) {
    const C reach = std::sqrt(squared_norm) + largest_center;
    return std::numeric_limits<C>::epsilon() / 2 * static_cast<C>(n_added + 8) * reach * reach;
}

// How many terms of a product are added one after the other if each `part` columns have a sum of
// their own, and these sums are added. Not fewer than `settle` adds in each of its 8 sums.
inline std::int64_t terms_added(std::int64_t n_columns, std::int64_t part) {
    return larger(smaller(n_columns, part) + n_columns / part + 1, n_columns / 8 + 4);
}

// Whether the center with the best score is certainly nearer to a row than all others are, given
// the second best score, and the largest norm of these centers.
//
// A bound for all centers is too large if one of them is far away. A center that is longer than |x|
// plus the distance of the best one is farther than the best one, whatever its score was rounded
// to. So the second try takes the bound for shorter centers.
template <class C>
inline bool is_decided(C squared_norm, C best, C second, C largest_center, std::int64_t n_added) {
    const C margin = score_margin(squared_norm, largest_center, n_added);
    if (second - best > 2 * margin) return true;
    const C farthest = std::sqrt(larger(squared_norm + 2 * best + 4 * margin, C{0}));
    const C longest =
        (std::sqrt(squared_norm) + farthest) * (1 + 8 * std::numeric_limits<C>::epsilon());
    return longest < largest_center &&
           second - best > 2 * score_margin(squared_norm, longest, n_added);
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

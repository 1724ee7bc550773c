// Scores of one row with a few centers that are named one by one. The score of center c is
// |c|^2 / 2 - <x, c>; it is smallest for the nearest center.
#pragma once

#include "clustering/listed_centers.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Centers that a row is multiplied with at once, so that additions do not wait for each other.
constexpr int few_together = 8;

// The best two scores of a row; a center that is met twice in a row counts once.
template <class C> struct TwoBest {
    C best = std::numeric_limits<C>::infinity(), second = best;
    std::int32_t label = -1;

    void meet(std::int32_t center, C score) {
        if (center == label) return;
        if (score < best) {
            second = best;
            best = score;
            label = center;
        } else {
            second = smaller(score, second);
        }
    }
};

template <class C> struct FewScores {
    Centers<C> centers;
    const C *half_norms;
    std::int64_t n_columns;

    // The score of one center.
    C score(const C *row, std::int32_t name) const {
        constexpr int lanes = n_lanes<C>, n_sums = 4;
        const C *from = centers.data + name * n_columns;
        Lanes<C> sums[n_sums] = {};
        std::int64_t column = 0;
        for (; column + n_sums * lanes <= n_columns; column += n_sums * lanes)
#pragma GCC unroll 4
            for (int i = 0; i < n_sums; ++i)
                sums[i] += load(row + column + i * lanes) * load(from + column + i * lanes);
        C product = sum_lanes<C>((sums[0] + sums[1]) + (sums[2] + sums[3]));
        for (; column < n_columns; ++column) product += row[column] * from[column];
        return half_norms[name] - product;
    }

    // The two best of n centers, the first of which is name(0).
    template <class Name> TwoBest<C> lead(const C *row, std::int64_t n, Name name) const {
        TwoBest<C> leaders;
        for (std::int64_t first = 0; first < n; first += few_together) {
            std::int32_t names[few_together];
            C scores[few_together];
            for (int j = 0; j < few_together; ++j)
                names[j] = name(first + j < n ? first + j : first);
            score_together(row, names, scores);
            for (int j = 0; j < few_together; ++j) leaders.meet(names[j], scores[j]);
        }
        return leaders;
    }

  private:
    void score_together(const C *row, const std::int32_t (&names)[few_together],
                        C (&scores)[few_together]) const {
        constexpr int lanes = n_lanes<C>;
        const C *from[few_together];
        for (int j = 0; j < few_together; ++j) from[j] = centers.data + names[j] * n_columns;
        Lanes<C> sums[few_together] = {};
        std::int64_t column = 0;
        for (; column + lanes <= n_columns; column += lanes) {
            const Lanes<C> values = load(row + column);
#pragma GCC unroll 8
            for (int j = 0; j < few_together; ++j) sums[j] += values * load(from[j] + column);
        }
        for (int j = 0; j < few_together; ++j) {
            C product = sum_lanes<C>(sums[j]);
            for (std::int64_t rest = column; rest < n_columns; ++rest)
                product += row[rest] * from[j][rest];
            scores[j] = half_norms[names[j]] - product;
        }
    }
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

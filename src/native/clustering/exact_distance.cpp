// Distances and scores in double precision, added in one fixed order. Slow, and rarely called.
// Compiled without contraction, so that every machine gives the same bits.
#include "clustering/exact_distance.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The same number of lanes for every instruction set, so that the order of additions is the same.
constexpr int lanes = 4;

template <class T>
double distance_of(const T *row, const double *center, double scale, std::int64_t n_columns) {
    Vector<double, lanes> sum[2] = {};
    std::int64_t column = 0;
    for (; column + 2 * lanes <= n_columns; column += 2 * lanes)
        for (int i = 0; i < 2; ++i) {
            const std::int64_t at = column + i * lanes;
            const auto gap =
                (load_as<double, lanes>(row + at) - load_as<double, lanes>(center + at)) * scale;
            sum[i] += gap * gap;
        }
    const Vector<double, lanes> both = sum[0] + sum[1];
    double total = (both[0] + both[1]) + (both[2] + both[3]);
    for (; column < n_columns; ++column) {
        const double gap = (static_cast<double>(widen(row[column])) - center[column]) * scale;
        total += gap * gap;
    }
    return total;
}

// The sum of c (c / 2 - x) for c in the frame.
double score_of(const double *row, const double *center, const double *origin, double scale,
                std::int64_t n_columns) {
    Vector<double, lanes> sum[2] = {};
    std::int64_t column = 0;
    for (; column + 2 * lanes <= n_columns; column += 2 * lanes)
        for (int i = 0; i < 2; ++i) {
            const std::int64_t at = column + i * lanes;
            const auto inside =
                (load_as<double, lanes>(center + at) - load_as<double, lanes>(origin + at)) * scale;
            sum[i] += inside * (inside * 0.5 - load_as<double, lanes>(row + at));
        }
    const Vector<double, lanes> both = sum[0] + sum[1];
    double total = (both[0] + both[1]) + (both[2] + both[3]);
    for (; column < n_columns; ++column) {
        const double inside = (center[column] - origin[column]) * scale;
        total += inside * (inside * 0.5 - row[column]);
    }
    return total;
}

// The lowest of the names; 0 if there are none.
std::int32_t lowest_of(const std::int32_t *names, std::int64_t n_names) {
    std::int32_t lowest = names && n_names > 0 ? names[0] : 0;
    for (std::int64_t j = 1; names && j < n_names; ++j) lowest = smaller(names[j], lowest);
    return lowest;
}

}  // namespace

double exact_distance(const Rows &rows, std::int64_t row, const double *center, double scale) {
    double squared = 0;
    with_element(rows.element, [&](auto zero) {
        squared = distance_of(rows.row<decltype(zero)>(row), center, scale, rows.n_columns);
    });
    return squared;
}

template <class C>
std::int32_t settle(const Rows &rows, std::int64_t row, Frame<C> frame, Centers<double> centers,
                    std::int32_t present, const std::int32_t *names, std::int64_t n_names,
                    double *scratch) {
    const std::int64_t width = rows.n_columns;
    double *inside = scratch, *origin = scratch + width;
    const auto scale = static_cast<double>(frame.scale);
    for (std::int64_t column = 0; column < width; ++column)
        origin[column] = static_cast<double>(frame.origin[column]);
    with_element(rows.element, [&](auto zero) {
        const auto *values = rows.row<decltype(zero)>(row);
        for (std::int64_t column = 0; column < width; ++column)
            inside[column] = (static_cast<double>(widen(values[column])) - origin[column]) * scale;
    });
    std::int32_t nearest = -1;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < (names ? n_names : centers.n_centers); ++j) {
        const std::int32_t label = names ? names[j] : static_cast<std::int32_t>(j);
        const double score = score_of(inside, centers.data + label * width, origin, scale, width);
        const bool preferred = label == present || (nearest != present && label < nearest);
        if (score < least || (score == least && preferred)) {
            nearest = label;
            least = score;
        }
    }
    if (nearest >= 0) return nearest;
    return present >= 0 ? present : lowest_of(names, n_names);  // no score is below infinity
}

PK_INSTANTIATE(settle);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

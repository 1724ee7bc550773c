// The range of every column, the largest norm of a row and the first entry that is not finite, in
// one pass.
// Does not judge: what a NaN means is said in Python.
#include <omp.h>

#include <limits>

#include "kernels.hpp"
#include "row_norm.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

template <class T> struct ComputeOf {
    using type = float;
};
template <> struct ComputeOf<double> {
    using type = double;
};

// Widens minimum and maximum by one row; true if all of it is finite.
template <class C, class T>
bool scan_row(const T *row, std::int64_t n_columns, C *minimum, C *maximum) {
    constexpr int lanes = n_lanes<C>;
    Lanes<C> doubt = {};  // x - x is NaN for NaN and infinity, and stays so in a sum
    std::int64_t column = 0;
    for (; column + lanes <= n_columns; column += lanes) {
        const Lanes<C> value = load_as<C, lanes>(row + column);
        const Lanes<C> low = load(minimum + column), high = load(maximum + column);
        store(minimum + column, value < low ? value : low);
        store(maximum + column, value > high ? value : high);
        doubt += value - value;
    }
    C rest = sum_lanes<C>(doubt);
    for (; column < n_columns; ++column) {
        const C value = static_cast<C>(widen(row[column]));
        if (value < minimum[column]) minimum[column] = value;
        if (value > maximum[column]) maximum[column] = value;
        rest += value - value;
    }
    return rest == 0;
}

template <class C, class T> std::int64_t first_doubtful(const T *row, std::int64_t n_columns) {
    for (std::int64_t column = 0; column < n_columns; ++column) {
        const C value = static_cast<C>(widen(row[column]));
        if (!(value - value == 0)) return column;
    }
    return n_columns;
}

template <class T>
Position scan(const Rows &rows, double *minimum, double *maximum, double *norm, int n_threads) {
    using C = typename ComputeOf<T>::type;
    const std::int64_t width = rows.n_columns;
    std::int64_t first_bad = rows.n_rows;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const std::int64_t thread = omp_get_thread_num(), n = omp_get_num_threads();
        Buffer<C> low(width), high(width);
        for (std::int64_t j = 0; j < width; ++j) {
            low[j] = std::numeric_limits<C>::infinity();
            high[j] = -std::numeric_limits<C>::infinity();
        }
        std::int64_t bad = rows.n_rows;
        double longest = 0;
        const std::int64_t last = rows.n_rows * (thread + 1) / n;
        for (std::int64_t i = rows.n_rows * thread / n; i < last && bad == rows.n_rows; ++i) {
            if (!scan_row<C>(rows.row<T>(i), width, low.data(), high.data())) bad = i;
            RowNorm length;
            length.add_row(rows.row<T>(i), width);
            longest = larger(length.total(), longest);
        }
#pragma omp critical
        {
            for (std::int64_t j = 0; j < width; ++j) {
                if (low[j] < minimum[j]) minimum[j] = low[j];
                if (high[j] > maximum[j]) maximum[j] = high[j];
            }
            if (bad < first_bad) first_bad = bad;
            *norm = larger(longest, *norm);
        }
    }
    if (first_bad == rows.n_rows) return {-1, -1};
    return {first_bad, first_doubtful<C>(rows.row<T>(first_bad), width)};
}

}  // namespace

Position scan_columns(const Rows &rows, double *minimum, double *maximum, double *norm,
                      int n_threads) {
    Position position{-1, -1};
    with_element(rows.element, [&](auto zero) {
        position = scan<decltype(zero)>(rows, minimum, maximum, norm, n_threads);
    });
    return position;
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

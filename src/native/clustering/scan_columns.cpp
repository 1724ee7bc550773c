// The range of every column, the largest squared norm of a row, and the first entry that is NaN or
// infinite, in one pass. Python decides what such an entry means.
//
// In sparse rows, a column that some row does not name holds a zero.
#include <omp.h>

#include <limits>

#include "clustering/kernels.hpp"
#include "lanes/buffer.hpp"
#include "lanes/row_norm.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The type in which ranges of elements of type T are kept.
template <class T> struct ComputeOf {
    using type = float;
};
template <> struct ComputeOf<double> {
    using type = double;
};

// Widens minimum and maximum by one row; returns whether all of the row is finite.
template <class C, class T>
bool scan_row(const T *row, std::int64_t n_columns, C *minimum, C *maximum) {
    constexpr int lanes = n_lanes<C>;
    Lanes<C> doubt = {};  // x - x is NaN if x is NaN or infinite, and a sum with NaN stays NaN
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

// The first column of a row that is not finite.
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
    PerThread<Buffer<C>> all_low(n_threads, width), all_high(n_threads, width);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const std::int64_t thread = omp_get_thread_num(), n = omp_get_num_threads();
        Buffer<C> &low = all_low.own(), &high = all_high.own();
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

// What a thread finds in its sparse rows.
template <class C> struct SparseScan {
    const SparseRows<C> &rows;
    C *low, *high;
    std::int64_t *named;    // in how many rows a column is named
    std::int64_t bad = -1;  // the first nonzero that is not finite
    double longest = 0;     // the largest squared norm

    template <class I> void add(const I *indices, std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            RowNorm length;
            for (std::int64_t e = rows.start(row); e < rows.start(row + 1); ++e) {
                const C value = rows.values[e];
                const I column = indices[e];
                if (value < low[column]) low[column] = value;
                if (value > high[column]) high[column] = value;
                ++named[column];
                if (!(value - value == 0) && bad < 0) bad = e;
                length.add(column, static_cast<double>(value));
            }
            longest = larger(length.total(), longest);
        }
    }
};

}  // namespace

Position scan_columns(const Rows &rows, double *minimum, double *maximum, double *norm,
                      int n_threads) {
    Position position{-1, -1};
    with_element(rows.element, [&](auto zero) {
        position = scan<decltype(zero)>(rows, minimum, maximum, norm, n_threads);
    });
    return position;
}

template <class C>
Position scan_columns_sparse(const SparseRows<C> &rows, double *minimum, double *maximum,
                             double *norm, int n_threads) {
    const std::int64_t width = rows.n_columns;
    std::int64_t first_bad = rows.start(rows.n_rows);
    Buffer<std::int64_t> counts(width);
    for (std::int64_t column = 0; column < width; ++column) counts[column] = 0;
    PerThread<Buffer<C>> all_low(n_threads, width), all_high(n_threads, width);
    PerThread<Buffer<std::int64_t>> all_named(n_threads, width);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const std::int64_t thread = omp_get_thread_num(), n = omp_get_num_threads();
        Buffer<C> &low = all_low.own(), &high = all_high.own();
        Buffer<std::int64_t> &named = all_named.own();
        for (std::int64_t column = 0; column < width; ++column) {
            low[column] = std::numeric_limits<C>::infinity();
            high[column] = -std::numeric_limits<C>::infinity();
            named[column] = 0;
        }
        SparseScan<C> scan{rows, low.data(), high.data(), named.data()};
        rows.with_indices([&](const auto *indices) {
            scan.add(indices, rows.n_rows * thread / n, rows.n_rows * (thread + 1) / n);
        });
#pragma omp critical
        {
            for (std::int64_t column = 0; column < width; ++column) {
                if (low[column] < minimum[column]) minimum[column] = low[column];
                if (high[column] > maximum[column]) maximum[column] = high[column];
                counts[column] += named[column];
            }
            if (scan.bad >= 0 && scan.bad < first_bad) first_bad = scan.bad;
            *norm = larger(scan.longest, *norm);
        }
    }
    for (std::int64_t column = 0; column < width; ++column)
        if (counts[column] < rows.n_rows) {
            minimum[column] = smaller(minimum[column], 0.0);
            maximum[column] = larger(maximum[column], 0.0);
        }
    if (first_bad == rows.start(rows.n_rows)) return {-1, -1};
    std::int64_t row = 0;
    while (rows.start(row + 1) <= first_bad) ++row;
    return {row, rows.index(first_bad)};
}

PK_INSTANTIATE(scan_columns_sparse);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// The range of every column, the largest squared norm of a row, and the first entry that is NaN or
// infinite, in one pass. Python decides what such an entry means.
//
// In sparse rows, a column that some row does not name holds a zero.
#include <omp.h>

#include <limits>
#include <type_traits>

#include "clustering/kernels.hpp"
#include "lanes/buffer.hpp"
#include "lanes/row_norm.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The type in which ranges of elements of type T are kept.
template <class T> using Range = std::conditional_t<std::is_same_v<T, Half>, float, T>;

// A few rows are scanned together, so that ranges are loaded and stored once for all of them, in
// pieces that stay in the first-level cache until their norms are added, too.
constexpr int together = 4;
template <class T> constexpr std::int64_t piece = 4096 / static_cast<std::int64_t>(sizeof(T));

// Widens the ranges of some columns by a few rows.
template <class T>
void widen_ranges(const T *const (&rows)[together], std::int64_t n_columns, Range<T> *minimum,
                  Range<T> *maximum) {
    using R = Range<T>;
    constexpr int lanes = n_lanes<R>;
    std::int64_t column = 0;
    for (; column + lanes <= n_columns; column += lanes) {
        Lanes<R> low = load(minimum + column), high = load(maximum + column);
        for (const T *row : rows) {
            const Lanes<R> value = load_as<R, lanes>(row + column);
            low = smaller(value, low);
            high = larger(value, high);
        }
        store(minimum + column, low);
        store(maximum + column, high);
    }
    for (; column < n_columns; ++column)
        for (const T *row : rows) {
            const R value = widen(row[column]);
            minimum[column] = smaller(value, minimum[column]);
            maximum[column] = larger(value, maximum[column]);
        }
}

// The squared norm of a row, piece by piece.
template <class T> struct PiecewiseNorm {
    RowNorm norm;
    void add(const T *row, std::int64_t n_columns) { norm.add_row(row, n_columns); }
    double total() const { return norm.total(); }
};
// Sums of 8-bit integers are exact in any order. Those of a piece have 32 bits.
template <class T> struct BytesNorm {
    double sum = 0;
    void add(const T *row, std::int64_t n_columns) {
        static_assert(piece<T> * 255 * 255 < INT32_MAX);
        std::int32_t squares = 0;
        for (std::int64_t column = 0; column < n_columns; ++column) {
            const std::int16_t value = row[column];
            squares += value * value;
        }
        sum += squares;
    }
    double total() const { return sum; }
};
template <class T> using Norm = std::conditional_t<sizeof(T) == 1, BytesNorm<T>, PiecewiseNorm<T>>;

// The first column of a row that is not finite; the number of columns if there is none.
template <class T> std::int64_t first_doubtful(const T *row, std::int64_t n_columns) {
    for (std::int64_t column = 0; column < n_columns; ++column) {
        const auto value = widen(row[column]);
        if (!(value - value == 0)) return column;
    }
    return n_columns;
}

// What a thread finds in its rows.
template <class T> struct DenseScan {
    const Rows &rows;
    Range<T> *low, *high;
    Position bad{-1, -1};  // the first entry that is not finite
    double longest = 0;    // the largest squared norm

    // Scans rows [first, last) up to the first with an entry that is not finite.
    void add(std::int64_t first, std::int64_t last) {
        for (std::int64_t j = 0; j < rows.n_columns; ++j) {
            low[j] = std::numeric_limits<Range<T>>::max();
            high[j] = std::numeric_limits<Range<T>>::lowest();
        }
        for (std::int64_t row = first; row < last && bad.row < 0; row += together)
            add_few(row, last - row < together ? static_cast<int>(last - row) : together);
    }

  private:
    // Rows that are missing repeat the last row.
    void add_few(std::int64_t first, int n_rows) {
        const T *from[together];
        for (int i = 0; i < together; ++i)
            from[i] = rows.row<T>(first + (i < n_rows ? i : n_rows - 1));
        Norm<T> norms[together];
        for (std::int64_t column = 0; column < rows.n_columns; column += piece<T>) {
            const std::int64_t left = rows.n_columns - column;
            const std::int64_t n = left < piece<T> ? left : piece<T>;
            widen_ranges<T>(from, n, low + column, high + column);
            for (int i = 0; i < together; ++i) {
                norms[i].add(from[i], n);
                from[i] += n;
            }
        }
        for (int i = 0; i < n_rows && bad.row < 0; ++i) note_norm(first + i, norms[i].total());
    }

    // A norm is infinite or NaN if an entry is, or if squares overflow.
    void note_norm(std::int64_t row, double norm) {
        if (!(norm - norm == 0)) {
            const std::int64_t column = first_doubtful(rows.row<T>(row), rows.n_columns);
            if (column < rows.n_columns) bad = {row, column};
        }
        longest = larger(norm, longest);
    }
};

template <class T>
Position scan(const Rows &rows, double *minimum, double *maximum, double *norm, int n_threads) {
    const std::int64_t width = rows.n_columns;
    Position first_bad{-1, -1};
    PerThread<Buffer<Range<T>>> all_low(n_threads, width), all_high(n_threads, width);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const std::int64_t thread = omp_get_thread_num(), n = omp_get_num_threads();
        const std::int64_t first = rows.n_rows * thread / n, last = rows.n_rows * (thread + 1) / n;
        Buffer<Range<T>> &low = all_low.own(), &high = all_high.own();
        DenseScan<T> scan{rows, low.data(), high.data()};
        scan.add(first, last);
#pragma omp critical
        if (first < last) {
            for (std::int64_t j = 0; j < width; ++j) {
                minimum[j] = smaller(static_cast<double>(low[j]), minimum[j]);
                maximum[j] = larger(static_cast<double>(high[j]), maximum[j]);
            }
            if (scan.bad.row >= 0 && (first_bad.row < 0 || scan.bad.row < first_bad.row))
                first_bad = scan.bad;
            *norm = larger(scan.longest, *norm);
        }
    }
    return first_bad;
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

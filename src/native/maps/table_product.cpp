// Sparse rows times a table of numbers, and the transposed rows times a table.
//
// The first adds the nonzeros of a row in their order. The second adds the rows of a column in
// their order, and each column belongs to one thread. So bits do not depend on the number of
// threads.
#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"
#include "maps/kernels.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// How many nonzeros ahead memory is prefetched.
constexpr std::int64_t ahead = 12;

template <class T> inline void fetch(const T *from, std::int64_t n, int write) {
    const auto *bytes = reinterpret_cast<const char *>(from);
    for (std::int64_t byte = 0; byte < n * std::int64_t{sizeof(T)}; byte += 64)
        write ? __builtin_prefetch(bytes + byte, 1) : __builtin_prefetch(bytes + byte, 0);
}

// to += value * from, n numbers.
template <class C> inline void add_scaled(C value, const C *from, std::int64_t n, C *to) {
    std::int64_t j = 0;
    for (; j + n_lanes<C> <= n; j += n_lanes<C>)
        store(to + j, load(to + j) + load(from + j) * value);
    for (; j < n; ++j) to[j] += value * from[j];
}

// columns[0 .. n] <- n ranges of columns with about the same number of nonzeros, one for each
// thread.
template <class C>
void part_columns(const SparseRows<C> &rows, std::int64_t n, std::int64_t *columns) {
    const std::int64_t n_nonzeros = rows.start(rows.n_rows);
    Buffer<std::int64_t> counts(rows.n_columns);
    for (std::int64_t column = 0; column < rows.n_columns; ++column) counts[column] = 0;
    rows.with_indices([&](const auto *indices) {
        for (std::int64_t e = 0; e < n_nonzeros; ++e) ++counts[indices[e]];
    });
    std::int64_t seen = 0, part = 1;
    columns[0] = 0;
    for (std::int64_t column = 0; column < rows.n_columns; ++column) {
        seen += counts[column];
        while (part < n && seen * n >= n_nonzeros * part) columns[part++] = column + 1;
    }
    while (part <= n) columns[part++] = rows.n_columns;
}

// The first of [begin, end) whose index is at least `column`.
template <class I>
std::int64_t find(const I *indices, std::int64_t begin, std::int64_t end, std::int64_t column) {
    while (begin < end) {
        const std::int64_t middle = (begin + end) / 2;
        if (indices[middle] < column)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

}  // namespace

template <class C>
void table_product(const SparseRows<C> &rows, const C *table, std::int64_t width, C *out,
                   int n_threads) {
    const std::int64_t n_nonzeros = rows.start(rows.n_rows);
    rows.with_indices([&](const auto *indices) {
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 64) if (n_threads > 1)
        for (std::int64_t row = 0; row < rows.n_rows; ++row) {
            C *to = out + row * width;
            for (std::int64_t j = 0; j < width; ++j) to[j] = 0;
            for (std::int64_t e = rows.start(row); e < rows.start(row + 1); ++e) {
                if (e + ahead < n_nonzeros) fetch(table + indices[e + ahead] * width, width, 0);
                add_scaled(rows.values[e], table + indices[e] * width, width, to);
            }
        }
    });
}

template <class C>
void transposed_product(const SparseRows<C> &rows, const double *table, std::int64_t width,
                        double *out, int n_threads) {
    Buffer<std::int64_t> columns(n_threads + 1);
    part_columns(rows, n_threads, columns.data());
    rows.with_indices([&](const auto *indices) {
#pragma omp parallel for num_threads(n_threads) schedule(static, 1) if (n_threads > 1)
        for (std::int64_t part = 0; part < n_threads; ++part)
            for (std::int64_t row = 0; row < rows.n_rows; ++row) {
                const std::int64_t begin = rows.start(row), end = rows.start(row + 1);
                const std::int64_t first = find(indices, begin, end, columns[part]);
                const std::int64_t last = find(indices, first, end, columns[part + 1]);
                for (std::int64_t e = first; e < last; ++e) {
                    if (e + ahead < last) fetch(out + indices[e + ahead] * width, width, 1);
                    add_scaled(static_cast<double>(rows.values[e]), table + row * width, width,
                               out + indices[e] * width);
                }
            }
    });
}

PK_INSTANTIATE(table_product);
PK_INSTANTIATE(transposed_product);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

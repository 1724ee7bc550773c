// The sign product as section 5.2 of the paper tries it beside a matrix product: on the fly, column
// by column (MM2), and by the mailman algorithm as Liberty and Zucker (2009) describe it.
// For comparison only; sign_product.cpp is the one to use.
#include <omp.h>

#include "kernels.hpp"
#include "lanes.hpp"
#include "sign_words.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

template <class C, class T> C dot(const T *row, const C *column, std::int64_t n_columns) {
    constexpr int lanes = n_lanes<C>;
    Lanes<C> sums[4] = {};
    std::int64_t i = 0;
    for (; i + 4 * lanes <= n_columns; i += 4 * lanes)
        for (int j = 0; j < 4; ++j)
            sums[j] += load_as<C, lanes>(row + i + j * lanes) * load(column + i + j * lanes);
    C total = sum_lanes<C>((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; i < n_columns; ++i) total += static_cast<C>(widen(row[i])) * column[i];
    return total;
}

// The correspondence of one block of `width` columns: for every coordinate the number that its
// signs spell. As R is random, the codes are random and need no preprocessing.
void draw_codes(std::uint64_t key, std::int64_t first_column, int width, std::int64_t n,
                std::uint32_t *codes) {
    for (std::int64_t i = 0; i < n; ++i) codes[i] = 0;
    for (int bit = 0; bit < width; ++bit) {
        const auto column = static_cast<std::uint64_t>(first_column + bit);
        const auto cell = static_cast<std::uint32_t>(column / columns_per_cell);
        for (std::int64_t first = 0; first < n; first += 8) {
            std::uint32_t words[8][4];
            const std::int64_t left = n - first < 8 ? n - first : 8;
            cells_of(
                key, Stream::signs, cell, left, [first](std::int64_t i) { return first + i; },
                words);
            for (std::int64_t i = 0; i < left; ++i)
                codes[first + i] |= (words[i][column / 32 % 4] >> (column % 32) & 1u) << bit;
        }
    }
}

// y = U z for the matrix U of all 2^width sign vectors, z folded in half for each of its bits.
template <class C> void fold(C *z, int width, C scale, C *y) {
    for (int bit = width - 1; bit >= 0; --bit) {
        const std::int64_t half = std::int64_t{1} << bit;
        C sum = 0;
        for (std::int64_t i = 0; i < half; ++i) {
            sum += z[half + i] - z[i];
            z[i] += z[half + i];
        }
        y[bit] = sum * scale;
    }
}

template <class C, class T>
void multiply_rows(const Rows &rows, Map map, std::int64_t column, int width,
                   const std::uint32_t *codes, C *out, int n_threads) {
    const std::int64_t size = std::int64_t{1} << width;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        Buffer<C> z(size);
#pragma omp for schedule(static)
        for (std::int64_t row = 0; row < rows.n_rows; ++row) {
            for (std::int64_t i = 0; i < size; ++i) z[i] = 0;
            const T *x = rows.row<T>(row);
            for (std::int64_t i = 0; i < rows.n_columns; ++i)
                z[codes[i]] += static_cast<C>(widen(x[i]));
            fold(z.data(), width, static_cast<C>(map.scale), out + row * map.n_components + column);
        }
    }
}

}  // namespace

template <class C> void on_the_fly_product(const Rows &rows, Map map, C *out, int n_threads) {
    Buffer<C> column(rows.n_columns);
    for (std::int64_t j = 0; j < map.n_components; ++j) {
        for (std::int64_t first = 0; first < rows.n_columns; first += 8) {
            std::uint32_t words[8][4];
            const std::int64_t left = rows.n_columns - first < 8 ? rows.n_columns - first : 8;
            cells_of(
                map.key, Stream::signs, static_cast<std::uint32_t>(j / columns_per_cell), left,
                [first](std::int64_t i) { return first + i; }, words);
            for (std::int64_t i = 0; i < left; ++i)
                column[first + i] = words[i][j / 32 % 4] >> (j % 32) & 1u ? C{1} : C{-1};
        }
        with_element(rows.element, [&](auto zero) {
            using T = decltype(zero);
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
            for (std::int64_t row = 0; row < rows.n_rows; ++row)
                out[row * map.n_components + j] =
                    dot(rows.row<T>(row), column.data(), rows.n_columns) *
                    static_cast<C>(map.scale);
        });
    }
}

template <class C> void mailman_product(const Rows &rows, Map map, C *out, int n_threads) {
    int most = 1;  // floor(log2 d), at least one column at a time
    while (most < 31 && (std::int64_t{2} << most) <= rows.n_columns) ++most;
    Buffer<std::uint32_t> codes(rows.n_columns);
    for (std::int64_t column = 0; column < map.n_components; column += most) {
        const std::int64_t left = map.n_components - column;
        const int width = left < most ? static_cast<int>(left) : most;
        draw_codes(map.key, column, width, rows.n_columns, codes.data());
        with_element(rows.element, [&](auto zero) {
            multiply_rows<C, decltype(zero)>(rows, map, column, width, codes.data(), out,
                                             n_threads);
        });
    }
}

template void on_the_fly_product<float>(const Rows &, Map, float *, int);
template void on_the_fly_product<double>(const Rows &, Map, double *, int);
template void mailman_product<float>(const Rows &, Map, float *, int);
template void mailman_product<double>(const Rows &, Map, double *, int);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// The sign product in two ways that section 5.2 of the paper compares: with signs generated on the
// fly, column by column (MM2), and by the mailman algorithm of Liberty and Zucker (2009).
// For the paper's experiments only; sign_product.cpp is much faster.
#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"
#include "maps/kernels.hpp"
#include "maps/sign_words.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Rows that are multiplied with a column of R while they are in the cache.
constexpr std::int64_t chunk_rows = 32;

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

// The signs of 256 columns for every coordinate, one bit each. The first column is the first of a
// Philox cell.
class SignPanel {
  public:
    explicit SignPanel(std::int64_t n) : n_(n), words_(n) {}

    void fill(std::uint64_t key, std::int64_t cell) {
        std::uint32_t found[8][4];
        for (std::int64_t first = 0; first < n_; first += 8) {
            const std::int64_t left = n_ - first < 8 ? n_ - first : 8;
            for (int next = 0; next < 2; ++next) {
                cells_of(
                    key, Stream::signs, static_cast<std::uint32_t>(cell + next), left,
                    [first](std::int64_t i) { return first + i; }, found);
                for (std::int64_t i = 0; i < left; ++i)
                    for (int j = 0; j < 4; ++j) words_[first + i][4 * next + j] = found[i][j];
            }
        }
    }
    // The signs of coordinate i in 32 columns from `column` on, which counts from the first column
    // of the panel and is less than 128.
    std::uint32_t bits(std::int64_t i, std::int64_t column) {
        const std::uint32_t *word = words_[i] + column / 32;
        const std::uint64_t pair = std::uint64_t{word[1]} << 32 | word[0];
        return static_cast<std::uint32_t>(pair >> (column % 32));
    }

  private:
    std::int64_t n_;
    Buffer<std::uint32_t[8]> words_;
};

// y = U z scale, where the columns of U are all 2^width sign vectors. Each bit folds z in half.
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
    PerThread<Buffer<C>> all_sums(n_threads, size);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        Buffer<C> &z = all_sums.own();
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
    const std::int64_t d = rows.n_columns, t = map.n_components;
    const std::int64_t n_chunks = (rows.n_rows + chunk_rows - 1) / chunk_rows;
    SignPanel panel(d);
    PerThread<Buffer<C>> columns(n_threads, d);
    for (std::int64_t first = 0; first < t; first += columns_per_cell) {
        panel.fill(map.key, first / columns_per_cell);
        const std::int64_t last = first + columns_per_cell < t ? first + columns_per_cell : t;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            Buffer<C> &column = columns.own();
#pragma omp for schedule(static)
            for (std::int64_t chunk = 0; chunk < n_chunks; ++chunk)
                for (std::int64_t j = first; j < last; ++j) {
                    for (std::int64_t i = 0; i < d; ++i)
                        column[i] = panel.bits(i, j - first) & 1u ? C{1} : C{-1};
                    with_element(rows.element, [&](auto zero) {
                        using T = decltype(zero);
                        const std::int64_t begin = chunk * chunk_rows;
                        for (std::int64_t row = begin;
                             row < rows.n_rows && row < begin + chunk_rows; ++row)
                            out[row * t + j] =
                                dot(rows.row<T>(row), column.data(), d) * static_cast<C>(map.scale);
                    });
                }
        }
    }
}

template <class C> void mailman_product(const Rows &rows, Map map, C *out, int n_threads) {
    int most = 1;  // floor(log2 d), at least one column at a time
    while (most < 31 && (std::int64_t{2} << most) <= rows.n_columns) ++most;
    SignPanel panel(rows.n_columns);
    Buffer<std::uint32_t> codes(rows.n_columns);
    std::int64_t cell = -1;
    for (std::int64_t column = 0; column < map.n_components; column += most) {
        const std::int64_t left = map.n_components - column;
        const int width = left < most ? static_cast<int>(left) : most;
        if (column / columns_per_cell != cell)
            panel.fill(map.key, cell = column / columns_per_cell);
        // The correspondence of the mailman algorithm: the signs of a coordinate, read as a number.
        for (std::int64_t i = 0; i < rows.n_columns; ++i)
            codes[i] = panel.bits(i, column % columns_per_cell) & ((1u << width) - 1);
        with_element(rows.element, [&](auto zero) {
            multiply_rows<C, decltype(zero)>(rows, map, column, width, codes.data(), out,
                                             n_threads);
        });
    }
}

PK_INSTANTIATE(on_the_fly_product);
PK_INSTANTIATE(mailman_product);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// 2-means inside every cluster, one cluster a thread: what a second center there would gain.
//
// The rows of a cluster are moved to its mean and lie one after another, where they stay in a cache
// over all passes. Rows of very large clusters are read again in every pass. What a cluster gets is
// computed by one thread in a fixed order, so bits do not depend on the number of threads.
#include <cmath>

#include "clustering/arguments.hpp"
#include "clustering/kernels.hpp"
#include "clustering/uniform.hpp"
#include "lanes/buffer.hpp"
#include "lanes/elements.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Bytes of rows of a cluster that are kept over all passes, for each thread.
constexpr std::int64_t kept_bytes = std::int64_t{256} << 10;

// Rows that are prefetched ahead of those at work, because rows of a cluster lie anywhere, and
// bytes of each of them.
constexpr std::int64_t fetched_rows = 8, fetched_bytes = 256;

// Indices of rows, in the order of their clusters: those of cluster j from starts[j] on.
struct OrderedRows {
    Buffer<std::int64_t> starts, order;

    OrderedRows(const std::int32_t *labels, std::int64_t n_rows, std::int64_t n_clusters)
        : starts(n_clusters + 2), order(n_rows) {
        for (std::int64_t j = 0; j < n_clusters + 2; ++j) starts[j] = 0;
        for (std::int64_t i = 0; i < n_rows; ++i) ++starts[labels[i] + 2];
        for (std::int64_t j = 2; j < n_clusters + 2; ++j) starts[j] += starts[j - 1];
        for (std::int64_t i = 0; i < n_rows; ++i) order[starts[labels[i] + 1]++] = i;
    }
};

template <class C> struct Scratch {
    Buffer<C> rows, row, mean, across;
    Buffer<double> squares, halves[2], sums[2];
    std::int64_t n_kept;

    explicit Scratch(std::int64_t n_columns)
        : rows(count_kept(n_columns) * n_columns), row(n_columns), mean(n_columns),
          across(n_columns), squares(count_kept(n_columns)),
          halves{Buffer<double>(n_columns), Buffer<double>(n_columns)},
          sums{Buffer<double>(n_columns), Buffer<double>(n_columns)},
          n_kept(count_kept(n_columns)) {}

    static std::int64_t count_kept(std::int64_t n_columns) {
        return larger(kept_bytes / (n_columns * static_cast<std::int64_t>(sizeof(C))),
                      std::int64_t{16});
    }
};

template <class C, class Change> C sum_products(std::int64_t n_columns, Change change) {
    constexpr int lanes = n_lanes<C>;
    Lanes<C> sums[2] = {};
    std::int64_t column = 0;
    for (; column + 2 * lanes <= n_columns; column += 2 * lanes)
        for (int i = 0; i < 2; ++i) {
            const auto at = column + i * lanes;
            sums[i] += change(at, Lanes<C>{});
        }
    C total = sum_lanes<C>(sums[0] + sums[1]);
    for (; column < n_columns; ++column) total += change(column, C{});
    return total;
}

template <class C> C dot(const C *a, const C *b, std::int64_t n_columns) {
    return sum_products<C>(n_columns, [&](std::int64_t at, auto kind) {
        decltype(kind) left, right;
        std::memcpy(&left, a + at, sizeof left);
        std::memcpy(&right, b + at, sizeof right);
        return left * right;
    });
}

template <class C> struct Halving {
    const Rows &rows;
    const double *weights;
    double scale;
    Centers<double> means;
    std::uint64_t seed;
    std::int64_t n_passes;
    std::int32_t *halves;
    double *centers, *gains;

    // Divides the rows `which` of a cluster.
    void divide(std::int64_t cluster, const std::int64_t *which, std::int64_t n_rows,
                Scratch<C> &scratch) const {
        const std::int64_t d = rows.n_columns;
        const double *mean = means.data + cluster * d;
        for (std::int64_t column = 0; column < d; ++column)
            scratch.mean[column] = static_cast<C>(mean[column]);
        for (int half = 0; half < 2; ++half)
            for (std::int64_t column = 0; column < d; ++column) scratch.halves[half][column] = 0;
        gains[cluster] = 0;
        for (std::int64_t i = 0; i < n_rows; ++i)
            halves[which[i]] = static_cast<std::int32_t>(2 * cluster);
        if (begin(cluster, which, n_rows, scratch))
            for (std::int64_t pass = 0; pass < n_passes; ++pass)
                gains[cluster] = step(cluster, which, n_rows, scratch);
        for (int half = 0; half < 2; ++half)
            for (std::int64_t column = 0; column < d; ++column)
                centers[(2 * cluster + half) * d + column] =
                    mean[column] + scratch.halves[half][column] / scale;
    }

  private:
    double weight(std::int64_t row) const { return weights ? weights[row] : 1; }

    // The row about the mean of its cluster; one that is not kept is computed again.
    const C *find(const std::int64_t *which, std::int64_t i, Scratch<C> &scratch) const {
        if (i < scratch.n_kept) return scratch.rows.data() + i * rows.n_columns;
        return move(which[i], scratch, scratch.row.data());
    }

    const C *move(std::int64_t row, const Scratch<C> &scratch, C *to) const {
        constexpr int lanes = n_lanes<C>;
        const C *from = rows.row<C>(row), *mean = scratch.mean.data();
        const C factor = static_cast<C>(scale);
        std::int64_t column = 0;
        for (; column + lanes <= rows.n_columns; column += lanes)
            store(to + column, (load(from + column) - load(mean + column)) * factor);
        for (; column < rows.n_columns; ++column)
            to[column] = (from[column] - mean[column]) * factor;
        return to;
    }

    // The first halves: a row, drawn by its weighted squared distance, and its mirror image at the
    // mean. Returns whether there is such a row.
    bool begin(std::int64_t cluster, const std::int64_t *which, std::int64_t n_rows,
               Scratch<C> &scratch) const {
        const std::int64_t d = rows.n_columns;
        double total = 0;
        const auto chance = [&](std::int64_t i) {
            const C *row = find(which, i, scratch);
            return weight(which[i]) * static_cast<double>(dot(row, row, d));
        };
        for (std::int64_t i = 0; i < n_rows; ++i) {
            if (i + fetched_rows < n_rows) {
                const auto *next =
                    reinterpret_cast<const char *>(rows.row<C>(which[i + fetched_rows]));
                for (std::int64_t byte = 0; byte < fetched_bytes; byte += 64)
                    __builtin_prefetch(next + byte);
            }
            if (i < scratch.n_kept) {
                move(which[i], scratch, scratch.rows.data() + i * d);
                scratch.squares[i] = chance(i);
            }
            total += i < scratch.n_kept ? scratch.squares[i] : chance(i);
        }
        if (!(total > 0)) return false;
        double left = uniform(seed, static_cast<std::uint64_t>(cluster)) * total;
        std::int64_t drawn = 0;
        for (std::int64_t i = 0; i < n_rows; ++i) {
            const double share = i < scratch.n_kept ? scratch.squares[i] : chance(i);
            if (!(share > 0)) continue;
            drawn = i;
            if (left < share) break;
            left -= share;
        }
        const C *row = find(which, drawn, scratch);
        for (std::int64_t column = 0; column < d; ++column) {
            scratch.halves[0][column] = row[column];
            scratch.halves[1][column] = -static_cast<double>(row[column]);
        }
        return true;
    }

    // Gives every row the nearer half, and moves the halves to the means of their rows. Returns
    // what two means gain beyond one. A half without rows stays where it is.
    double step(std::int64_t cluster, const std::int64_t *which, std::int64_t n_rows,
                Scratch<C> &scratch) const {
        const std::int64_t d = rows.n_columns;
        double middle = 0, mass[2] = {};
        for (std::int64_t column = 0; column < d; ++column) {
            const double first = scratch.halves[0][column], other = scratch.halves[1][column];
            scratch.across[column] = static_cast<C>(first - other);
            middle += (first - other) * (first + other) / 2;
            scratch.sums[0][column] = scratch.sums[1][column] = 0;
        }
        for (std::int64_t i = 0; i < n_rows; ++i) {
            const C *row = find(which, i, scratch);
            const int half = static_cast<double>(dot(row, scratch.across.data(), d)) < middle;
            halves[which[i]] = static_cast<std::int32_t>(2 * cluster + half);
            const double w = weight(which[i]);
            mass[half] += w;
            double *sums = scratch.sums[half].data();
            for (std::int64_t column = 0; column < d; ++column)
                sums[column] += w * static_cast<double>(row[column]);
        }
        for (int half = 0; half < 2; ++half)
            for (std::int64_t column = 0; mass[half] > 0 && column < d; ++column)
                scratch.halves[half][column] = scratch.sums[half][column] / mass[half];
        if (!(mass[0] > 0 && mass[1] > 0)) return 0;
        double apart = 0;
        for (std::int64_t column = 0; column < d; ++column) {
            const double gap = scratch.halves[0][column] - scratch.halves[1][column];
            apart += gap * gap;
        }
        return apart * mass[0] / (mass[0] + mass[1]) * mass[1] / scale / scale;
    }
};

}  // namespace

template <class C>
void halve_clusters(const Rows &rows, const double *weights, double scale,
                    const std::int32_t *labels, Centers<double> means, std::uint64_t seed,
                    std::int64_t n_passes, std::int32_t *halves, double *centers, double *gains,
                    int n_threads) {
    const OrderedRows ordered(labels, rows.n_rows, means.n_centers);
    const Halving<C> halving{rows, weights, scale, means, seed, n_passes, halves, centers, gains};
    PerThread<Scratch<C>> all_scratch(n_threads, rows.n_columns);
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 4) if (n_threads > 1)
    for (std::int64_t cluster = 0; cluster < means.n_centers; ++cluster) {
        const std::int64_t first = ordered.starts[cluster];
        halving.divide(cluster, ordered.order.data() + first, ordered.starts[cluster + 1] - first,
                       all_scratch.own());
    }
}

PK_INSTANTIATE(halve_clusters);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

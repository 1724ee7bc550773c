// Sparse rows with their columns hashed to fewer ones: the product with a CountSketch matrix R (one
// nonzero in each of its rows, see sparse_targets.hpp), kept sparse.
//
// A row's values are added to the new columns in the order of its nonzeros, so that they have the
// bits of sparse_sign_product for the same rows given dense.
#include "lanes/buffer.hpp"
#include "lanes/elements.hpp"
#include "maps/kernels.hpp"
#include "maps/sparse_targets.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Targets that are made at once.
constexpr std::int64_t together = 256;

// The new columns of one row: their sums, and a bit for each column that has a sum.
template <class C> class HashedRow {
  public:
    explicit HashedRow(std::int64_t n_columns)
        : n_words_((n_columns + 63) / 64), sums_(n_columns), named_(n_words_) {
        for (std::int64_t word = 0; word < n_words_; ++word) named_[word] = 0;
    }

    void add(Target target, C value) {
        const std::int64_t column = target >> 1, word = column / 64;
        const std::uint64_t bit = std::uint64_t{1} << column % 64;
        const C term = target & 1 ? -value : value;
        sums_[column] = named_[word] & bit ? sums_[column] + term : term;
        named_[word] |= bit;
    }

    // Writes the columns in ascending order with their sums, forgets them, and returns how many
    // there were.
    std::int64_t move_to(std::int32_t *columns, C *values) {
        std::int64_t n = 0;
        for (std::int64_t word = 0; word < n_words_; ++word) {
            for (std::uint64_t left = named_[word]; left; left &= left - 1) {
                const std::int64_t column = 64 * word + __builtin_ctzll(left);
                columns[n] = static_cast<std::int32_t>(column);
                values[n++] = sums_[column];
            }
            named_[word] = 0;
        }
        return n;
    }

  private:
    std::int64_t n_words_;
    Buffer<C> sums_;
    Buffer<std::uint64_t> named_;
};

}  // namespace

template <class C>
void hash_columns(const SparseRows<C> &rows, Map map, C *values, std::int32_t *columns,
                  std::int64_t *starts, int n_threads) {
    const std::int64_t n_nonzeros = rows.start(rows.n_rows);
    const Stretches stretches{map.n_components, 1};
    Buffer<C> found(n_nonzeros);  // the new entries of each row, where its nonzeros begin
    Buffer<std::int32_t> places(n_nonzeros);
    PerThread<HashedRow<C>> all_rows(n_threads, map.n_components);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        HashedRow<C> &hashed = all_rows.own();
        Target targets[together];
#pragma omp for schedule(dynamic, 64)
        for (std::int64_t row = 0; row < rows.n_rows; ++row) {
            const std::int64_t begin = rows.start(row), end = rows.start(row + 1);
            for (std::int64_t first = begin; first < end; first += together) {
                const std::int64_t n = end - first < together ? end - first : together;
                generate_targets(
                    map.key, stretches, n, [&](std::int64_t i) { return rows.index(first + i); },
                    targets);
                for (std::int64_t i = 0; i < n; ++i) hashed.add(targets[i], rows.values[first + i]);
            }
            starts[row + 1] = hashed.move_to(places.data() + begin, found.data() + begin);
        }
#pragma omp single
        {
            starts[0] = 0;
            for (std::int64_t row = 0; row < rows.n_rows; ++row) starts[row + 1] += starts[row];
        }
#pragma omp for schedule(static)
        for (std::int64_t row = 0; row < rows.n_rows; ++row) {
            const std::int64_t from = rows.start(row), to = starts[row];
            for (std::int64_t e = 0; e < starts[row + 1] - to; ++e) {
                values[to + e] = found[from + e];
                columns[to + e] = places[from + e];
            }
        }
    }
}

PK_INSTANTIATE(hash_columns);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// Sparse rows times the random sign matrix R. The results have the bits of sign_product.cpp for the
// same rows given dense, and only nonzeros cost time. Columns of R are in the lanes.
#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"
#include "maps/kernels.hpp"
#include "maps/narrow_sign_product.hpp"
#include "maps/sign_sections.hpp"
#include "maps/sign_words.hpp"
#include "maps/tile_product.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

using Cell = std::uint32_t[4];

// The Philox cells of the rows of R that the nonzeros of sparse rows need. If every row of R is
// needed at least twice on average and all cells fit into `panel_bytes`, they are made beforehand.
template <class C> class Cells {
  public:
    Cells(const SparseRows<C> &rows, Map map, int n_threads)
        : rows_(rows), key_(map.key),
          n_cells_((map.n_components + columns_per_cell - 1) / columns_per_cell),
          keep_(rows.n_columns <=
                    panel_bytes / static_cast<std::int64_t>(sizeof(Cell)) / n_cells_ &&
                rows.start(rows.n_rows) >= 2 * rows.n_columns),
          kept_(keep_ ? n_cells_ * rows.n_columns : 0) {
        constexpr std::int64_t part = 512;
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
        for (std::int64_t first = 0; first < (keep_ ? rows.n_columns : 0); first += part) {
            const std::int64_t left = rows_.n_columns - first;
            for (std::int64_t cell = 0; cell < n_cells_; ++cell)
                cells_of(
                    key_, Stream::signs, static_cast<std::uint32_t>(cell),
                    left < part ? left : part, [first](std::int64_t i) { return first + i; },
                    kept_.data() + cell * rows_.n_columns + first);
        }
    }

    // found[e - begin] <- the cell of the row of R that belongs to nonzero e.
    void find(std::int64_t begin, std::int64_t end, std::int64_t cell, Cell *found) {
        if (keep_)
            for (std::int64_t e = begin; e < end; ++e)
                std::memcpy(found[e - begin], kept_[cell * rows_.n_columns + rows_.index(e)],
                            sizeof(Cell));
        else
            cells_of(
                key_, Stream::signs, static_cast<std::uint32_t>(cell), end - begin,
                [&](std::int64_t i) { return rows_.index(begin + i); }, found);
    }

  private:
    const SparseRows<C> &rows_;
    const std::uint64_t key_;
    const std::int64_t n_cells_;
    const bool keep_;
    Buffer<Cell> kept_;
};

// The nonzeros of one sparse row.
template <class C> struct Nonzeros {
    const C *values;
    const Cell *cells;
    const std::int64_t *group_of;  // the group of coordinates of each nonzero
    const std::int64_t *ends;      // for each section, the nonzero after its last
    std::int64_t n_sections;
};

// Neighbouring columns of R that lie in one cell, as vectors.
template <class C, int n_vectors> struct Stretch {
    static constexpr int size = n_vectors * n_lanes<C>, a_word = SignLanes<C>::n_vectors;
    static_assert(columns_per_cell % size == 0, "no stretch goes on in the next cell");
    SignLanes<C> lanes;
    int word, at;  // the word of the cell, and the place of the first vector in that word

    explicit Stretch(std::int64_t column)
        : word(static_cast<int>(column % columns_per_cell / 32)),
          at(n_vectors < a_word ? static_cast<int>(column % 32) / n_lanes<C> : 0) {}

    Lanes<C> term(Lanes<C> value, const Cell &cell, int v) const {
        return lanes.choose(value, -value, cell[word + v / a_word], at + v % a_word);
    }
};

// The sums of nonzeros [begin, end), which are all nonzeros of one section. Groups without a
// nonzero are left out, because they would only add zeros.
template <class C, int n_vectors>
[[gnu::noinline]] void sum_section(const Stretch<C, n_vectors> &stretch,
                                   const Nonzeros<C> &nonzeros, std::int64_t begin,
                                   std::int64_t end, C *sums) {
    Lanes<C> section[n_vectors] = {}, group[n_vectors] = {};
    for (std::int64_t e = begin; e < end; ++e) {
        const bool opens = e == begin || nonzeros.group_of[e] != nonzeros.group_of[e - 1];
        const Lanes<C> value = broadcast(nonzeros.values[e]);
        for (int v = 0; v < n_vectors; ++v) {
            const Lanes<C> term = stretch.term(value, nonzeros.cells[e], v);
            if (opens) section[v] += group[v];
            group[v] = opens ? term : group[v] + term;
        }
    }
    for (int v = 0; v < n_vectors; ++v) store(sums + v * n_lanes<C>, section[v] + group[v]);
}

// The sums of a stretch of columns. A nonzero that is alone in its section, as most are in very
// sparse rows, is added directly. Sections with more nonzeros are summed by a function of their own
// and pass through memory, so that the totals here stay in registers.
template <class C, int n_vectors>
[[gnu::noinline]] void sum_nonzeros(const Stretch<C, n_vectors> &stretch,
                                    const Nonzeros<C> &nonzeros, C *out) {
    Lanes<C> total[n_vectors] = {};
    std::int64_t begin = 0;
    for (std::int64_t section = 0; section < nonzeros.n_sections; ++section) {
        const std::int64_t end = nonzeros.ends[section];
        if (end - begin > 1) {
            C sums[Stretch<C, n_vectors>::size];
            sum_section(stretch, nonzeros, begin, end, sums);
            for (int v = 0; v < n_vectors; ++v) total[v] += load(sums + v * n_lanes<C>);
        } else {
            const Lanes<C> value = broadcast(nonzeros.values[begin]);
            for (int v = 0; v < n_vectors; ++v)
                total[v] += stretch.term(value, nonzeros.cells[begin], v);
        }
        begin = end;
    }
    for (int v = 0; v < n_vectors; ++v) store(out + v * n_lanes<C>, total[v]);
}

// Calls `action` with the number of vectors of the next stretch as a constant: eight while enough
// columns are left, then fewer, so that few lanes are wasted.
template <class C, class Action> inline void with_stretch(std::int64_t n_columns, Action action) {
    const std::int64_t n_vectors = (n_columns + n_lanes<C> - 1) / n_lanes<C>;
    if (n_vectors >= 6) return action(std::integral_constant<int, 8>{});
    if (n_vectors >= 3) return action(std::integral_constant<int, 4>{});
    if (n_vectors == 2) return action(std::integral_constant<int, 2>{});
    action(std::integral_constant<int, 1>{});
}

// Finds the groups of a row's nonzeros and the ends of its sections; returns how many sections.
template <class C, int bits>
std::int64_t find_sections(const SparseRows<C> &rows, std::int64_t begin, std::int64_t end,
                           std::int64_t *group_of, std::int64_t *ends) {
    std::int64_t n_sections = 0, before = -1;
    for (std::int64_t e = begin; e < end; ++e) {
        const std::int64_t group = rows.index(e) / bits, section = group / groups;
        group_of[e - begin] = group;
        n_sections += section != before;
        ends[n_sections - 1] = e - begin + 1;
        before = section;
    }
    return n_sections;
}

template <class C> std::int64_t longest_row(const SparseRows<C> &rows) {
    std::int64_t longest = 0;
    for (std::int64_t row = 0; row < rows.n_rows; ++row) {
        const std::int64_t length = rows.start(row + 1) - rows.start(row);
        if (length > longest) longest = length;
    }
    return longest;
}

template <class C, int bits>
void multiply_sparse(const SparseRows<C> &rows, Map map, C *out, int n_threads) {
    const std::int64_t t = map.n_components, longest = longest_row(rows);
    const C scale = static_cast<C>(map.scale);
    Cells<C> cells(rows, map, n_threads);
    PerThread<Buffer<Cell>> all_found(n_threads, longest);
    PerThread<Buffer<std::int64_t>> all_groups(n_threads, longest), all_ends(n_threads, longest);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        Buffer<Cell> &found = all_found.own();
        Buffer<std::int64_t> &group_of = all_groups.own(), &ends = all_ends.own();
#pragma omp for schedule(dynamic, 16)
        for (std::int64_t row = 0; row < rows.n_rows; ++row) {
            const std::int64_t begin = rows.start(row), end = rows.start(row + 1);
            const std::int64_t n_sections =
                find_sections<C, bits>(rows, begin, end, group_of.data(), ends.data());
            const Nonzeros<C> nonzeros{rows.values + begin, found.data(), group_of.data(),
                                       ends.data(), n_sections};
            std::int64_t column = 0;
            while (column < t) {
                if (column % columns_per_cell == 0)
                    cells.find(begin, end, column / columns_per_cell, found.data());
                with_stretch<C>(t - column, [&](auto n_vectors) {
                    const Stretch<C, n_vectors> stretch(column);
                    C sums[stretch.size];
                    sum_nonzeros(stretch, nonzeros, sums);
                    for (int j = 0; j < stretch.size && column < t; ++j, ++column)
                        out[row * t + column] = sums[j] * scale;
                });
            }
        }
    }
}

template <class C, int n_components>
void multiply_narrow_sparse(const SparseRows<C> &rows, Map map, C *out, int n_threads) {
    const std::int64_t longest = longest_row(rows);
    const C scale = static_cast<C>(map.scale);
    Cells<C> cells(rows, map, n_threads);
    PerThread<Buffer<Cell>> all_found(n_threads, longest);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        Buffer<Cell> &found = all_found.own();
#pragma omp for schedule(dynamic, 16)
        for (std::int64_t row = 0; row < rows.n_rows; ++row) {
            const std::int64_t begin = rows.start(row), end = rows.start(row + 1);
            cells.find(begin, end, 0, found.data());
            C sums[n_components][partial_sums<C>] = {};
            for (std::int64_t e = begin; e < end; ++e)
                for (int column = 0; column < n_components; ++column) {
                    const bool plus = found[e - begin][0] >> column & 1;
                    sums[column][rows.index(e) % partial_sums<C>] +=
                        plus ? rows.values[e] : -rows.values[e];
                }
            for (int column = 0; column < n_components; ++column)
                out[row * n_components + column] = add_partial_sums(sums[column]) * scale;
        }
    }
}

}  // namespace

template <class C>
void sign_product_sparse(const SparseRows<C> &rows, Map map, C *out, int n_threads) {
    if (map.n_components <= few_columns)
        return with_few_columns(map.n_components, [&](auto n_components) {
            multiply_narrow_sparse<C, n_components>(rows, map, out, n_threads);
        });
    with_group_bits<C>(map.n_components,
                       [&](auto bits) { multiply_sparse<C, bits>(rows, map, out, n_threads); });
}

PK_INSTANTIATE(sign_product_sparse);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

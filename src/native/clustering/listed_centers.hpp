// Rows that share a list of centers, and the products of such rows with the centers of their list.
//
// Centers stand in lanes and a row is broadcast, one value a column. So a list of 32 centers in
// float keeps all lanes busy whatever the number of rows is, and rows are read where they lie. The
// score of center c is |c|^2 / 2 - <x, c>; it is smallest for the nearest center.
#pragma once

#include <cmath>
#include <limits>

#include "clustering/arguments.hpp"
#include "lanes/buffer.hpp"
#include "lanes/elements.hpp"
#include "lanes/transpose.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Vectors of centers that are multiplied with rows at once, and rows: as many as have room for
// their sums in registers. Lists that fit into one vector or two meet more rows at once, so that
// additions do not wait for each other.
constexpr int listed_vectors = 4;
template <int vectors>
constexpr int rows_with = vectors == 1            ? 7
                          : PK_VECTOR_BYTES == 64 ? (vectors == 2 ? 8 : 6)
                                                  : (vectors == 2 ? 4 : 3);
constexpr int listed_rows = rows_with<listed_vectors>;

// The most rows that meet a list at once, however long it is.
constexpr int most_listed_rows = larger(larger(rows_with<1>, rows_with<2>), listed_rows);

// Centers of a chunk of a list.
template <class C> constexpr std::int64_t chunk_centers = listed_vectors * n_lanes<C>;

// Rows of a group that a thread takes at once. The centers of the list are packed once for them.
constexpr std::int64_t unit_rows = 512;

// |c|^2 / 2 of all centers, and the largest |c|.
template <class C> struct HalfNorms {
    Buffer<C> values;
    C largest = 0;

    HalfNorms(Centers<C> centers, std::int64_t n_columns) : values(centers.n_centers) {
        constexpr int together = 8;  // whatever the instruction set is
        for (std::int64_t j = 0; j < centers.n_centers; ++j) {
            const C *from = centers.data + j * n_columns;
            Vector<double, together> sums = {};
            std::int64_t column = 0;
            for (; column + together <= n_columns; column += together) {
                const auto entries = load_as<double, together>(from + column);
                sums += entries * entries;
            }
            double norm = 0;
            for (int i = 0; i < together; ++i) norm += sums[i];
            for (; column < n_columns; ++column)
                norm += static_cast<double>(from[column]) * from[column];
            values[j] = static_cast<C>(norm / 2);
            largest = larger(static_cast<C>(std::sqrt(norm)), largest);
        }
    }
};

// The rows of a block in the order of their groups, cut into units of at most `unit_rows` rows of
// one group. Rows of the group -1 are left out.
class GroupedRows {
  public:
    struct Unit {
        std::int32_t group;
        std::int64_t first, n_rows;  // a range of `order`
    };

    GroupedRows(const std::int32_t *groups, std::int64_t n_rows, std::int64_t n_groups)
        : order_(n_rows), units_(n_groups + n_rows / unit_rows + 1) {
        Buffer<std::int64_t> ends(n_groups + 1);
        for (std::int64_t g = 0; g <= n_groups; ++g) ends[g] = 0;
        for (std::int64_t i = 0; i < n_rows; ++i)
            if (groups[i] >= 0) ++ends[groups[i] + 1];
        for (std::int64_t g = 0; g < n_groups; ++g) {
            const std::int64_t first = ends[g], last = first + ends[g + 1];
            ends[g + 1] = last;
            for (std::int64_t begin = first; begin < last; begin += unit_rows)
                units_[n_units_++] = {static_cast<std::int32_t>(g), begin,
                                      smaller(unit_rows, last - begin)};
        }
        n_ordered_ = ends[n_groups];
        for (std::int64_t i = 0; i < n_rows; ++i)
            if (groups[i] >= 0) order_[ends[groups[i]]++] = i;
    }

    std::int64_t n_units() const { return n_units_; }
    const Unit &unit(std::int64_t index) const { return units_[index]; }
    const std::int64_t *rows_of(const Unit &unit) const { return order_.data() + unit.first; }
    const std::int64_t *end() const { return order_.data() + n_ordered_; }

  private:
    Buffer<std::int64_t> order_;
    Buffer<Unit> units_;
    std::int64_t n_ordered_ = 0, n_units_ = 0;
};

// The centers of one list: data[chunk][column][center of the chunk]. The rest of the last chunk
// repeats a center with an infinite score, so that it cannot win.
template <class C> class PackedList {
  public:
    PackedList(std::int64_t longest, std::int64_t n_columns)
        : n_columns_(n_columns), data_(n_chunks_of(longest) * n_columns * chunk_centers<C>),
          half_norms_(n_chunks_of(longest) * chunk_centers<C>) {}

    void fill(Centers<C> centers, const HalfNorms<C> &norms, const std::int32_t *names,
              std::int64_t n_names) {
        constexpr std::int64_t width = chunk_centers<C>;
        constexpr int side = square<C>;
        n_chunks_ = n_chunks_of(n_names);
        const std::int64_t filled = n_vectors(n_names) * n_chunks_ * n_lanes<C>;
        for (std::int64_t j = 0; j < filled; j += side) {
            const C *from[side];
            for (int i = 0; i < side; ++i) {
                const bool real = j + i < n_names;
                const std::int32_t name = names[real ? j + i : 0];
                from[i] = centers.data + name * n_columns_;
                half_norms_[j + i] = real ? norms.values[name] : std::numeric_limits<C>::infinity();
            }
            transpose_rows<C>(from, n_columns_,
                              data_.data() + j / width * n_columns_ * width + j % width, width);
        }
    }

    std::int64_t n_chunks() const { return n_chunks_; }

    // How many vectors of each chunk a list of that length fills. The rest is not filled.
    static int n_vectors(std::int64_t n_names) {
        return n_names <= n_lanes<C> ? 1 : n_names <= 2 * n_lanes<C> ? 2 : listed_vectors;
    }

    // scores <- those of some rows, which lie one after another, and the first centers of a chunk:
    // as many as `vectors` hold.
    template <int n_rows, int vectors>
    void score(const C *rows, std::int64_t chunk, Lanes<C> (&scores)[n_rows][vectors]) const {
        const C *centers = data_.data() + chunk * n_columns_ * chunk_centers<C>;
        Lanes<C> products[n_rows][vectors] = {};
        for (std::int64_t column = 0; column < n_columns_; ++column) {
            Lanes<C> values[n_rows];
#pragma GCC unroll 8
            for (int i = 0; i < n_rows; ++i) values[i] = broadcast(rows[i * n_columns_ + column]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) {
                const Lanes<C> center = load(centers + column * chunk_centers<C> + v * n_lanes<C>);
#pragma GCC unroll 8
                for (int i = 0; i < n_rows; ++i) products[i][v] += center * values[i];
            }
        }
        for (int v = 0; v < vectors; ++v) {
            const Lanes<C> half =
                load(half_norms_.data() + chunk * chunk_centers<C> + v * n_lanes<C>);
            for (int i = 0; i < n_rows; ++i) scores[i][v] = half - products[i][v];
        }
    }

  private:
    static std::int64_t n_chunks_of(std::int64_t n) {
        return (n + chunk_centers<C> - 1) / chunk_centers<C>;
    }

    std::int64_t n_columns_, n_chunks_ = 0;
    Buffer<C> data_, half_norms_;
};

// to <- the row in the frame's coordinates; returns its squared norm.
template <class C, class T>
C frame_row(const T *from, Frame<C> frame, std::int64_t n_columns, C *to) {
    constexpr int lanes = n_lanes<C>;
    Lanes<C> norms = {};
    std::int64_t column = 0;
    for (; column + lanes <= n_columns; column += lanes) {
        const Lanes<C> moved =
            (load_as<C, lanes>(from + column) - load(frame.origin + column)) * frame.scale;
        store(to + column, moved);
        norms += moved * moved;
    }
    C norm = sum_lanes<C>(norms);
    for (; column < n_columns; ++column) {
        to[column] = (static_cast<C>(widen(from[column])) - frame.origin[column]) * frame.scale;
        norm += to[column] * to[column];
    }
    return norm;
}

// The longest list.
inline std::int64_t longest_list(CenterLists lists) {
    std::int64_t longest = 0;
    for (std::int64_t g = 0; g < lists.n_groups; ++g)
        longest = larger(lists.starts[g + 1] - lists.starts[g], longest);
    return longest;
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

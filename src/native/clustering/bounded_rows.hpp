// The data of a search with bounds: the bounds themselves, centers in groups, and the rows of a
// batch for which bounds alone do not decide. See bounded_assignment.cpp.
#pragma once

#include "clustering/arguments.hpp"
#include "clustering/exact_distance.hpp"
#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Rows of a batch. With fewer, the rows that meet a group of centers would not fill a tile.
constexpr std::int64_t max_batch_rows = 512;

// Rows of a batch that take at most this many bytes are kept in the frame's coordinates, which stay
// in the second-level cache. Wider rows enter the frame whenever they are gathered.
constexpr std::int64_t kept_bytes = std::int64_t{128} << 10;
template <class C> constexpr bool is_kept(std::int64_t n_columns) {
    return max_batch_rows * n_columns * static_cast<std::int64_t>(sizeof(C)) <= kept_bytes;
}

// Columns of rows, and tiles of them, that meet centers while both are in the caches.
constexpr std::int64_t slab_columns = 256;
constexpr std::int64_t slab_tiles = 1;

// The lower bounds of a row, one for each group of centers.
using Quanta = Vector<std::uint16_t, bounds_per_row>;

inline Quanta load_quanta(const std::uint16_t *from) {
    Quanta quanta;
    std::memcpy(&quanta, from, sizeof quanta);
    return quanta;
}

// Lowers the bounds by what centers moved, to zero at the lowest.
inline void widen_lower(std::uint16_t *lower, Quanta drift) {
    const Quanta wider = larger(load_quanta(lower), drift) - drift;
    std::memcpy(lower, &wider, sizeof wider);
}

// One bit for each group whose lower bound is at most the upper bound of the row's own center. Only
// these groups can hold a nearer center.
inline unsigned groups_in_reach(const std::uint16_t *lower, std::uint16_t upper) {
#if defined(__AVX2__)
    const __m256i bounds = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(lower));
    const __m256i excess = _mm256_subs_epu16(bounds, _mm256_set1_epi16(static_cast<short>(upper)));
    const __m256i reached = _mm256_cmpeq_epi16(excess, _mm256_setzero_si256());
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(reached), _mm256_extracti128_si256(reached, 1));
    return static_cast<unsigned>(_mm_movemask_epi8(bytes));
#else
    unsigned reached = 0;
    for (int g = 0; g < bounds_per_row; ++g) reached |= unsigned{lower[g] <= upper} << g;
    return reached;
#endif
}

// The centers of all groups: data[place / together][column][place % together], where `together` is
// centers_together. Groups are padded with centers that no row chooses.
template <class C> struct GroupedCenters {
    Centers<C> plain;
    std::int64_t n_columns, group_size, n_groups;
    Buffer<C> data, half_norms;
    Buffer<std::int32_t> center_of;  // the center at a place, or -1
    Buffer<std::int32_t> place_of;   // the place of a center
    C largest = 0;                   // the largest norm of a center

    GroupedCenters(Centers<C> centers, CenterGroups groups, std::int64_t width)
        : plain(centers), n_columns(width),
          group_size((groups.size + centers_together - 1) / centers_together * centers_together),
          n_groups(groups.n_groups), data(n_groups * group_size * width),
          half_norms(n_groups * group_size), center_of(n_groups * group_size),
          place_of(centers.n_centers) {
        for (std::int64_t g = 0; g < n_groups; ++g)
            for (std::int64_t i = 0; i < group_size; ++i)
                put(i < groups.size ? groups.members[g * groups.size + i] : -1, g * group_size + i);
    }

  private:
    void put(std::int32_t center, std::int64_t place) {
        double norm = 0;
        C *to = data.data() + place / centers_together * centers_together * n_columns +
                place % centers_together;
        for (std::int64_t column = 0; column < n_columns; ++column) {
            const C value = center >= 0 ? plain.data[center * n_columns + column] : C{0};
            to[column * centers_together] = value;
            norm += static_cast<double>(value) * value;
        }
        center_of[place] = center;
        half_norms[place] =
            center < 0 ? std::numeric_limits<C>::infinity() : static_cast<C>(norm / 2);
        if (center >= 0) place_of[center] = static_cast<std::int32_t>(place);
        largest = larger(largest, static_cast<C>(std::sqrt(norm)));
    }
};

// A row of the batch that has at least one group in reach.
template <class C> struct BoundedRow {
    std::int64_t row;
    std::int32_t own, place;  // the places of its own center and of the nearest so far
    C norm, margin;
    C own_score, best, second;  // scores of its own center, the best center and the second best
    C group_second;             // the second best score in the group of the best center
};

template <class C> struct BoundedScratch {
    Buffer<C> kept;                 // the rows in the frame, if they are narrow
    Buffer<C> norms, products;      // of rows: squared norms, and products with their own centers
    Buffer<C> slab, slab_products;  // tiles of rows, and their products with centers
    Buffer<BoundedRow<C>> candidates;
    Buffer<std::int64_t> rows;    // the numbers of the rows in the block
    Buffer<std::uint16_t> lists;  // for each group, the rows that must look at it
    std::int64_t lengths[bounds_per_row];
    Buffer<double> settling;

    BoundedScratch(std::int64_t n_columns, std::int64_t n_places)
        : kept(is_kept<C>(n_columns) ? max_batch_rows * n_columns : 0), norms(max_batch_rows),
          products(max_batch_rows),
          slab(smaller(n_columns, slab_columns) * slab_tiles * tile_rows<C>),
          slab_products(n_places * slab_tiles * tile_rows<C>), candidates(max_batch_rows),
          rows(max_batch_rows + 1), lists(bounds_per_row * max_batch_rows),
          settling(settle_scratch(n_columns)) {}
};

// Computes the squared norms of rows in the frame, and their products with their own centers. Keeps
// the rows in the frame if `keeps`.
template <class C, class T, bool keeps>
void measure_rows(const Rows &rows, Frame<C> frame, Centers<C> centers, const std::int32_t *labels,
                  std::int64_t n_candidates, BoundedScratch<C> &scratch) {
    constexpr int lanes = n_lanes<C>;
    for (std::int64_t i = 0; i < n_candidates; ++i) {
        const T *row = rows.row<T>(scratch.rows[i]);
        const C *center = centers.data + labels[scratch.rows[i]] * rows.n_columns;
        C *out = scratch.kept.data() + i * rows.n_columns;
        Lanes<C> sums[4] = {};  // of squares, of products, and two that stay zero
        std::int64_t column = 0;
        for (; column + lanes <= rows.n_columns; column += lanes) {
            const Lanes<C> moved =
                (load_as<C, lanes>(row + column) - load(frame.origin + column)) * frame.scale;
            if constexpr (keeps) store(out + column, moved);
            sums[0] += moved * moved;
            sums[1] += moved * load(center + column);
        }
        const Vector<C, 4> totals = sum_each<C>(sums);
        C norm = totals[0], product = totals[1];
        for (; column < rows.n_columns; ++column) {
            const C moved =
                (static_cast<C>(widen(row[column])) - frame.origin[column]) * frame.scale;
            if constexpr (keeps) out[column] = moved;
            norm += moved * moved;
            product += moved * center[column];
        }
        scratch.norms[i] = norm;
        scratch.products[i] = product;
    }
}

// Copies columns [begin, end) of up to a tile of candidates, in the frame's coordinates, to
// out[column][row]. Lanes without a row hold the first one.
template <class C, class T>
void gather_rows(const Rows &rows, Frame<C> frame, const BoundedScratch<C> &scratch,
                 const std::uint16_t *list, std::int64_t n_rows, std::int64_t begin,
                 std::int64_t end, C *out) {
    constexpr int side = square<C>, tile = tile_rows<C>;
    for (int base = 0; base < tile; base += side) {
        const T *from[side];
        for (int i = 0; i < side; ++i)
            from[i] = rows.row<T>(scratch.rows[list[base + i < n_rows ? base + i : 0]]);
        std::int64_t column = begin;
        C *to = out + base;
        for (; column + side <= end; column += side, to += side * tile) {
            const auto origin = load_as<C, side>(frame.origin + column);
            Vector<C, side> in[side];
#pragma GCC unroll 8
            for (int i = 0; i < side; ++i)
                in[i] = (load_as<C, side>(from[i] + column) - origin) * frame.scale;
            transpose(in, to, tile);
        }
        for (; column < end; ++column, to += tile)
            for (int i = 0; i < side; ++i)
                to[i] =
                    (static_cast<C>(widen(from[i][column])) - frame.origin[column]) * frame.scale;
    }
}

// The same for all columns of rows that are kept in the frame.
template <class C>
void gather_kept(const Rows &rows, Frame<C>, const BoundedScratch<C> &scratch,
                 const std::uint16_t *list, std::int64_t n_rows, std::int64_t, std::int64_t,
                 C *out) {
    constexpr int side = square<C>, tile = tile_rows<C>;
    for (int base = 0; base < tile; base += side) {
        const C *from[side];
        for (int i = 0; i < side; ++i)
            from[i] = scratch.kept.data() + list[base + i < n_rows ? base + i : 0] * rows.n_columns;
        transpose_rows<C>(from, rows.n_columns, out + base, tile);
    }
}

// Both for an element type that is known only at run time.
template <class C> struct ReadRows {
    void (*measure)(const Rows &, Frame<C>, Centers<C>, const std::int32_t *, std::int64_t,
                    BoundedScratch<C> &) = nullptr;
    void (*gather)(const Rows &, Frame<C>, const BoundedScratch<C> &, const std::uint16_t *,
                   std::int64_t, std::int64_t, std::int64_t, C *) = nullptr;

    explicit ReadRows(const Rows &rows) {
        static_assert(is_kept<C>(0) && !is_kept<C>(slab_columns));  // kept rows fit into one slab
        with_element(rows.element, [&](auto zero) {
            using T = decltype(zero);
            const bool keeps = is_kept<C>(rows.n_columns);
            measure = keeps ? &measure_rows<C, T, true> : &measure_rows<C, T, false>;
            gather = keeps ? &gather_kept<C> : &gather_rows<C, T>;
        });
    }
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// Rows to their nearest centers where most comparisons are known to be lost: the assignment half of
// Lloyd's method from its second pass on (Yinyang k-means, Ding and others 2015, bounds made
// small). Gives the same labels as nearest_center, as both let exact distances decide what rounding
// may not.
//
// Centers stand in up to `bounds_a_row` groups. Every row keeps, in quanta of two bytes, an upper
// bound on the distance to its center and for each group a lower bound on the distance to the
// group's other centers. Bounds widen by what centers moved; a group is looked at only where its
// lower bound does not exceed the upper one. A batch of rows is filtered first, then every group
// meets the rows that need it, gathered into tiles.
#include <omp.h>

#include "exact_distance.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Divides the sizes of the groups that Python makes (bounds.py).
constexpr int n_together = 4;

// The rows of a batch in the frame's coordinates stay in the second cache.
constexpr std::int64_t batch_bytes = std::int64_t{128} << 10;
constexpr std::int64_t most_rows = 512;

constexpr int most_quanta = 65535;
using Quanta = Vector<std::uint16_t, bounds_a_row>;

inline Quanta load_quanta(const std::uint16_t *from) {
    Quanta quanta;
    std::memcpy(&quanta, from, sizeof quanta);
    return quanta;
}

inline void widen_lower(std::uint16_t *lower, Quanta drift) {
    const Quanta wider = larger(load_quanta(lower), drift) - drift;
    std::memcpy(lower, &wider, sizeof wider);
}

// One bit for each group whose lower bound does not exceed the upper one.
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
    for (int g = 0; g < bounds_a_row; ++g) reached |= unsigned{lower[g] <= upper} << g;
    return reached;
#endif
}

// The centers of all groups, data[place / n_together][column][place % n_together]; groups are
// padded with centers that cannot win.
template <class C> struct GroupedCenters {
    Centers<C> plain;
    std::int64_t n_columns, group_size, n_groups;
    Buffer<C> data, half_norms;
    Buffer<std::int32_t> center_of, place_of;  // place to center, or -1; center to place
    C largest = 0;                             // norm of a center

    GroupedCenters(Centers<C> centers, CenterGroups groups, std::int64_t width)
        : plain(centers), n_columns(width),
          group_size((groups.size + n_together - 1) / n_together * n_together),
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
        C *to = data.data() + place / n_together * n_together * n_columns + place % n_together;
        for (std::int64_t column = 0; column < n_columns; ++column) {
            const C value = center >= 0 ? plain.data[center * n_columns + column] : C{0};
            to[column * n_together] = value;
            norm += static_cast<double>(value) * value;
        }
        center_of[place] = center;
        half_norms[place] =
            center < 0 ? std::numeric_limits<C>::infinity() : static_cast<C>(norm / 2);
        if (center >= 0) place_of[center] = static_cast<std::int32_t>(place);
        largest = larger(largest, static_cast<C>(std::sqrt(norm)));
    }
};

// A row of the batch that may have groups to look at.
template <class C> struct Candidate {
    std::int64_t row;
    std::int32_t own, place;  // places of its center, and of the nearest so far
    C norm, margin;
    C own_score, best, second;  // scores: of its center, the least, the least but one
    C group_second;             // the least but one in the group of the least
};

template <class C> struct Scratch {
    std::int64_t stride;  // of values: whole squares, so that tiles are gathered by transposing
    Buffer<C> values;     // candidates in the frame's coordinates
    Buffer<C> norms, products;  // of candidates: squared, and with their centers
    Buffer<C> tile;
    Buffer<Candidate<C>> candidates;
    Buffer<std::int64_t> rows;    // of candidates
    Buffer<std::uint16_t> lists;  // of candidates, for each group
    std::int64_t lengths[bounds_a_row];

    Scratch(std::int64_t n_rows, std::int64_t n_columns)
        : stride((n_columns + square<C> - 1) / square<C> * square<C>), values(n_rows * stride),
          norms(n_rows), products(n_rows), tile(stride * tile_rows<C>), candidates(n_rows),
          rows(n_rows + 1), lists(bounds_a_row * most_rows) {}
};

// Moves candidates into the frame; notes their squared norms and products with their centers.
template <class C, class T>
void enter_rows(const Rows &rows, Frame<C> frame, Centers<C> centers, const std::int32_t *labels,
                std::int64_t n_candidates, Scratch<C> &scratch) {
    constexpr int lanes = n_lanes<C>;
    for (std::int64_t i = 0; i < n_candidates; ++i) {
        const T *row = rows.row<T>(scratch.rows[i]);
        const C *center = centers.data + labels[scratch.rows[i]] * rows.n_columns;
        C *out = scratch.values.data() + i * scratch.stride;
        Lanes<C> sums[4] = {};  // of squares, of products
        std::int64_t column = 0;
        for (; column + lanes <= rows.n_columns; column += lanes) {
            const Lanes<C> moved =
                (load_as<C, lanes>(row + column) - load(frame.origin + column)) * frame.scale;
            store(out + column, moved);
            sums[0] += moved * moved;
            sums[1] += moved * load(center + column);
        }
        const Vector<C, 4> totals = sum_each<C>(sums);
        C norm = totals[0], product = totals[1];
        for (; column < rows.n_columns; ++column) {
            out[column] = (static_cast<C>(widen(row[column])) - frame.origin[column]) * frame.scale;
            norm += out[column] * out[column];
            product += out[column] * center[column];
        }
        scratch.norms[i] = norm;
        scratch.products[i] = product;
    }
}

template <class C>
using EnterRows = void (*)(const Rows &, Frame<C>, Centers<C>, const std::int32_t *, std::int64_t,
                           Scratch<C> &);

// What a tile of rows has found in a group, their own centers left out.
template <class C> struct Found {
    Lanes<C> best[2], second[2];
    IndexLanes<C> place[2], own[2];

    void note(int half, Lanes<C> scores, LaneIndex<C> at) {
        const Lanes<C> none = broadcast(std::numeric_limits<C>::infinity());
        scores = own[half] == at ? none : scores;
        place[half] = scores < best[half] ? broadcast_index<C>(at) : place[half];
        second[half] = smaller(second[half], larger(best[half], scores));
        best[half] = smaller(best[half], scores);
    }
};

// The products of a tile of rows with centers that stand together. A function of its own: inlined,
// its sums lose their registers to what surrounds it.
template <class C>
[[gnu::noinline]] void multiply(const C *packed, const C *centers, std::int64_t n_columns,
                                Lanes<C> (&products)[n_together][2]) {
    Lanes<C> sums[n_together][2] = {};
    for (std::int64_t column = 0; column < n_columns; ++column) {
        const Lanes<C> low = load(packed + column * tile_rows<C>);
        const Lanes<C> high = load(packed + column * tile_rows<C> + n_lanes<C>);
#pragma GCC unroll 8
        for (int j = 0; j < n_together; ++j) {
            sums[j][0] += low * centers[column * n_together + j];
            sums[j][1] += high * centers[column * n_together + j];
        }
    }
    std::memcpy(&products, &sums, sizeof sums);
}

template <class C> struct BoundedAssignment {
    const Rows &rows;
    Frame<C> frame;
    const GroupedCenters<C> &centers;
    Centers<double> exact;
    Bounds bounds;
    bool keep_ties;
    std::int32_t *labels;
    EnterRows<C> enter;
    C quantum;  // quanta in a unit of distance in the frame

    static constexpr int tile = tile_rows<C>;

    // Rows [first, first + n_rows); returns how many distances were computed.
    std::int64_t assign(std::int64_t first, std::int64_t n_rows, Scratch<C> &scratch) const {
        const std::int64_t n_candidates = widen_bounds(first, n_rows, scratch);
        enter(rows, frame, centers.plain, labels, n_candidates, scratch);
        measure_own(n_candidates, scratch);
        list_groups(n_candidates, scratch);
        std::int64_t n_distances = n_candidates;
        for (std::int64_t g = 0; g < centers.n_groups; ++g)
            n_distances += scratch.lengths[g] * centers.group_size;
        if (n_distances == n_candidates * (1 + centers.n_groups * centers.group_size))
            search_all(n_candidates, scratch);
        else
            search_listed(scratch);
        for (std::int64_t i = 0; i < n_candidates; ++i) finish(scratch.candidates[i]);
        return n_distances;
    }

  private:
    std::uint16_t quanta_below(const Candidate<C> &row, C score) const {
        const C squared = larger(row.norm + 2 * (score - row.margin), C{0});
        const C quanta = std::sqrt(squared) * quantum * C(1 - 1e-6);
        return static_cast<std::uint16_t>(static_cast<int>(smaller(quanta, C(most_quanta))));
    }
    std::uint16_t quanta_above(C squared) const {
        const C quanta = std::sqrt(larger(squared, C{0})) * quantum * C(1 + 1e-6) + 1;
        return static_cast<std::uint16_t>(static_cast<int>(smaller(quanta, C(most_quanta))));
    }

    // Rows that have a group in reach become candidates. No branch on it: it is hard to guess.
    std::int64_t widen_bounds(std::int64_t first, std::int64_t n_rows, Scratch<C> &scratch) const {
        const Quanta drift = load_quanta(bounds.group_drifts);
        std::int64_t n_candidates = 0;
        for (std::int64_t row = first; row < first + n_rows; ++row) {
            std::uint16_t *lower = bounds.lower + row * bounds_a_row;
            widen_lower(lower, drift);
            const int moved = bounds.upper[row] + bounds.drifts[labels[row]];
            bounds.upper[row] = static_cast<std::uint16_t>(smaller(moved, most_quanta));
            scratch.rows[n_candidates] = row;
            n_candidates += groups_in_reach(lower, bounds.upper[row]) != 0;
        }
        return n_candidates;
    }

    void measure_own(std::int64_t n_candidates, Scratch<C> &scratch) const {
        constexpr C none = std::numeric_limits<C>::infinity();
        for (std::int64_t i = 0; i < n_candidates; ++i) {
            const std::int64_t row = scratch.rows[i];
            const std::int32_t own = centers.place_of[labels[row]];
            const C norm = scratch.norms[i];
            const C score = centers.half_norms[own] - scratch.products[i];
            const C margin = score_margin(norm, centers.largest, rows.n_columns);
            scratch.candidates[i] = {row, own, own, norm, margin, score, score, none, none};
            bounds.upper[row] = quanta_above(norm + 2 * (score + margin));
        }
    }

    void list_groups(std::int64_t n_candidates, Scratch<C> &scratch) const {
        for (std::int64_t &length : scratch.lengths) length = 0;
        for (std::int64_t i = 0; i < n_candidates; ++i) {
            const std::int64_t row = scratch.rows[i];
            const unsigned reached =
                groups_in_reach(bounds.lower + row * bounds_a_row, bounds.upper[row]);
            for (int g = 0; g < centers.n_groups; ++g) {
                scratch.lists[g * most_rows + scratch.lengths[g]] = static_cast<std::uint16_t>(i);
                scratch.lengths[g] += reached >> g & 1;
            }
        }
    }

    // Every candidate meets every group, as in the first pass: a tile is gathered once for all.
    void search_all(std::int64_t n_candidates, Scratch<C> &scratch) const {
        const std::uint16_t *list = scratch.lists.data();
        for (std::int64_t i = 0; i < n_candidates; i += tile) {
            const int n_rows = static_cast<int>(smaller<std::int64_t>(n_candidates - i, tile));
            gather(list + i, n_rows, scratch);
            for (std::int64_t g = 0; g < centers.n_groups; ++g)
                search_group(g, list + i, n_rows, scratch);
        }
    }

    void search_listed(Scratch<C> &scratch) const {
        for (std::int64_t g = 0; g < centers.n_groups; ++g) {
            const std::uint16_t *list = scratch.lists.data() + g * most_rows;
            for (std::int64_t i = 0; i < scratch.lengths[g]; i += tile) {
                const int n_rows =
                    static_cast<int>(smaller<std::int64_t>(scratch.lengths[g] - i, tile));
                gather(list + i, n_rows, scratch);
                search_group(g, list + i, n_rows, scratch);
            }
        }
    }

    // The rows of a gathered tile meet the centers of a group.
    void search_group(std::int64_t g, const std::uint16_t *list, int n_rows,
                      Scratch<C> &scratch) const {
        Found<C> found;
        for (int half = 0; half < 2; ++half)
            found.best[half] = found.second[half] = broadcast(std::numeric_limits<C>::infinity());
        for (int i = 0; i < tile; ++i)
            found.own[i / n_lanes<C>][i % n_lanes<C>] =
                scratch.candidates[list[i < n_rows ? i : 0]].own;
        for (std::int64_t i = 0; i < centers.group_size; i += n_together)
            meet(g * centers.group_size + i, scratch.tile.data(), found);
        for (int i = 0; i < n_rows; ++i) {
            const int half = i / n_lanes<C>, lane = i % n_lanes<C>;
            merge(g, found.best[half][lane], found.second[half][lane],
                  static_cast<std::int32_t>(found.place[half][lane]), scratch.candidates[list[i]]);
        }
    }

    static void gather(const std::uint16_t *list, int n_rows, Scratch<C> &scratch) {
        constexpr int side = square<C>;
        for (int base = 0; base < tile; base += side) {
            const C *from[side];
            for (int i = 0; i < side; ++i)
                from[i] =
                    scratch.values.data() + list[base + i < n_rows ? base + i : 0] * scratch.stride;
            for (std::int64_t column = 0; column < scratch.stride; column += side) {
                Vector<C, side> in[side];
#pragma GCC unroll 8
                for (int i = 0; i < side; ++i) in[i] = load_as<C, side>(from[i] + column);
                transpose(in, scratch.tile.data() + column * tile + base, tile);
            }
        }
    }

    void meet(std::int64_t place, const C *packed, Found<C> &found) const {
        Lanes<C> products[n_together][2];
        multiply(packed, centers.data.data() + place * rows.n_columns, rows.n_columns, products);
        for (int j = 0; j < n_together; ++j)
            for (int half = 0; half < 2; ++half)
                found.note(half, centers.half_norms[place + j] - products[j][half],
                           static_cast<LaneIndex<C>>(place + j));
    }

    void merge(std::int64_t g, C best, C second, std::int32_t place, Candidate<C> &row) const {
        bounds.lower[row.row * bounds_a_row + g] = quanta_below(row, best);
        row.second = smaller(smaller(row.second, second), larger(row.best, best));
        if (best < row.best) {
            row.best = best;
            row.place = place;
            row.group_second = second;
        }
    }

    void finish(const Candidate<C> &row) const {
        std::int32_t place = row.place;
        C squared = row.norm + 2 * (row.best + row.margin);
        C group_second = row.group_second;
        if (row.second - row.best <= 2 * row.margin) {
            const std::int32_t label =
                settle(rows, row.row, frame, exact, keep_ties ? labels[row.row] : -1);
            place = centers.place_of[label];
            squared = static_cast<C>(
                exact_distance(rows, row.row, exact.data + label * rows.n_columns, frame.scale));
            if (place != row.place) group_second = -std::numeric_limits<C>::infinity();
        }
        if (place == row.own) return;
        // The new center is not one of its group's others any more, the one left behind is.
        std::uint16_t *lower = bounds.lower + row.row * bounds_a_row;
        lower[place / centers.group_size] = quanta_below(row, group_second);
        std::uint16_t &left = lower[row.own / centers.group_size];
        left = smaller(left, quanta_below(row, row.own_score));
        bounds.upper[row.row] = quanta_above(squared);
        labels[row.row] = centers.center_of[place];
    }
};

}  // namespace

template <class C>
std::int64_t bounded_assignment(const Rows &rows, Frame<C> frame, Centers<C> centers,
                                Centers<double> exact, CenterGroups groups, Bounds bounds,
                                bool keep_ties, std::int32_t *labels, int n_threads) {
    const GroupedCenters<C> grouped(centers, groups, rows.n_columns);
    EnterRows<C> enter = nullptr;
    with_element(rows.element, [&](auto zero) { enter = &enter_rows<C, decltype(zero)>; });
    const C quantum = static_cast<C>(bounds.quantum / static_cast<double>(frame.scale));
    const BoundedAssignment<C> assignment{rows,      frame,  grouped, exact,  bounds,
                                          keep_ties, labels, enter,   quantum};
    const std::int64_t row_bytes = rows.n_columns * static_cast<std::int64_t>(sizeof(C));
    const std::int64_t near = row_bytes > 0 ? batch_bytes / row_bytes : most_rows;
    const std::int64_t size = near < tile_rows<C> ? tile_rows<C> : smaller(near, most_rows);
    const std::int64_t n_batches = (rows.n_rows + size - 1) / size;
    std::int64_t n_distances = 0;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1) reduction(+ : n_distances)
    {
        Scratch<C> scratch(size, rows.n_columns);
#pragma omp for schedule(dynamic, 1)
        for (std::int64_t batch = 0; batch < n_batches; ++batch) {
            const std::int64_t left = rows.n_rows - batch * size;
            n_distances += assignment.assign(batch * size, smaller(left, size), scratch);
        }
    }
    return n_distances;
}

template std::int64_t bounded_assignment<float>(const Rows &, Frame<float>, Centers<float>,
                                                Centers<double>, CenterGroups, Bounds, bool,
                                                std::int32_t *, int);
template std::int64_t bounded_assignment<double>(const Rows &, Frame<double>, Centers<double>,
                                                 Centers<double>, CenterGroups, Bounds, bool,
                                                 std::int32_t *, int);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

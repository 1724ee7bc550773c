// The nearest center of every row, without computing distances that bounds show to be too large:
// the assignment half of Lloyd's method from its second pass on (Yinyang k-means, Ding and others
// 2015, with bounds of two bytes). The labels are those of nearest_center, because both let
// `settle` decide where rounding could matter.
//
// Centers are in up to `bounds_per_row` groups. Every row keeps an upper bound on the distance to
// its own center and, for each group, a lower bound on the distance to the other centers of the
// group. Each pass first widens the bounds by how far centers moved. A row then looks at a group
// only if the group's lower bound is at most the row's upper bound. A batch of rows is filtered
// first; then every group meets the rows that must look at it, gathered into tiles.
#include "clustering/bounded_rows.hpp"
#include "clustering/kernels.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// What a tile of rows has found in a group, not counting each row's own center.
template <class C> struct Found {
    Lanes<C> best[2], second[2];
    IndexLanes<C> place[2] = {}, own[2] = {};

    void note(int half, Lanes<C> scores, LaneIndex<C> at) {
        const Lanes<C> none = broadcast(std::numeric_limits<C>::infinity());
        scores = own[half] == at ? none : scores;
        place[half] = scores < best[half] ? broadcast_index<C>(at) : place[half];
        second[half] = smaller(second[half], larger(best[half], scores));
        best[half] = smaller(best[half], scores);
    }
};

// The products of some columns of a tile with neighbouring centers, added to those of the columns
// before if there are any. Not inlined, so that the sums stay in registers.
template <class C>
[[gnu::noinline]] void multiply(const C *packed, const C *centers, std::int64_t n_columns,
                                bool has_more, C *products) {
    Lanes<C> sums[centers_together][2] = {};
    for (std::int64_t column = 0; column < n_columns; ++column) {
        const Lanes<C> low = load(packed + column * tile_rows<C>);
        const Lanes<C> high = load(packed + column * tile_rows<C> + n_lanes<C>);
#pragma GCC unroll 8
        for (int j = 0; j < centers_together; ++j) {
            sums[j][0] += low * centers[column * centers_together + j];
            sums[j][1] += high * centers[column * centers_together + j];
        }
    }
#pragma GCC unroll 12
    for (int j = 0; j < centers_together; ++j) {
        C *to = products + j * tile_rows<C>;
        store(to, has_more ? load(to) + sums[j][0] : sums[j][0]);
        to += n_lanes<C>;
        store(to, has_more ? load(to) + sums[j][1] : sums[j][1]);
    }
}

template <class C> struct BoundedAssignment {
    const Rows &rows;
    Frame<C> frame;
    const GroupedCenters<C> &centers;
    Centers<double> exact;
    Bounds bounds;
    bool keep_ties;
    std::int32_t *labels;
    ReadRows<C> read;
    C quantum;  // quanta per unit of distance in the frame

    static constexpr int tile = tile_rows<C>;

    // Assigns rows [first, first + n_rows); returns how many distances were computed.
    std::int64_t assign(std::int64_t first, std::int64_t n_rows, BoundedScratch<C> &scratch) const {
        const std::int64_t n_candidates = widen_bounds(first, n_rows, scratch);
        read.measure(rows, frame, centers.plain, labels, n_candidates, scratch);
        measure_own(n_candidates, scratch);
        list_groups(n_candidates, scratch);
        std::int64_t n_distances = n_candidates;
        for (std::int64_t g = 0; g < centers.n_groups; ++g)
            n_distances += scratch.lengths[g] * centers.group_size;
        if (n_distances == n_candidates * (1 + centers.n_groups * centers.group_size))
            search_all(n_candidates, scratch);
        else
            search_listed(scratch);
        for (std::int64_t i = 0; i < n_candidates; ++i)
            finish(scratch.candidates[i], scratch.settling.data());
        return n_distances;
    }

  private:
    // A distance in quanta, rounded down or up so that it stays a bound.
    std::uint16_t quanta_below(const BoundedRow<C> &row, C score) const {
        const C squared = larger(row.norm + 2 * (score - row.margin), C{0});
        const C quanta = std::sqrt(squared) * quantum * C(1 - 1e-6);
        return static_cast<std::uint16_t>(static_cast<int>(smaller(quanta, C(max_quanta))));
    }
    std::uint16_t quanta_above(C squared) const {
        const C quanta = std::sqrt(larger(squared, C{0})) * quantum * C(1 + 1e-6) + 1;
        return static_cast<std::uint16_t>(static_cast<int>(smaller(quanta, C(max_quanta))));
    }

    // Widens the bounds and lists the rows that have a group in reach as candidates. Written
    // without a branch, because the processor could not predict it.
    std::int64_t widen_bounds(std::int64_t first, std::int64_t n_rows,
                              BoundedScratch<C> &scratch) const {
        const Quanta drift = load_quanta(bounds.group_drifts);
        std::int64_t n_candidates = 0;
        for (std::int64_t row = first; row < first + n_rows; ++row) {
            std::uint16_t *lower = bounds.lower + row * bounds_per_row;
            widen_lower(lower, drift);
            const int moved = bounds.upper[row] + bounds.drifts[labels[row]];
            bounds.upper[row] = static_cast<std::uint16_t>(smaller(moved, max_quanta));
            scratch.rows[n_candidates] = row;
            n_candidates += groups_in_reach(lower, bounds.upper[row]) != 0;
        }
        return n_candidates;
    }

    // How many terms of a product are added one after the other, see `score_margin`. A row and its
    // own center are multiplied in n_lanes<C> sums.
    std::int64_t count_added() const {
        const std::int64_t width = rows.n_columns;
        return larger(terms_added(width, slab_columns), width / n_lanes<C> + 4);
    }

    // Computes every candidate's distance to its own center and tightens the upper bound.
    void measure_own(std::int64_t n_candidates, BoundedScratch<C> &scratch) const {
        constexpr C none = std::numeric_limits<C>::infinity();
        const std::int64_t n_added = count_added();
        for (std::int64_t i = 0; i < n_candidates; ++i) {
            const std::int64_t row = scratch.rows[i];
            const std::int32_t own = centers.place_of[labels[row]];
            const C norm = scratch.norms[i];
            const C score = centers.half_norms[own] - scratch.products[i];
            const C margin = score_margin(norm, centers.largest, n_added);
            scratch.candidates[i] = {row, own, own, norm, margin, score, score, none, none};
            bounds.upper[row] = quanta_above(norm + 2 * (score + margin));
        }
    }

    // Lists, for each group, the candidates that must look at it.
    void list_groups(std::int64_t n_candidates, BoundedScratch<C> &scratch) const {
        for (std::int64_t &length : scratch.lengths) length = 0;
        for (std::int64_t i = 0; i < n_candidates; ++i) {
            const std::int64_t row = scratch.rows[i];
            const unsigned reached =
                groups_in_reach(bounds.lower + row * bounds_per_row, bounds.upper[row]);
            for (int g = 0; g < centers.n_groups; ++g) {
                scratch.lists[g * max_batch_rows + scratch.lengths[g]] =
                    static_cast<std::uint16_t>(i);
                scratch.lengths[g] += reached >> g & 1;
            }
        }
    }

    // All candidates meet all groups, as in the first pass, so that rows are gathered only once.
    void search_all(std::int64_t n_candidates, BoundedScratch<C> &scratch) const {
        search(scratch.lists.data(), n_candidates, 0, centers.n_groups, scratch);
    }

    void search_listed(BoundedScratch<C> &scratch) const {
        for (std::int64_t g = 0; g < centers.n_groups; ++g)
            search(scratch.lists.data() + g * max_batch_rows, scratch.lengths[g], g, g + 1,
                   scratch);
    }

    // The rows of a list meet the centers of groups [first, end).
    void search(const std::uint16_t *list, std::int64_t length, std::int64_t first,
                std::int64_t end, BoundedScratch<C> &scratch) const {
        const std::int64_t group_products = centers.group_size * tile;
        for (std::int64_t i = 0; i < length; i += slab_tiles * tile) {
            const std::int64_t n_rows = smaller(length - i, slab_tiles * tile);
            multiply_rows(list + i, n_rows, first, end, scratch);
            const C *products = scratch.slab_products.data();
            for (std::int64_t from = 0; from < n_rows; from += tile)
                for (std::int64_t g = first; g < end; ++g, products += group_products)
                    search_group(g, list + i + from, smaller<std::int64_t>(n_rows - from, tile),
                                 products, scratch);
        }
    }

    // Multiplies up to slab_tiles tiles with the centers of groups [first, end).
    void multiply_rows(const std::uint16_t *list, std::int64_t n_rows, std::int64_t first,
                       std::int64_t end, BoundedScratch<C> &scratch) const {
        const std::int64_t width = rows.n_columns, first_place = first * centers.group_size;
        const std::int64_t n_places = (end - first) * centers.group_size;
        for (std::int64_t begin = 0; begin < width; begin += slab_columns) {
            const std::int64_t some = smaller(width - begin, slab_columns);
            for (std::int64_t from = 0; from < n_rows; from += tile)
                read.gather(rows, frame, scratch, list + from, n_rows - from, begin, begin + some,
                            scratch.slab.data() + from * some);
            for (std::int64_t place = 0; place < n_places; place += centers_together) {
                const C *with = centers.data.data() + (first_place + place) * width;
                for (std::int64_t from = 0; from < n_rows; from += tile)
                    multiply(scratch.slab.data() + from * some, with + begin * centers_together,
                             some, begin > 0,
                             scratch.slab_products.data() + from * n_places + place * tile);
            }
        }
    }

    // The rows of a tile meet the centers of a group, with which they were multiplied.
    void search_group(std::int64_t g, const std::uint16_t *list, std::int64_t n_rows,
                      const C *products, BoundedScratch<C> &scratch) const {
        Found<C> found;
        for (int half = 0; half < 2; ++half)
            found.best[half] = found.second[half] = broadcast(std::numeric_limits<C>::infinity());
        for (int i = 0; i < tile; ++i)
            found.own[i / n_lanes<C>][i % n_lanes<C>] =
                scratch.candidates[list[i < n_rows ? i : 0]].own;
        for (std::int64_t i = 0; i < centers.group_size; ++i) {
            const std::int64_t place = g * centers.group_size + i;
            for (int half = 0; half < 2; ++half)
                found.note(
                    half, centers.half_norms[place] - load(products + i * tile + half * n_lanes<C>),
                    static_cast<LaneIndex<C>>(place));
        }
        for (int i = 0; i < n_rows; ++i) {
            const int half = i / n_lanes<C>, lane = i % n_lanes<C>;
            merge(g, found.best[half][lane], found.second[half][lane],
                  static_cast<std::int32_t>(found.place[half][lane]), scratch.candidates[list[i]]);
        }
    }

    // Takes note of what a row found in group g.
    void merge(std::int64_t g, C best, C second, std::int32_t place, BoundedRow<C> &row) const {
        bounds.lower[row.row * bounds_per_row + g] = quanta_below(row, best);
        row.second = smaller(smaller(row.second, second), larger(row.best, best));
        if (best < row.best) {
            row.best = best;
            row.place = place;
            row.group_second = second;
        }
    }

    // Sets the label and the bounds of a row that has met all its groups.
    void finish(const BoundedRow<C> &row, double *settling) const {
        std::int32_t place = row.place;
        C squared = row.norm + 2 * (row.best + row.margin);
        C group_second = row.group_second;
        if (row.second - row.best <= 2 * row.margin &&
            !is_decided(row.norm, row.best, row.second, centers.largest, count_added())) {
            const std::int32_t label =
                settle(rows, row.row, frame, exact, keep_ties ? labels[row.row] : -1, nullptr, 0,
                       settling);
            place = centers.place_of[label];
            squared = static_cast<C>(
                exact_distance(rows, row.row, exact.data + label * rows.n_columns, frame.scale));
            if (place != row.place) group_second = -std::numeric_limits<C>::infinity();
        }
        if (place == row.own) return;
        // The lower bound of a group leaves out the row's own center. So the new center no longer
        // counts in its group, and the center that the row left counts in its own.
        std::uint16_t *lower = bounds.lower + row.row * bounds_per_row;
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
    const C quantum = static_cast<C>(bounds.quantum / static_cast<double>(frame.scale));
    const BoundedAssignment<C> assignment{rows,      frame,  grouped,           exact,  bounds,
                                          keep_ties, labels, ReadRows<C>(rows), quantum};
    const std::int64_t size = max_batch_rows;
    const std::int64_t n_batches = (rows.n_rows + size - 1) / size;
    PerThread<BoundedScratch<C>> all_scratch(n_threads, rows.n_columns,
                                             grouped.n_groups * grouped.group_size);
    std::int64_t n_distances = 0;
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1)                               \
    reduction(+ : n_distances) if (n_threads > 1)
    for (std::int64_t batch = 0; batch < n_batches; ++batch) {
        const std::int64_t left = rows.n_rows - batch * size;
        n_distances += assignment.assign(batch * size, smaller(left, size), all_scratch.own());
    }
    return n_distances;
}

PK_INSTANTIATE(bounded_assignment);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// The nearest of very many centers: a sketch rules most of them out, and the others are compared in
// all columns.
//
// A first center gives an upper bound on the distance. Then a tile of rows meets the middles of
// groups of centers in the sketch, and the centers of those groups whose ball is near enough for
// one of its rows. Rows are taken in the order of their groups, so that rows of a tile need the
// same groups. Groups that are far from the group of the tile are not met at all: by the triangle
// inequality none of their centers can be near enough.
#include "clustering/center_groups.hpp"
#include "clustering/exact_distance.hpp"
#include "clustering/few_scores.hpp"
#include "clustering/kernels.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// What is known of the rows of a tile. Limits are of scores in the sketch.
template <class C> struct Tile {
    static constexpr int size = tile_rows<C>;
    alignas(64) C reach[size];    // an upper bound on the distance to the nearest center, in the
                                  // sketch
    alignas(64) C norms[size];    // squared, in the sketch
    alignas(64) C margins[size];  // rounding of a score in the sketch
    C row_norms[size];            // squared, in all columns
    unsigned valid[2];            // one bit for each row that is there
    C far = 0;  // no center of use is farther from the middle of the tile's group, in the sketch

    // The score of a point at distance reach + radius.
    Lanes<C> limit(int half, C radius) const {
        const int at = half * n_lanes<C>;
        const Lanes<C> far = load(reach + at) + radius;
        return (far * far - load(norms + at)) * C(0.5) + load(margins + at);
    }
};

template <class C> struct Scratch {
    Buffer<C> packed, framed;
    Buffer<std::int32_t> names;
    Buffer<double> settling;

    Scratch(std::int64_t n_columns, std::int64_t n_sketched, std::int64_t most)
        : packed(n_sketched * tile_rows<C>), framed(n_columns * tile_rows<C>),
          names(most * tile_rows<C>), settling(settle_scratch(n_columns)) {}
};

template <class C> struct Assignment {
    const Rows &rows;
    Frame<C> frame;
    Centers<double> exact;
    Sketch<C> sketch;
    CenterLists lists;
    std::int64_t most;
    const FewScores<C> &scores, &sketched;
    const GroupedPanel<C> &panel;
    const Middles<C> &middles;
    C largest, largest_sketched;  // norms of centers
    std::int32_t *labels, *counts;

    // Assigns at most a tile of rows of a group.
    template <class T>
    void assign(const std::int64_t *which, int n_rows, std::int32_t group,
                Scratch<C> &scratch) const {
        constexpr int lanes = n_lanes<C>;
        Tile<C> tile = {};
        for (int half = 0; half < 2; ++half) {
            const int n = smaller(larger(n_rows - half * lanes, 0), lanes);
            tile.valid[half] = (1u << n) - 1;
        }
        pack_rows(sketch.rows, sketch.n_columns, scratch.packed.data(),
                  [&](int i) { return which[i < n_rows ? i : 0]; });
        for (int i = 0; i < n_rows; ++i) start<T>(tile, i, which[i], group, scratch);
        list(tile, which, group, scratch);
        for (int i = 0; i < n_rows; ++i) {
            const std::int64_t n = counts[which[i]];
            if (n > 0 && n <= most) decide(which[i], tile.row_norms[i], i, n, scratch);
        }
    }

  private:
    // Finds the first center of a row, and how far others may be to be nearer.
    template <class T>
    void start(Tile<C> &tile, int i, std::int64_t row, std::int32_t group,
               Scratch<C> &scratch) const {
        const C *inside = sketch.rows + row * sketch.n_columns;
        C *framed = scratch.framed.data() + i * rows.n_columns;
        const C norm = frame_row<C>(rows.row<T>(row), frame, rows.n_columns, framed);
        if (labels[row] < 0) {
            const std::int32_t *names = lists.members + lists.starts[group];
            const TwoBest<C> leaders =
                sketched.lead(inside, lists.starts[group + 1] - lists.starts[group],
                              [&](std::int64_t place) { return names[place]; });
            labels[row] = leaders.label < 0 ? names[0] : leaders.label;  // scores may be NaN
        }
        const C squared = norm + 2 * scores.score(framed, labels[row]) +
                          4 * score_margin(norm, largest, rows.n_columns);
        const C *middle = sketch.middles + group * sketch.n_columns;
        const C sketch_norm = sum_squares(inside, [](std::int64_t, auto values) { return values; });
        const C gap = sum_squares(inside, [&](std::int64_t column, auto values) {
            decltype(values) other;
            std::memcpy(&other, middle + column, sizeof other);
            return values - other;
        });
        tile.reach[i] = std::sqrt(larger(squared, C{0})) / frame.scale + sketch.errors[row];
        tile.reach[i] *= 1 + rounded_up<C>;
        tile.norms[i] = sketch_norm;
        tile.margins[i] = 4 * score_margin(sketch_norm, largest_sketched, sketch.n_columns);
        tile.row_norms[i] = norm;
        const C slack = 1 + static_cast<C>(sketch.n_columns) * rounded_up<C>;
        tile.far = larger((std::sqrt(gap) + tile.reach[i]) * slack, tile.far);
        counts[row] = 0;
    }

    // The sum of the squares of change(column, values) over the columns of the sketch.
    template <class Change> C sum_squares(const C *from, Change change) const {
        constexpr int lanes = n_lanes<C>;
        Lanes<C> sums[2] = {};
        std::int64_t column = 0;
        for (; column + 2 * lanes <= sketch.n_columns; column += 2 * lanes)
            for (int i = 0; i < 2; ++i) {
                const std::int64_t at = column + i * lanes;
                const Lanes<C> values = change(at, load(from + at));
                sums[i] += values * values;
            }
        C total = sum_lanes<C>(sums[0] + sums[1]);
        for (; column < sketch.n_columns; ++column) {
            const C value = change(column, from[column]);
            total += value * value;
        }
        return total;
    }

    // Lists the centers that may be nearer than the first one, for every row of a tile.
    void list(const Tile<C> &tile, const std::int64_t *which, std::int32_t own,
              Scratch<C> &scratch) const {
        const Lanes<C> limits[2] = {tile.limit(0, C{0}), tile.limit(1, C{0})};
        std::int64_t met = -1;
        const auto meet = [&](std::int64_t group, int half, Lanes<C> product) {
            if (met == group) return;  // for the other half of the tile
            const Lanes<C> score = middles.panel.squared_norm(group) / 2 - product;
            if (!(lanes_at_most<C>(score, tile.limit(half, sketch.radii[group])) &
                  tile.valid[half]))
                return;
            met = group;
            panel.meet_group(
                scratch.packed.data(), group, lists.starts[group + 1] - lists.starts[group],
                [&](std::int32_t name, int side, Lanes<C> found) {
                    unsigned near = lanes_at_most<C>(found, limits[side]) & tile.valid[side];
                    for (; near; near &= near - 1)
                        add(side * n_lanes<C> + __builtin_ctz(near), name, which, scratch);
                });
        };
        for (std::int64_t first = 0; first < middles.n_groups(); first += panel_centers) {
            const std::int64_t end = smaller(first + panel_centers, middles.n_groups());
            if (middles.any_within(own, first, end, tile.far))
                middles.panel.meet_tile(scratch.packed.data(), first, end, meet);
        }
    }

    void add(int i, std::int32_t name, const std::int64_t *which, Scratch<C> &scratch) const {
        const std::int32_t n = counts[which[i]]++;
        if (n < most) scratch.names[i * most + n] = name;
    }

    // Compares a row with the centers of its list.
    void decide(std::int64_t row, C norm, int i, std::int64_t n, Scratch<C> &scratch) const {
        const std::int32_t *names = scratch.names.data() + i * most;
        const TwoBest<C> leaders = scores.lead(scratch.framed.data() + i * rows.n_columns, n,
                                               [&](std::int64_t place) { return names[place]; });
        labels[row] = is_decided(norm, leaders.best, leaders.second, largest, rows.n_columns)
                          ? leaders.label
                          : settle(rows, row, frame, exact, -1, names, n, scratch.settling.data());
    }
};

}  // namespace

template <class C>
void nearest_by_sketch(const Rows &rows, Frame<C> frame, Centers<C> centers, Centers<double> exact,
                       Sketch<C> sketch, const std::int32_t *groups, CenterLists lists,
                       std::int64_t most, std::int32_t *labels, std::int32_t *counts,
                       int n_threads) {
    const std::int64_t width = rows.n_columns;
    const Centers<C> inside{sketch.centers, centers.n_centers};
    const HalfNorms<C> norms(centers, width), sketch_norms(inside, sketch.n_columns);
    const FewScores<C> scores{centers, norms.values.data(), width};
    const FewScores<C> sketched{inside, sketch_norms.values.data(), sketch.n_columns};
    const GroupedPanel<C> panel(sketch, lists);
    const Middles<C> middles(sketch, lists.n_groups, n_threads);
    const GroupedRows grouped(groups, rows.n_rows, lists.n_groups);
    const C largest = larger(sketch_norms.largest, middles.largest);
    const Assignment<C> assignment{rows,          frame,   exact,    sketch, lists,
                                   most,          scores,  sketched, panel,  middles,
                                   norms.largest, largest, labels,   counts};
    PerThread<Scratch<C>> all_scratch(n_threads, width, sketch.n_columns, most);
    with_element(rows.element, [&](auto zero) {
        using T = decltype(zero);
        constexpr std::int64_t tile = tile_rows<C>;
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1) if (n_threads > 1)
        for (std::int64_t index = 0; index < grouped.n_units(); ++index) {
            Scratch<C> &scratch = all_scratch.own();
            const auto &unit = grouped.unit(index);
            const std::int64_t *which = grouped.rows_of(unit);
            for (std::int64_t first = 0; first < unit.n_rows; first += tile) {
                const std::int64_t left = unit.n_rows - first;
                assignment.template assign<T>(which + first,
                                              static_cast<int>(left < tile ? left : tile),
                                              unit.group, scratch);
            }
        }
    });
}

PK_INSTANTIATE(nearest_by_sketch);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// The nearest of very many centers: a sketch rules most of them out, and the others are compared in
// all columns.
//
// A first center gives an upper bound on the distance. Then a tile of rows meets the middles of
// groups of centers in the sketch, and the centers of those groups whose ball is near enough for
// one of its rows. Rows are taken in the order of their groups, so that rows of a tile need the
// same groups.
#include "clustering/exact_distance.hpp"
#include "clustering/few_scores.hpp"
#include "clustering/kernels.hpp"
#include "lanes/center_panel.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The sketched centers, group after group. Each group begins at a multiple of `panel_centers`; what
// lies between is never met.
template <class C> class GroupedPanel {
  public:
    GroupedPanel(Sketch<C> sketch, CenterLists lists)
        : firsts_(lists.n_groups + 1), names_(place_groups(lists, firsts_)),
          panel_(firsts_[lists.n_groups], sketch.n_columns) {
        for (std::int64_t g = 0; g < lists.n_groups; ++g)
            for (std::int64_t i = 0; i < firsts_[g + 1] - firsts_[g]; ++i) {
                const std::int64_t place = lists.starts[g] + i;
                names_[firsts_[g] + i] = place < lists.starts[g + 1] ? lists.members[place] : -1;
            }
        panel_.fill([&](std::int64_t place, std::int64_t column) {
            const std::int32_t name = names_[place];
            return name < 0 ? C{0} : sketch.centers[name * sketch.n_columns + column];
        });
    }

    // Calls meet(name, half, score) for all centers of a group.
    template <class Meet>
    void meet_group(const C *packed, std::int64_t group, std::int64_t size, Meet meet) const {
        panel_.meet_tile(packed, firsts_[group], firsts_[group] + size,
                         [&](std::int64_t place, int half, Lanes<C> product) {
                             meet(names_[place], half, panel_.squared_norm(place) / 2 - product);
                         });
    }

  private:
    // firsts <- where groups begin; returns the number of places.
    static std::int64_t place_groups(CenterLists lists, Buffer<std::int64_t> &firsts) {
        firsts[0] = 0;
        for (std::int64_t g = 0; g < lists.n_groups; ++g) {
            const std::int64_t size = lists.starts[g + 1] - lists.starts[g];
            firsts[g + 1] = firsts[g] + (size + panel_centers - 1) / panel_centers * panel_centers;
        }
        return firsts[lists.n_groups];
    }

    Buffer<std::int64_t> firsts_;
    Buffer<std::int32_t> names_;
    CenterPanel<C> panel_;
};

// What is known of the rows of a tile. Limits are of scores in the sketch.
template <class C> struct Tile {
    static constexpr int size = tile_rows<C>;
    alignas(64) C reach[size];    // an upper bound on the distance to the nearest center, in the
                                  // sketch
    alignas(64) C norms[size];    // squared, in the sketch
    alignas(64) C margins[size];  // rounding of a score in the sketch
    C row_norms[size];            // squared, in all columns
    unsigned valid[2];            // one bit for each row that is there

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
    const CenterPanel<C> &middles;
    C largest, largest_sketched;  // norms of centers
    std::int32_t *labels, *counts;

    // Assigns at most a tile of rows of a group.
    template <class T>
    void assign(const std::int64_t *which, int n_rows, std::int32_t group,
                Scratch<C> &scratch) const {
        constexpr int size = tile_rows<C>, lanes = n_lanes<C>;
        Tile<C> tile = {};
        for (int half = 0; half < 2; ++half) {
            const int n = smaller(larger(n_rows - half * lanes, 0), lanes);
            tile.valid[half] = (1u << n) - 1;
        }
        for (int i = 0; i < size; ++i) {
            const std::int64_t row = which[i < n_rows ? i : 0];
            const C *from = sketch.rows + row * sketch.n_columns;
            for (std::int64_t column = 0; column < sketch.n_columns; ++column)
                scratch.packed[column * size + i] = from[column];
        }
        for (int i = 0; i < n_rows; ++i) start<T>(tile, i, which[i], group, scratch);
        list(tile, which, scratch);
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
        C sketch_norm = 0;
        for (std::int64_t column = 0; column < sketch.n_columns; ++column)
            sketch_norm += inside[column] * inside[column];
        tile.reach[i] = std::sqrt(larger(squared, C{0})) / frame.scale + sketch.errors[row];
        tile.reach[i] *= 1 + 8 * std::numeric_limits<C>::epsilon();
        tile.norms[i] = sketch_norm;
        tile.margins[i] = 4 * score_margin(sketch_norm, largest_sketched, sketch.n_columns);
        tile.row_norms[i] = norm;
        counts[row] = 0;
    }

    // Lists the centers that may be nearer than the first one, for every row of a tile.
    void list(const Tile<C> &tile, const std::int64_t *which, Scratch<C> &scratch) const {
        const Lanes<C> limits[2] = {tile.limit(0, C{0}), tile.limit(1, C{0})};
        std::int64_t met = -1;
        middles.meet_tile(
            scratch.packed.data(), [&](std::int64_t group, int half, Lanes<C> product) {
                if (met == group) return;  // for the other half of the tile
                const Lanes<C> score = middles.squared_norm(group) / 2 - product;
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
            });
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
        const C margin = score_margin(norm, largest, rows.n_columns);
        labels[row] = leaders.second - leaders.best > 2 * margin
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
    const Centers<C> middles{sketch.middles, lists.n_groups};
    const HalfNorms<C> norms(centers, width), sketch_norms(inside, sketch.n_columns);
    const HalfNorms<C> middle_norms(middles, sketch.n_columns);
    const FewScores<C> scores{centers, norms.values.data(), width};
    const FewScores<C> sketched{inside, sketch_norms.values.data(), sketch.n_columns};
    const GroupedPanel<C> panel(sketch, lists);
    CenterPanel<C> middle_panel(lists.n_groups, sketch.n_columns);
    middle_panel.fill([&](std::int64_t group, std::int64_t column) {
        return middles.data[group * sketch.n_columns + column];
    });
    const GroupedRows grouped(groups, rows.n_rows, lists.n_groups);
    const Assignment<C> assignment{
        rows,   frame,        exact,         sketch,
        lists,  most,         scores,        sketched,
        panel,  middle_panel, norms.largest, larger(sketch_norms.largest, middle_norms.largest),
        labels, counts};
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

// Groups of sketched centers that lie close together: their centers, and their middles.
#pragma once

#include <cmath>
#include <limits>

#include "clustering/arguments.hpp"
#include "clustering/exact_distance.hpp"
#include "lanes/center_panel.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// What a few operations may be wrong by, relative to their result.
template <class C> constexpr C rounded_up = 8 * std::numeric_limits<C>::epsilon();

// packed[column][i] <- row which(i) of a matrix, for a tile of rows.
template <class C, class Which>
void pack_rows(const C *rows, std::int64_t n_columns, C *packed, Which which) {
    constexpr int size = tile_rows<C>, side = square<C>;
    for (int base = 0; base < size; base += side) {
        const C *from[side];
        for (int i = 0; i < side; ++i) from[i] = rows + which(base + i) * n_columns;
        transpose_rows<C>(from, n_columns, packed + base, size);
    }
}

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

// The middles of groups, and lower bounds on the distances from each of them to the balls of the
// others.
template <class C> class Middles {
  public:
    CenterPanel<C> panel;
    C largest = 0;  // the largest norm

    Middles(Sketch<C> sketch, std::int64_t n_groups, int n_threads)
        : panel(n_groups, sketch.n_columns), gaps_(n_groups * n_groups), n_groups_(n_groups) {
        panel.fill([&](std::int64_t group, std::int64_t column) {
            return sketch.middles[group * sketch.n_columns + column];
        });
        for (std::int64_t g = 0; g < n_groups; ++g)
            largest = larger(std::sqrt(panel.squared_norm(g)), largest);
        PerThread<Buffer<C>> all_packed(n_threads, sketch.n_columns * tile_rows<C>);
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1) if (n_threads > 1)
        for (std::int64_t first = 0; first < n_groups; first += tile_rows<C>)
            measure(sketch, first, all_packed.own());
    }

    std::int64_t n_groups() const { return n_groups_; }

    // Whether a ball of the groups [first, end) may be within a distance of the middle of a group.
    bool any_within(std::int64_t group, std::int64_t first, std::int64_t end, C distance) const {
        bool within = false;
        for (std::int64_t other = first; other < end; ++other)
            within |= !(gaps_[group * n_groups_ + other] > distance);
        return within;
    }

  private:
    void measure(Sketch<C> sketch, std::int64_t first, Buffer<C> &packed) {
        constexpr int size = tile_rows<C>;
        pack_rows(sketch.middles, sketch.n_columns, packed.data(),
                  [&](int i) { return smaller(first + i, n_groups_ - 1); });
        panel.meet_tile(packed.data(), [&](std::int64_t other, int half, Lanes<C> product) {
            for (int lane = 0; lane < n_lanes<C>; ++lane) {
                const std::int64_t group = first + half * n_lanes<C> + lane;
                if (group >= n_groups_ || half * n_lanes<C> + lane >= size) continue;
                const C norm = panel.squared_norm(group);
                const C squared = norm + panel.squared_norm(other) - 2 * product[lane] -
                                  4 * score_margin(norm, largest, sketch.n_columns);
                gaps_[group * n_groups_ + other] =
                    std::sqrt(larger(squared, C{0})) * (1 - rounded_up<C>)-sketch.radii[other];
            }
        });
    }

    Buffer<C> gaps_;
    std::int64_t n_groups_;
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

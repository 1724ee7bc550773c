// Seeding of many clusters: greedy k-means++ inside every cell of the space, one cell a thread.
//
// Each cell has a clock. A new center of the cell advances it by 1 / potential, where the potential
// is the weighted sum of the squared distances of the cell's rows to its centers so far. Cells with
// much left to gain therefore place their next center earlier. The centers that all cells place up
// to a common time are those that greedy k-means++ would choose if distances between cells did not
// matter.
//
// A cell has its own random numbers, and its sums are added by one thread in a fixed order. So bits
// do not depend on the number of threads.
#include <cmath>
#include <limits>

#include "clustering/kernels.hpp"
#include "clustering/uniform.hpp"
#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Rows that are drawn for each center; the one that leaves the lowest potential becomes it.
constexpr int n_trials = 4;

// Expected overshoot of a round, so that few rounds are needed: 1.1 times the centers that are
// missing, if potentials did not fall meanwhile.
constexpr double overshoot = 1.1;

// The rows of all cells, tile by tile: data[tile][column][row]. A cell begins a new tile.
template <class C> struct PackedCells {
    static constexpr int tile = tile_rows<C>;
    Buffer<std::int64_t> first_tile;  // of each cell, and the end
    Buffer<C> data, weights;
    std::int64_t n_columns;

    static std::int64_t count_tiles(const std::int64_t *starts, std::int64_t n_cells) {
        std::int64_t n = 0;
        for (std::int64_t c = 0; c < n_cells; ++c)
            n += (starts[c + 1] - starts[c] + tile - 1) / tile;
        return n;
    }

    PackedCells(CellRows cells, std::int64_t width)
        : first_tile(cells.n_cells + 1),
          data(count_tiles(cells.starts, cells.n_cells) * tile * width),
          weights(count_tiles(cells.starts, cells.n_cells) * tile), n_columns(width) {
        first_tile[0] = 0;
        for (std::int64_t c = 0; c < cells.n_cells; ++c)
            first_tile[c + 1] =
                first_tile[c] + (cells.starts[c + 1] - cells.starts[c] + tile - 1) / tile;
    }

    // Fills the tiles of one cell with its rows, scaled.
    void fill(const Rows &rows, CellRows cells, const double *row_weights, C scale,
              std::int64_t cell) {
        const std::int64_t begin = cells.starts[cell], n = cells.starts[cell + 1] - begin;
        for (std::int64_t i = 0; i < (first_tile[cell + 1] - first_tile[cell]) * tile; ++i) {
            const std::int64_t at = first_tile[cell] + i / tile, lane = i % tile;
            C *to = data.data() + at * n_columns * tile + lane;
            const std::int64_t row = i < n ? cells.order[begin + i] : 0;
            const C *from = rows.row<C>(row);
            for (std::int64_t column = 0; column < n_columns; ++column)
                to[column * tile] = i < n ? from[column] * scale : C{0};
            weights[at * tile + lane] =
                i < n ? (row_weights ? static_cast<C>(row_weights[row]) : C{1}) : C{0};
        }
    }
};

// What the race knows of all cells.
template <class C> struct RaceState {
    Buffer<C> nearest;         // [tile][row]: squared distance to the nearest center so far
    Buffer<double> sums;       // [tile]: of nearest * weights
    Buffer<double> potential;  // [cell]: the sum of the cell's tiles

    RaceState(std::int64_t n_tiles, std::int64_t n_cells)
        : nearest(n_tiles * tile_rows<C>), sums(n_tiles), potential(n_cells) {}
};

// Scratch memory of a thread: the trials, and what each would leave.
template <class C> struct Trials {
    Buffer<C> values;     // [column][trial]
    Buffer<C> after;      // [trial][tile][row]
    Buffer<double> sums;  // [trial][tile]
    std::int64_t places[n_trials];

    Trials(std::int64_t n_columns, std::int64_t n_tiles)
        : values(n_columns * n_trials), after(n_trials * n_tiles * tile_rows<C>),
          sums(n_trials * n_tiles) {}
};

template <class C> struct Race {
    static constexpr int tile = tile_rows<C>, lanes = n_lanes<C>;
    const PackedCells<C> &cells;
    const std::uint64_t *seeds;
    RaceState<C> &state;

    // Before the first center, rows are drawn by weight alone.
    void begin(std::int64_t cell) const {
        state.potential[cell] = 0;
        for (std::int64_t t = cells.first_tile[cell]; t < cells.first_tile[cell + 1]; ++t) {
            Lanes<C> sum = {};
            for (int half = 0; half < 2; ++half)
                sum += load(cells.weights.data() + t * tile + half * lanes);
            for (int i = 0; i < tile; ++i)
                state.nearest[t * tile + i] = std::numeric_limits<C>::infinity();
            state.sums[t] = static_cast<double>(sum_lanes<C>(sum));
            state.potential[cell] += state.sums[t];
        }
    }

    // Places the next center of a cell, its `count`th; returns its place among the cell's rows.
    std::int64_t place(std::int64_t cell, std::int64_t count, Trials<C> &trials) const {
        const std::int64_t first = cells.first_tile[cell], n = cells.first_tile[cell + 1] - first;
        for (int j = 0; j < n_trials; ++j) {
            const auto index = static_cast<std::uint64_t>(count * n_trials + j);
            trials.places[j] = draw(cell, uniform(seeds[cell], index), count == 0);
            const C *from = cells.data.data() +
                            (first + trials.places[j] / tile) * cells.n_columns * tile +
                            trials.places[j] % tile;
            for (std::int64_t column = 0; column < cells.n_columns; ++column)
                trials.values[column * n_trials + j] = from[column * tile];
        }
        double left[n_trials] = {};
        for (std::int64_t t = 0; t < n; ++t) weigh(first + t, t, n, trials, left);
        int best = 0;
        for (int j = 1; j < n_trials; ++j)
            if (left[j] < left[best]) best = j;
        std::memcpy(state.nearest.data() + first * tile, trials.after.data() + best * n * tile,
                    n * tile * sizeof(C));
        std::memcpy(state.sums.data() + first, trials.sums.data() + best * n, n * sizeof(double));
        state.potential[cell] = left[best];
        return trials.places[best];
    }

  private:
    // What a row adds to the chance of its tile.
    C chance(std::int64_t at, bool by_weight) const {
        return by_weight ? cells.weights[at] : state.nearest[at] * cells.weights[at];
    }

    // The row of a cell at a point in [0, 1) of the cumulative chances; never one without a chance.
    std::int64_t draw(std::int64_t cell, double point, bool by_weight) const {
        const std::int64_t first = cells.first_tile[cell], end = cells.first_tile[cell + 1];
        double left = point * state.potential[cell];
        std::int64_t found = first;
        for (std::int64_t t = first; t < end; ++t) {
            if (!(state.sums[t] > 0)) continue;
            found = t;
            if (left < state.sums[t]) break;
            left -= state.sums[t];
        }
        std::int64_t place = 0;
        for (int i = 0; i < tile; ++i) {
            const auto share = static_cast<double>(chance(found * tile + i, by_weight));
            if (!(share > 0)) continue;
            place = i;
            if (left < share) break;
            left -= share;
        }
        return (found - first) * tile + place;
    }

    // A tile meets all trials.
    void weigh(std::int64_t at, std::int64_t t, std::int64_t n, Trials<C> &trials,
               double (&left)[n_trials]) const {
        const C *packed = cells.data.data() + at * cells.n_columns * tile;
        Lanes<C> squared[n_trials][2] = {};
        for (std::int64_t column = 0; column < cells.n_columns; ++column) {
            const Lanes<C> low = load(packed + column * tile);
            const Lanes<C> high = load(packed + column * tile + lanes);
#pragma GCC unroll 4
            for (int j = 0; j < n_trials; ++j) {
                const C value = trials.values[column * n_trials + j];
                const Lanes<C> a = low - value, b = high - value;
                squared[j][0] += a * a;
                squared[j][1] += b * b;
            }
        }
        for (int j = 0; j < n_trials; ++j) {
            Lanes<C> sum = {};
            for (int half = 0; half < 2; ++half) {
                const std::int64_t row = at * tile + half * lanes;
                const Lanes<C> after = smaller(squared[j][half], load(state.nearest.data() + row));
                store(trials.after.data() + (j * n + t) * tile + half * lanes, after);
                sum += after * load(cells.weights.data() + row);
            }
            const auto total = static_cast<double>(sum_lanes<C>(sum));
            trials.sums[j * n + t] = total;
            left[j] += total;
        }
    }
};

}  // namespace

template <class C>
std::int64_t race_centers(const Rows &rows, const double *weights, double scale, CellRows cells,
                          const std::uint64_t *seeds, std::int64_t n_centers, std::int64_t *counts,
                          std::int64_t *chosen, double *times, int n_threads) {
    PackedCells<C> packed(cells, rows.n_columns);
    const std::int64_t n_cells = cells.n_cells;
    RaceState<C> state(packed.first_tile[n_cells], n_cells);
    std::int64_t most_tiles = 0;
    for (std::int64_t c = 0; c < n_cells; ++c)
        most_tiles = larger(packed.first_tile[c + 1] - packed.first_tile[c], most_tiles);
    PerThread<Trials<C>> all_trials(n_threads, rows.n_columns, most_tiles);
    const Race<C> race{packed, seeds, state};
    // Places centers of a cell until its clock passes `until`.
    const auto run = [&](std::int64_t c, double until) {
        const std::int64_t begin = cells.starts[c], n_rows = cells.starts[c + 1] - begin;
        while (counts[c] < n_rows && state.potential[c] > 0) {
            const double time =
                counts[c] == 0 ? 0 : times[begin + counts[c] - 1] + 1 / state.potential[c];
            if (!(time <= until)) break;
            const std::int64_t place = race.place(c, counts[c], all_trials.own());
            chosen[begin + counts[c]] = cells.order[begin + place];
            times[begin + counts[c]++] = time;
        }
    };
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1) if (n_threads > 1)
    for (std::int64_t c = 0; c < n_cells; ++c) {
        counts[c] = 0;
        packed.fill(rows, cells, weights, static_cast<C>(scale), c);
        race.begin(c);
        run(c, 0);
    }
    double until = 0;
    while (true) {
        std::int64_t total = 0;
        double rate = 0, next = std::numeric_limits<double>::infinity();
        for (std::int64_t c = 0; c < n_cells; ++c) {
            total += counts[c];
            const std::int64_t last = cells.starts[c] + counts[c] - 1;
            if (counts[c] == 0 || counts[c] == cells.starts[c + 1] - cells.starts[c] ||
                !(state.potential[c] > 0))
                continue;
            rate += state.potential[c];
            next = smaller(times[last] + 1 / state.potential[c], next);
        }
        if (total >= n_centers || !(next < std::numeric_limits<double>::infinity())) return total;
        const double later = until + overshoot * static_cast<double>(n_centers - total) / rate;
        until = larger(later, next);
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1) if (n_threads > 1)
        for (std::int64_t c = 0; c < n_cells; ++c) run(c, until);
    }
}

PK_INSTANTIATE(race_centers);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

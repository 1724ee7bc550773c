// The nearest center of every row among those that its group lists: one pass of a search that knows
// roughly where each row belongs. A group is a cluster, with the centers around it, or a cell of
// the space, with the centers in it. The work does not grow with the number of clusters.
#include "clustering/exact_distance.hpp"
#include "clustering/kernels.hpp"
#include "clustering/listed_centers.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The best two scores of a row. Lane l has seen the centers l, l + n_lanes, ... of the list.
template <class C> struct Leaders {
    Lanes<C> best, second;
    IndexLanes<C> place;  // of the best, in vectors from the beginning of the list

    void start() {
        best = second = broadcast(std::numeric_limits<C>::infinity());
        place = IndexLanes<C>{};
    }
    void meet(Lanes<C> score, std::int64_t vector) {
        place = score < best ? broadcast_index<C>(vector) : place;
        second = smaller(second, larger(best, score));
        best = smaller(best, score);
    }
};

template <class C> struct Winner {
    C best, second;
    std::int64_t place;  // in the list

    explicit Winner(const Leaders<C> &leaders) : best(smallest_lane<C>(leaders.best)) {
        const unsigned where = lanes_at_most<C>(leaders.best, broadcast(best));
        const int lane = where ? __builtin_ctz(where) : 0;  // scores may be NaN
        place = leaders.place[lane] * n_lanes<C> + lane;
        const Lanes<C> nobody = broadcast(std::numeric_limits<C>::infinity());
        const Lanes<C> others =
            lane_numbers<C>() == broadcast_index<C>(lane) ? nobody : leaders.best;
        second = smallest_lane<C>(smaller(others, leaders.second));
    }
};

// Rows that are prefetched ahead of those at work, because rows of a group lie anywhere, and bytes
// of each of them. Processors fetch the rest of long rows.
constexpr std::int64_t fetched_rows = 16, fetched_bytes = 256;

template <class C> struct Scratch {
    PackedList<C> list;
    Buffer<C> rows;
    Buffer<double> settling;

    Scratch(std::int64_t longest, std::int64_t n_columns)
        : list(longest, n_columns), rows(most_listed_rows * n_columns),
          settling(settle_scratch(n_columns)) {}
};

template <class C> struct Assignment {
    const Rows &rows;
    Frame<C> frame;
    Centers<double> exact;
    CenterLists lists;
    C largest;
    std::int32_t *labels;
    C *nearest, *second;

    // Assigns all rows of a unit, whose list is packed.
    template <class T>
    void assign_unit(const std::int64_t *which, std::int64_t n_rows, const std::int64_t *end,
                     std::int32_t group, Scratch<C> &scratch) const {
        switch (PackedList<C>::n_vectors(lists.starts[group + 1] - lists.starts[group])) {
        case 1: return assign_in_turn<T, 1>(which, n_rows, end, group, scratch);
        case 2: return assign_in_turn<T, 2>(which, n_rows, end, group, scratch);
        default: assign_in_turn<T, listed_vectors>(which, n_rows, end, group, scratch);
        }
    }

  private:
    template <class T, int vectors>
    void assign_in_turn(const std::int64_t *which, std::int64_t n_rows, const std::int64_t *end,
                        std::int32_t group, Scratch<C> &scratch) const {
        constexpr int together = rows_with<vectors>;
        for (std::int64_t first = 0; first < n_rows; first += together) {
            const std::int64_t *now = which + first, left = n_rows - first;
            for (const auto *next = now + fetched_rows;
                 next < now + fetched_rows + together && next < end; ++next)
                fetch<T>(*next);
            assign<T, vectors>(now, static_cast<int>(left < together ? left : together), group,
                               scratch);
        }
    }

    template <class T> void fetch(std::int64_t row) const {
        const auto *bytes = reinterpret_cast<const char *>(rows.row<T>(row));
        for (std::int64_t byte = 0; byte < fetched_bytes; byte += 64)
            __builtin_prefetch(bytes + byte);
    }

    // Assigns at most rows_with<vectors> rows of a group.
    template <class T, int vectors>
    void assign(const std::int64_t *which, int n_rows, std::int32_t group,
                Scratch<C> &scratch) const {
        constexpr int together = rows_with<vectors>;
        static_assert(together <= most_listed_rows, "scratch.rows has no room for more rows");
        C norms[together] = {};
        for (int i = 0; i < together; ++i) {
            const std::int64_t row = which[i < n_rows ? i : 0];
            norms[i] = frame_row<C>(rows.row<T>(row), frame, rows.n_columns,
                                    scratch.rows.data() + i * rows.n_columns);
        }
        Leaders<C> leaders[together];
        for (int i = 0; i < together; ++i) leaders[i].start();
        for (std::int64_t chunk = 0; chunk < scratch.list.n_chunks(); ++chunk) {
            Lanes<C> scores[together][vectors];
            scratch.list.score(scratch.rows.data(), chunk, scores);
            for (int i = 0; i < together; ++i)
                for (int v = 0; v < vectors; ++v)
                    leaders[i].meet(scores[i][v], chunk * listed_vectors + v);
        }
        for (int i = 0; i < n_rows; ++i)
            report(which[i], norms[i], Winner<C>(leaders[i]), group, scratch.settling.data());
    }

    void report(std::int64_t row, C norm, const Winner<C> &winner, std::int32_t group,
                double *settling) const {
        const std::int32_t *names = lists.members + lists.starts[group];
        const std::int64_t n_names = lists.starts[group + 1] - lists.starts[group];
        if (is_decided(norm, winner.best, winner.second, largest, rows.n_columns))
            labels[row] = names[winner.place];
        else
            labels[row] = settle(rows, row, frame, exact, labels[row], names, n_names, settling);
        nearest[row] = larger(norm + 2 * winner.best, C{0});
        second[row] = larger(norm + 2 * winner.second, C{0});
    }
};

}  // namespace

template <class C>
void nearest_listed(const Rows &rows, Frame<C> frame, Centers<C> centers, Centers<double> exact,
                    const std::int32_t *groups, CenterLists lists, std::int32_t *labels, C *nearest,
                    C *second, int n_threads) {
    const HalfNorms<C> norms(centers, rows.n_columns);
    const GroupedRows grouped(groups ? groups : labels, rows.n_rows, lists.n_groups);
    const Assignment<C> assignment{rows,          frame,  exact,   lists,
                                   norms.largest, labels, nearest, second};
    PerThread<Scratch<C>> all_scratch(n_threads, longest_list(lists), rows.n_columns);
    with_element(rows.element, [&](auto zero) {
        using T = decltype(zero);
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 4) if (n_threads > 1)
        for (std::int64_t index = 0; index < grouped.n_units(); ++index) {
            Scratch<C> &scratch = all_scratch.own();
            const auto &unit = grouped.unit(index);
            const std::int64_t *which = grouped.rows_of(unit), begin = lists.starts[unit.group];
            scratch.list.fill(centers, norms, lists.members + begin,
                              lists.starts[unit.group + 1] - begin);
            assignment.template assign_unit<T>(which, unit.n_rows, grouped.end(), unit.group,
                                               scratch);
        }
    });
}

PK_INSTANTIATE(nearest_listed);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

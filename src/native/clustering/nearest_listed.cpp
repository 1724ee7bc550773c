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
    C best = std::numeric_limits<C>::infinity(), second = best;
    std::int64_t place = 0;  // in the list

    explicit Winner(const Leaders<C> &leaders) {
        for (int lane = 0; lane < n_lanes<C>; ++lane) {
            const C score = leaders.best[lane];
            if (score < best) {
                second = smaller(best, second);
                best = score;
                place = leaders.place[lane] * n_lanes<C> + lane;
            } else {
                second = smaller(score, second);
            }
            second = smaller(leaders.second[lane], second);
        }
    }
};

template <class C> struct Scratch {
    PackedList<C> list;
    Buffer<C> rows;
    Buffer<double> settling;

    Scratch(std::int64_t longest, std::int64_t n_columns)
        : list(longest, n_columns), rows(listed_rows * n_columns),
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

    // Assigns at most `listed_rows` rows of a group.
    template <class T>
    void assign(const std::int64_t *which, int n_rows, std::int32_t group,
                Scratch<C> &scratch) const {
        C norms[listed_rows] = {};
        for (int i = 0; i < listed_rows; ++i) {
            const std::int64_t row = which[i < n_rows ? i : 0];
            norms[i] = frame_row<C>(rows.row<T>(row), frame, rows.n_columns,
                                    scratch.rows.data() + i * rows.n_columns);
        }
        Leaders<C> leaders[listed_rows];
        for (int i = 0; i < listed_rows; ++i) leaders[i].start();
        if (lists.starts[group + 1] - lists.starts[group] <= n_lanes<C>)
            meet<1>(scratch, leaders);
        else
            meet<listed_vectors>(scratch, leaders);
        for (int i = 0; i < n_rows; ++i)
            report(which[i], norms[i], Winner<C>(leaders[i]), group, scratch.settling.data());
    }

  private:
    // Rows meet the first centers of every chunk of their list, as many as `vectors` hold.
    template <int vectors>
    void meet(const Scratch<C> &scratch, Leaders<C> (&leaders)[listed_rows]) const {
        for (std::int64_t chunk = 0; chunk < scratch.list.n_chunks(); ++chunk) {
            Lanes<C> scores[listed_rows][vectors];
            scratch.list.template score<vectors>(scratch.rows.data(), chunk, scores);
            for (int i = 0; i < listed_rows; ++i)
                for (int v = 0; v < vectors; ++v)
                    leaders[i].meet(scores[i][v], chunk * listed_vectors + v);
        }
    }

    void report(std::int64_t row, C norm, const Winner<C> &winner, std::int32_t group,
                double *settling) const {
        const std::int32_t *names = lists.members + lists.starts[group];
        const std::int64_t n_names = lists.starts[group + 1] - lists.starts[group];
        const C margin = score_margin(norm, largest, rows.n_columns);
        if (winner.second - winner.best > 2 * margin)
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
            for (std::int64_t first = 0; first < unit.n_rows; first += listed_rows) {
                const std::int64_t left = unit.n_rows - first;
                assignment.template assign<T>(
                    which + first, static_cast<int>(left < listed_rows ? left : listed_rows),
                    unit.group, scratch);
            }
        }
    });
}

PK_INSTANTIATE(nearest_listed);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

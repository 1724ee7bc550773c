// The nearest centers of every center, among those that its group lists.
#include <algorithm>

#include "clustering/kernels.hpp"
#include "clustering/listed_centers.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

template <class C> struct Scored {
    C score;
    std::int32_t center;

    bool operator<(const Scored &other) const {
        return score < other.score || (score == other.score && center < other.center);
    }
};

template <class C> struct Scratch {
    PackedList<C> list;
    Buffer<C> rows;
    Buffer<Scored<C>> scored;  // [row][center of the list]
    std::int64_t stride;

    Scratch(std::int64_t longest, std::int64_t n_columns)
        : list(longest, n_columns), rows(listed_rows * n_columns),
          scored(listed_rows * (longest + chunk_centers<C>)), stride(longest + chunk_centers<C>) {}
};

// Scores of at most `listed_rows` centers with all centers of their list.
template <class C>
void score_centers(Centers<C> centers, std::int64_t n_columns, const std::int64_t *which,
                   int n_rows, const std::int32_t *names, std::int64_t n_names,
                   Scratch<C> &scratch) {
    for (int i = 0; i < listed_rows; ++i)
        std::memcpy(scratch.rows.data() + i * n_columns,
                    centers.data + which[i < n_rows ? i : 0] * n_columns, n_columns * sizeof(C));
    for (std::int64_t chunk = 0; chunk < scratch.list.n_chunks(); ++chunk) {
        Lanes<C> scores[listed_rows][listed_vectors];
        scratch.list.score(scratch.rows.data(), chunk, scores);
        for (int i = 0; i < n_rows; ++i)
            for (std::int64_t j = 0; j < chunk_centers<C>; ++j) {
                const std::int64_t place = chunk * chunk_centers<C> + j;
                if (place >= n_names) break;
                const C score = scores[i][j / n_lanes<C>][j % n_lanes<C>];
                // A score that is not a number counts as the largest, so that there is an order.
                scratch.scored[i * scratch.stride + place] = {
                    score < std::numeric_limits<C>::infinity() ? score
                                                               : std::numeric_limits<C>::infinity(),
                    names[place]};
            }
    }
}

// out <- the center itself, and then the nearest of the others.
template <class C>
void choose(Scored<C> *scored, std::int64_t n_scored, std::int64_t own, std::int64_t n_neighbours,
            std::int32_t *out) {
    for (std::int64_t j = 0; j < n_scored; ++j)
        if (scored[j].center == own) scored[j].score = -std::numeric_limits<C>::infinity();
    if (n_neighbours < n_scored)
        std::nth_element(scored, scored + n_neighbours - 1, scored + n_scored);
    std::sort(scored, scored + n_neighbours);
    for (std::int64_t j = 0; j < n_neighbours; ++j) out[j] = scored[j].center;
}

}  // namespace

template <class C>
void center_neighbours(Centers<C> centers, std::int64_t n_columns, const std::int32_t *groups,
                       CenterLists lists, std::int64_t n_neighbours, std::int32_t *out,
                       int n_threads) {
    const HalfNorms<C> norms(centers, n_columns);
    const GroupedRows grouped(groups, centers.n_centers, lists.n_groups);
    PerThread<Scratch<C>> all_scratch(n_threads, longest_list(lists), n_columns);
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1) if (n_threads > 1)
    for (std::int64_t index = 0; index < grouped.n_units(); ++index) {
        Scratch<C> &scratch = all_scratch.own();
        const auto &unit = grouped.unit(index);
        const std::int64_t *which = grouped.rows_of(unit), begin = lists.starts[unit.group];
        const std::int64_t n_names = lists.starts[unit.group + 1] - begin;
        const std::int32_t *names = lists.members + begin;
        scratch.list.fill(centers, norms, names, n_names);
        for (std::int64_t first = 0; first < unit.n_rows; first += listed_rows) {
            const std::int64_t left = unit.n_rows - first;
            const int n_rows = static_cast<int>(left < listed_rows ? left : listed_rows);
            score_centers(centers, n_columns, which + first, n_rows, names, n_names, scratch);
            for (int i = 0; i < n_rows; ++i)
                choose(scratch.scored.data() + i * scratch.stride, n_names, which[first + i],
                       n_neighbours, out + which[first + i] * n_neighbours);
        }
    }
}

PK_INSTANTIATE(center_neighbours);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

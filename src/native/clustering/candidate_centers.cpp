// Candidates: the few nearest centers of every row, and the nearest of a row's candidates.
//
// Candidates are listed where rows have few columns (in the sketch). A pass over the original rows
// then costs n_candidates products for each row instead of one for every center.
#include "clustering/exact_distance.hpp"
#include "clustering/few_scores.hpp"
#include "clustering/kernels.hpp"
#include "lanes/center_panel.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The best scores of each row of a tile in ascending order, with their centers. Of equal scores the
// lower center comes first.
template <class C> class Shortlist {
  public:
    explicit Shortlist(std::int64_t size)
        : size_(size), scores_(size * tile_rows<C>), centers_(size * tile_rows<C>) {}

    // Begins with the first centers, which stay listed if scores are NaN.
    void clear() {
        for (std::int64_t i = 0; i < size_ * tile_rows<C>; ++i) {
            scores_[i] = std::numeric_limits<C>::infinity();
            centers_[i] = static_cast<LaneIndex<C>>(i / tile_rows<C>);
        }
    }

    void meet(std::int64_t center, int half, Lanes<C> score) {
        const int offset = half * n_lanes<C>;
        if (!any_below<C>(score, load(scores_.data() + (size_ - 1) * tile_rows<C> + offset)))
            return;
        IndexLanes<C> index = broadcast_index<C>(center);
        decltype(score < score) moving = {};  // lanes whose later entries move down by one
        for (std::int64_t slot = 0; slot < size_; ++slot) {
            C *scores = scores_.data() + slot * tile_rows<C> + offset;
            LaneIndex<C> *centers = centers_.data() + slot * tile_rows<C> + offset;
            const Lanes<C> held = load(scores);
            IndexLanes<C> holder;
            std::memcpy(&holder, centers, sizeof holder);
            moving |= score < held;
            store(scores, moving ? score : held);
            const IndexLanes<C> winner = moving ? index : holder;
            std::memcpy(centers, &winner, sizeof winner);
            score = moving ? held : score;
            index = moving ? holder : index;
        }
    }

    // Writes the list of a row. Its own center takes the last place if it is not in the list.
    void report(std::int64_t row, std::int32_t own, Candidates out, std::int64_t to) {
        bool found = false;
        for (std::int64_t slot = 0; slot < size_; ++slot) {
            const auto center = static_cast<std::int32_t>(centers_[slot * tile_rows<C> + row]);
            found |= center == own;
            out.set(to, slot, center);
        }
        if (!found) out.set(to, size_ - 1, own);
    }

  private:
    std::int64_t size_;
    Buffer<C> scores_;
    Buffer<LaneIndex<C>> centers_;
};

}  // namespace

template <class C>
void candidate_centers(const Rows &rows, Frame<C> frame, Centers<C> centers,
                       const std::int32_t *labels, Candidates out, int n_threads) {
    constexpr int tile = tile_rows<C>;
    const PackTile<C> pack = pack_tile_for<C>(rows.element);
    const std::int64_t width = rows.n_columns;
    CenterPanel<C> panel(centers.n_centers, width);
    panel.fill(
        [&](std::int64_t j, std::int64_t column) { return centers.data[j * width + column]; });
    PerThread<Buffer<C>> all_packed(n_threads, width * tile);
    PerThread<Shortlist<C>> all_shortlists(n_threads, out.n_candidates);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        Buffer<C> &packed = all_packed.own();
        Shortlist<C> &shortlist = all_shortlists.own();
#pragma omp for schedule(dynamic, 8)
        for (std::int64_t first = 0; first < rows.n_rows; first += tile) {
            const std::int64_t left = rows.n_rows - first, n_rows = left < tile ? left : tile;
            Lanes<C> norms[2];
            frame_tile(rows, pack, frame, first, n_rows, packed.data(), norms);
            shortlist.clear();
            panel.meet_tile(packed.data(), [&](std::int64_t center, int half, Lanes<C> product) {
                shortlist.meet(center, half, panel.squared_norm(center) / 2 - product);
            });
            for (std::int64_t row = 0; row < n_rows; ++row)
                shortlist.report(row, labels[first + row], out, first + row);
        }
    }
}

template <class C>
void nearest_candidate(const Rows &rows, Frame<C> frame, Centers<C> centers, Centers<double> exact,
                       Candidates candidates, std::int32_t *labels, int n_threads) {
    const std::int64_t width = rows.n_columns;
    const HalfNorms<C> norms(centers, width);
    const std::int64_t n = candidates.n_candidates;
    PerThread<Buffer<C>> all_rows(n_threads, width);
    PerThread<Buffer<std::int32_t>> all_names(n_threads, n);
    PerThread<Buffer<double>> all_settling(n_threads, settle_scratch(width));
    with_element(rows.element, [&](auto zero) {
        using T = decltype(zero);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            const FewScores<C> scores{centers, norms.values.data(), width};
            Buffer<C> &row = all_rows.own();
            Buffer<std::int32_t> &names = all_names.own();
#pragma omp for schedule(dynamic, 64)
            for (std::int64_t i = 0; i < rows.n_rows; ++i) {
                const C norm = frame_row<C>(rows.row<T>(i), frame, width, row.data());
                const TwoBest<C> leaders = scores.lead(
                    row.data(), n, [&](std::int64_t slot) { return candidates.get(i, slot); });
                if (is_decided(norm, leaders.best, leaders.second, norms.largest, width)) {
                    labels[i] = leaders.label;
                    continue;
                }
                for (std::int64_t j = 0; j < n; ++j) names[j] = candidates.get(i, j);
                labels[i] = settle(rows, i, frame, exact, labels[i], names.data(), n,
                                   all_settling.own().data());
            }
        }
    });
}

PK_INSTANTIATE(candidate_centers);
PK_INSTANTIATE(nearest_candidate);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

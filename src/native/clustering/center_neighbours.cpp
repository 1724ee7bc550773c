// The nearest centers of every center, among those that its group lists.
#include <algorithm>
#include <deque>

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

// The nearest centers of one center so far. When the room is used up, all but the wanted ones are
// dropped, and from then on only scores that are not above the last of these enter.
template <class C> class Nearest {
  public:
    // Room for this many scores beside the wanted ones.
    static constexpr std::int64_t extra = 64;

    explicit Nearest(std::int64_t most_wanted) : kept_(most_wanted + extra) {}

    void start(std::int64_t n_wanted) {
        n_wanted_ = n_wanted;
        n_kept_ = 0;
        limit_ = std::numeric_limits<C>::infinity();
    }
    // Meets centers in lanes, the first `n` of which are real; leaves out the center `own`.
    void meet(Lanes<C> scores, const std::int32_t *names, int n, std::int32_t own) {
        const Lanes<C> nobody = broadcast(std::numeric_limits<C>::infinity());
        // A score that is not a number counts as the largest, so that there is an order.
        const Lanes<C> known = scores < nobody ? scores : nobody;
        unsigned near = lanes_at_most<C>(known, broadcast(limit_)) & ((1u << n) - 1);
        for (; near; near &= near - 1) {
            const int lane = __builtin_ctz(near);
            if (names[lane] == own) continue;
            kept_[n_kept_++] = {known[lane], names[lane]};
            if (n_kept_ == n_wanted_ + extra) drop();
        }
    }
    // out <- the wanted centers, nearest first.
    void report(std::int32_t *out) {
        if (n_kept_ > n_wanted_) drop();
        std::sort(kept_.data(), kept_.data() + n_kept_);
        for (std::int64_t j = 0; j < n_wanted_; ++j) out[j] = kept_[j].center;
    }

  private:
    void drop() {
        if (n_wanted_ == 0) {
            n_kept_ = 0;
            return;
        }
        Scored<C> *last = kept_.data() + n_wanted_ - 1;
        std::nth_element(kept_.data(), last, kept_.data() + n_kept_);
        n_kept_ = n_wanted_;
        limit_ = last->score;
    }

    Buffer<Scored<C>> kept_;
    std::int64_t n_wanted_ = 0, n_kept_ = 0;
    C limit_ = 0;
};

template <class C> struct Scratch {
    PackedList<C> list;
    Buffer<C> rows;
    std::deque<Nearest<C>> nearest;  // of each row; not a vector, because buffers cannot be moved

    Scratch(std::int64_t longest, std::int64_t n_columns, std::int64_t n_neighbours)
        : list(longest, n_columns), rows(listed_rows * n_columns) {
        for (int i = 0; i < listed_rows; ++i) nearest.emplace_back(n_neighbours);
    }
};

// The centers that a group lists.
struct Names {
    const std::int32_t *data;
    std::int64_t n;

    bool have(std::int32_t name) const {
        bool found = false;
        for (std::int64_t j = 0; j < n; ++j) found |= data[j] == name;
        return found;
    }
};

// out[center] <- the center itself, if it is listed, and then the nearest of the others: for at
// most `listed_rows` centers of one group, whose list is packed.
template <class C>
void find_nearest(Centers<C> centers, std::int64_t n_columns, const std::int64_t *which, int n_rows,
                  Names names, std::int64_t n_neighbours, Scratch<C> &scratch, std::int32_t *out) {
    bool is_listed[listed_rows];
    for (int i = 0; i < listed_rows; ++i) {
        const std::int64_t own = which[i < n_rows ? i : 0];
        std::memcpy(scratch.rows.data() + i * n_columns, centers.data + own * n_columns,
                    n_columns * sizeof(C));
        is_listed[i] = names.have(static_cast<std::int32_t>(own));
        scratch.nearest[i].start(n_neighbours - is_listed[i]);
    }
    for (std::int64_t chunk = 0; chunk < scratch.list.n_chunks(); ++chunk) {
        Lanes<C> scores[listed_rows][listed_vectors];
        scratch.list.score(scratch.rows.data(), chunk, scores);
        for (int i = 0; i < n_rows; ++i)
            for (int v = 0; v < listed_vectors; ++v) {
                const std::int64_t place = chunk * chunk_centers<C> + v * n_lanes<C>;
                const auto n = smaller<std::int64_t>(names.n - place, n_lanes<C>);
                if (n <= 0) break;
                scratch.nearest[i].meet(scores[i][v], names.data + place, static_cast<int>(n),
                                        static_cast<std::int32_t>(which[i]));
            }
    }
    for (int i = 0; i < n_rows; ++i) {
        std::int32_t *to = out + which[i] * n_neighbours;
        if (is_listed[i]) *to++ = static_cast<std::int32_t>(which[i]);
        scratch.nearest[i].report(to);
    }
}

}  // namespace

template <class C>
void center_neighbours(Centers<C> centers, std::int64_t n_columns, const std::int32_t *groups,
                       CenterLists lists, std::int64_t n_neighbours, std::int32_t *out,
                       int n_threads) {
    const HalfNorms<C> norms(centers, n_columns);
    const GroupedRows grouped(groups, centers.n_centers, lists.n_groups);
    PerThread<Scratch<C>> all_scratch(n_threads, longest_list(lists), n_columns, n_neighbours);
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1) if (n_threads > 1)
    for (std::int64_t index = 0; index < grouped.n_units(); ++index) {
        Scratch<C> &scratch = all_scratch.own();
        const auto &unit = grouped.unit(index);
        const std::int64_t *which = grouped.rows_of(unit), begin = lists.starts[unit.group];
        const Names names{lists.members + begin, lists.starts[unit.group + 1] - begin};
        scratch.list.fill(centers, norms, names.data, names.n);
        for (std::int64_t first = 0; first < unit.n_rows; first += listed_rows) {
            const std::int64_t left = unit.n_rows - first;
            const int n_rows = static_cast<int>(left < listed_rows ? left : listed_rows);
            find_nearest(centers, n_columns, which + first, n_rows, names, n_neighbours, scratch,
                         out);
        }
    }
}

PK_INSTANTIATE(center_neighbours);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

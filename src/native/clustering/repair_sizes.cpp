// Rows that are too many in a cluster travel to clusters with too few, along shortest paths. The
// module passes/size_limits.py tells why the result is optimal.
#include <algorithm>
#include <limits>

#include "clustering/kernels.hpp"
#include "lanes/buffer.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// An assignment at its prices. Nodes are the clusters; one more, the hub, is the freedom of sizes.
template <class C> class Repair {
  public:
    Repair(const C *distances, std::int64_t n_rows, std::int64_t n_clusters, SizeState state)
        : distances_(distances), n_rows_(n_rows), k_(n_clusters), state_(state),
          cheapest_(n_clusters * n_clusters), heads_(n_clusters), following_(n_rows),
          rounds_(n_rows), is_changed_(n_clusters), lengths_(n_clusters + 1),
          before_(n_clusters + 1), is_settled_(n_clusters + 1), targets_(n_clusters + 1),
          path_(n_clusters + 2), begun_(n_clusters), raised_(n_clusters) {
        std::fill_n(heads_.data(), k_, -1);
        // Also clusters without rows, so that `find_cheapest` says that no move leaves them.
        std::fill_n(is_changed_.data(), k_, true);
        for (std::int64_t row = n_rows_ - 1; row >= 0; --row) enter(row, state_.labels[row]);
        std::fill_n(rounds_.data(), n_rows_, std::int64_t{0});
        std::copy_n(state_.prices, k_, begun_.data());
    }

    // Moves rows until all sizes are right, or until rows that take no part might want to move.
    void run() {
        while (std::any_of(state_.excess, state_.excess + k_ + 1, [](auto e) { return e > 0; })) {
            find_cheapest();
            const std::int64_t n_served = raise_prices(find_paths());
            ++round_;
            bool has_moved = false;
            for (std::int64_t i = 0; i < n_served; ++i) has_moved |= move_to(targets_[i]);
            if (!has_moved) return;
        }
    }

  private:
    double cost(std::int64_t row, std::int64_t from, std::int64_t to) const {
        const C *own = distances_ + row * k_;
        return static_cast<double>(own[to]) - static_cast<double>(own[from]);
    }

    void enter(std::int64_t row, std::int64_t cluster) {
        following_[row] = heads_[cluster];
        heads_[cluster] = row;
        is_changed_[cluster] = true;
    }

    // cheapest_[a][b] <- what the cheapest move from a to b costs, for clusters that have changed.
    void find_cheapest() {
        for (std::int64_t a = 0; a < k_; ++a) {
            if (!is_changed_[a]) continue;
            is_changed_[a] = false;
            double *least = cheapest_.data() + a * k_;
            std::fill_n(least, k_, infinite);
            for (std::int64_t row = heads_[a]; row >= 0; row = following_[row])
                for (std::int64_t b = 0; b < k_; ++b)
                    least[b] = std::min(least[b], cost(row, a, b));
            least[a] = infinite;
        }
    }

    // The length of an arc at the present prices; infinity if there is none.
    double length(std::int64_t a, std::int64_t b) const {
        const double *prices = state_.prices;
        double found = infinite;
        if (a < k_ && b < k_)
            found = cheapest_[a * k_ + b] + prices[b] - prices[a];
        else if (a < k_)
            found = state_.wanted[a] < state_.maximum ? -prices[a] : infinite;
        else if (b < k_)
            found = state_.wanted[b] > state_.minimum ? prices[b] : infinite;
        return std::max(found, 0.0);
    }

    // Finds shortest paths from nodes with too many rows (Dijkstra). Returns how many nodes with
    // too few are reached; they are in targets_, the nearest first.
    std::int64_t find_paths() {
        for (std::int64_t node = 0; node <= k_; ++node) {
            lengths_[node] = state_.excess[node] > 0 ? 0.0 : infinite;
            before_[node] = -1;
            is_settled_[node] = false;
        }
        std::int64_t n_reached = 0;
        for (;;) {
            std::int64_t nearest = -1;
            for (std::int64_t node = 0; node <= k_; ++node)
                if (!is_settled_[node] && lengths_[node] < infinite &&
                    (nearest < 0 || lengths_[node] < lengths_[nearest]))
                    nearest = node;
            if (nearest < 0) return n_reached;
            is_settled_[nearest] = true;
            if (state_.excess[nearest] < 0) targets_[n_reached++] = nearest;
            for (std::int64_t node = 0; node <= k_; ++node) {
                if (is_settled_[node]) continue;
                const double longer = lengths_[nearest] + length(nearest, node);
                if (!(longer < lengths_[node])) continue;
                lengths_[node] = longer;
                before_[node] = nearest;
            }
        }
    }

    // Changes prices by the lengths of paths to as many targets as the reaches allow.
    std::int64_t raise_prices(std::int64_t n_served) {
        for (; n_served > 0; n_served /= 2) {
            const double farthest = lengths_[targets_[n_served - 1]];
            double lowest = infinite;
            for (std::int64_t j = 0; j < k_; ++j) {
                raised_[j] = state_.prices[j] - std::min(lengths_[j], farthest) +
                             std::min(lengths_[k_], farthest);
                lowest = std::min(lowest, raised_[j] - begun_[j]);
            }
            bool within = true;
            for (std::int64_t j = 0; j < k_; ++j)
                within = within && raised_[j] - begun_[j] - lowest <= state_.reaches[j];
            if (!within) continue;
            std::copy_n(raised_.data(), k_, state_.prices);
            return n_served;
        }
        return 0;
    }

    bool may_move(std::int64_t row, std::int64_t a, std::int64_t b) const {
        return rounds_[row] < round_ && cost(row, a, b) == cheapest_[a * k_ + b];
    }

    // How many rows can travel over an arc in this round. A row moves once in a round at most.
    std::int64_t capacity(std::int64_t a, std::int64_t b) const {
        if (b == k_) return state_.maximum - state_.wanted[a];
        if (a == k_) return state_.wanted[b] - state_.minimum;
        std::int64_t n = 0;
        for (std::int64_t row = heads_[a]; row >= 0; row = following_[row])
            n += may_move(row, a, b);
        return n;
    }

    // Sends rows to a target over its path; returns whether it could.
    bool move_to(std::int64_t target) {
        std::int64_t n_nodes = 0, n = -state_.excess[target];
        for (std::int64_t node = target; node >= 0; node = before_[node]) path_[n_nodes++] = node;
        const std::int64_t start = path_[n_nodes - 1];
        n = std::min(n, state_.excess[start]);
        for (std::int64_t i = n_nodes - 1; i > 0 && n > 0; --i)
            n = std::min(n, capacity(path_[i], path_[i - 1]));
        if (n <= 0) return false;
        state_.excess[start] -= n;
        state_.excess[target] += n;
        for (std::int64_t i = n_nodes - 1; i > 0; --i) move(path_[i], path_[i - 1], n);
        return true;
    }

    void move(std::int64_t a, std::int64_t b, std::int64_t n) {
        if (b == k_) state_.wanted[a] += n;
        if (a == k_) state_.wanted[b] -= n;
        if (a == k_ || b == k_) return;
        is_changed_[a] = true;
        std::int64_t *link = &heads_[a];
        while (*link >= 0 && n > 0) {
            const std::int64_t row = *link;
            if (!may_move(row, a, b)) {
                link = &following_[row];
                continue;
            }
            *link = following_[row];
            state_.labels[row] = static_cast<std::int32_t>(b);
            rounds_[row] = round_;
            enter(row, b);
            --n;
        }
    }

    const C *distances_;
    std::int64_t n_rows_, k_, round_ = 0;
    SizeState state_;
    Buffer<double> cheapest_;
    Buffer<std::int64_t> heads_, following_;  // the rows of each cluster, as lists that end with -1
    Buffer<std::int64_t> rounds_;             // in which a row moved last
    Buffer<bool> is_changed_;
    Buffer<double> lengths_;
    Buffer<std::int64_t> before_;
    Buffer<bool> is_settled_;
    Buffer<std::int64_t> targets_, path_;
    Buffer<double> begun_, raised_;
};

}  // namespace

template <class C>
void repair_sizes(const C *distances, std::int64_t n_rows, std::int64_t n_clusters,
                  SizeState state) {
    Repair<C>(distances, n_rows, n_clusters, state).run();
}

PK_INSTANTIATE(repair_sizes);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// Which rows and centers a pass of single-row moves may skip. For a stretch of rows, the filter
// computes bounds on what each row pays for its own center and for the others, with the centers as
// they are when the stretch begins. It then follows how far centers drift. It never moves a row,
// and it skips only what cannot change the result.
#pragma once

#include <cmath>
#include <limits>

#include "lanes/center_panel.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// The maximum and minimum number of rows in a stretch. Long stretches use threads well; in short
// ones centers drift less.
constexpr std::int64_t longest = 4096, shortest = 256;

// What is known of a row x. Its distance to its own center is at most `own`. For every other center
// c of mass m, sqrt(m / (m + w)) |x - c| is at least `first`, and at least `second` if c is not
// `nearest`; w is the largest weight of a row in the stretch.
struct Outlook {
    double own, first, second;
    std::int64_t nearest;
};

template <class C> class MoveFilter {
  public:
    MoveFilter(const Rows &rows, Frame<C> frame, std::int64_t n_centers, int n_threads)
        : rows_(rows), frame_(frame), pack_(pack_tile_for<C>(rows.element)), n_centers_(n_centers),
          n_threads_(n_threads), panel_(n_centers, rows.n_columns), shares_(n_centers),
          first_shares_(n_centers), drifts_(n_centers), outlooks_(longest), moved_(n_centers),
          packed_(n_threads, rows.n_columns * tile_rows<C>) {}

    // Begins a stretch: rows [first, first + n_rows), with weights of at most `weight`.
    void look(std::int64_t first, std::int64_t n_rows, const std::int32_t *labels,
              const double *centers, const double *mass, double weight) {
        first_ = first;
        weight_ = weight;
        farthest_ = 0;
        ratio_ = 1;
        n_moved_ = 0;
        fill(centers, mass);
#pragma omp parallel for num_threads(n_threads_) schedule(static) if (n_threads_ > 1)
        for (std::int64_t begin = 0; begin < n_rows; begin += tile_rows<C>) {
            const std::int64_t left = n_rows - begin;
            look_at_tile(first + begin, left < tile_rows<C> ? left : tile_rows<C>,
                         labels + first + begin, packed_.own().data());
        }
    }

    // Whether a row certainly stays, if it pays `factor` times the squared distance to its own
    // center.
    bool keeps(std::int64_t row, std::int64_t own, double factor) {
        const Outlook &outlook = outlooks_[row - first_];
        const double drift = drifts_[own] > 0 ? drifts_[own] : 0;
        const double reach = (outlook.own + drift) * (1 + slack());
        return excludes_all(outlook, factor * reach * reach);
    }

    // Calls compare(center) for all centers that a row may go to: none, a few or all. The row pays
    // `cost` for each unit of its weight now.
    template <class Compare> void for_each_rival(std::int64_t row, double cost, Compare compare) {
        const Outlook &outlook = outlooks_[row - first_];
        if (excludes_all(outlook, cost)) return;
        if (cost <= outlook.second * outlook.second * (1 - slack())) {
            compare(outlook.nearest);
            for (std::int64_t i = 0; i < n_moved_; ++i) compare(moved_[i]);
        } else {
            for (std::int64_t center = 0; center < n_centers_; ++center) compare(center);
        }
    }

    // Takes note that a center moved by `way` and has another mass now.
    void follow(std::int64_t center, double way, double mass) {
        if (drifts_[center] < 0) {
            drifts_[center] = 0;
            moved_[n_moved_++] = center;
        }
        drifts_[center] += way * (1 + slack());
        if (drifts_[center] > farthest_) farthest_ = drifts_[center];
        const double ratio = share(mass) / first_shares_[center];
        if (!(ratio >= ratio_)) ratio_ = ratio;  // also if it is NaN, which then excludes nothing
    }

  private:
    // More than the relative rounding error of a sum over the columns in double precision.
    double slack() const { return static_cast<double>(rows_.n_columns + 64) * 0x1p-50; }

    bool excludes_all(const Outlook &outlook, double cost) const {
        const double bound = outlook.first - farthest_;
        return bound > 0 && ratio_ > 0 && cost <= ratio_ * bound * bound * (1 - slack());
    }

    double share(double mass) const { return mass / (mass + weight_); }

    void fill(const double *centers, const double *mass) {
        const std::int64_t width = rows_.n_columns;
        panel_.fill([&](std::int64_t j, std::int64_t column) {
            return (centers[j * width + column] - frame_.origin[column]) * frame_.scale;
        });
        largest_ = 0;
        for (std::int64_t j = 0; j < n_centers_; ++j) {
            first_shares_[j] = share(mass[j]);
            shares_[j] = static_cast<C>(first_shares_[j]);
            drifts_[j] = -1;
            if (panel_.squared_norm(j) > largest_) largest_ = panel_.squared_norm(j);
        }
    }

    void look_at_tile(std::int64_t first, std::int64_t n_rows, const std::int32_t *labels,
                      C *packed) {
        const Lanes<C> far = broadcast(std::numeric_limits<C>::infinity());
        Lanes<C> norms[2], home[2] = {far, far}, least[2] = {far, far}, second[2] = {far, far};
        IndexLanes<C> own[2], nearest[2] = {};
        frame_tile(rows_, pack_, frame_, first, n_rows, packed, norms);
        for (int half = 0; half < 2; ++half)
            for (int lane = 0; lane < n_lanes<C>; ++lane) {
                const int row = half * n_lanes<C> + lane;
                own[half][lane] = row < n_rows ? labels[row] : -1;
            }
        panel_.meet_tile(packed, [&](std::int64_t center, int half, Lanes<C> product) {
            const IndexLanes<C> index = broadcast_index<C>(center);
            const Lanes<C> squared = norms[half] + (panel_.squared_norm(center) - 2 * product);
            const auto at_home = own[half] == index;
            home[half] = at_home ? squared : home[half];
            const Lanes<C> cost = at_home ? far : squared * shares_[center];
            const auto better = cost < least[half];
            const Lanes<C> next = better ? least[half] : cost;
            second[half] = next < second[half] ? next : second[half];
            least[half] = better ? cost : least[half];
            nearest[half] = better ? index : nearest[half];
        });
        for (std::int64_t row = 0; row < n_rows; ++row) {
            const auto half = row / n_lanes<C>, lane = row % n_lanes<C>;
            const C norm = norms[half][lane];
            outlooks_[first - first_ + row] = {
                at_most(home[half][lane], norm), at_least(least[half][lane], norm),
                at_least(second[half][lane], norm), nearest[half][lane]};
        }
    }

    // |x|^2 + |c|^2 - 2 <x, c> differs from |x - c|^2 by less than (columns + 12) units of rounding
    // of (|x| + |c|)^2. This includes the rounding of x and c on their way into the frame.
    C margin(C norm) const {
        const C epsilon = std::numeric_limits<C>::epsilon();
        const C columns = static_cast<C>(rows_.n_columns);
        return (columns + 16) * epsilon * (1 + columns * epsilon) * (norm + largest_);
    }
    double at_least(C cost, C norm) const {
        const double lower = cost - margin(norm);
        return lower > 0 ? std::sqrt(lower) / frame_.scale * (1 - slack()) : 0.0;
    }
    double at_most(C squared, C norm) const {
        const double upper = squared + margin(norm);
        return upper > 0 ? std::sqrt(upper) / frame_.scale * (1 + slack()) : 0.0;
    }

    const Rows &rows_;
    Frame<C> frame_;
    PackTile<C> pack_;
    std::int64_t n_centers_;
    int n_threads_;
    CenterPanel<C> panel_;
    Buffer<C> shares_;
    Buffer<double> first_shares_, drifts_;  // a drift of -1 says that the center has not moved
    Buffer<Outlook> outlooks_;
    Buffer<std::int64_t> moved_;
    PerThread<Buffer<C>> packed_;
    std::int64_t first_ = 0, n_moved_ = 0;
    double weight_ = 1, farthest_ = 0, ratio_ = 1;
    C largest_ = 0;
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

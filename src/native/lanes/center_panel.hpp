// Products of a tile of rows with all centers. Shared by kernels that look at every center of a row
// but do not keep all products.
#pragma once

#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Centers that are multiplied with a tile at once: as many as have room for their sums in
// registers.
constexpr int panel_centers = PK_VECTOR_BYTES == 64 ? 12 : 6;

// data[group][column][panel_centers], padded with zeros.
template <class C> class CenterPanel {
  public:
    CenterPanel(std::int64_t n_centers, std::int64_t n_columns)
        : n_centers_(n_centers), n_columns_(n_columns),
          n_groups_((n_centers + panel_centers - 1) / panel_centers),
          data_(n_groups_ * n_columns * panel_centers), norms_(n_centers) {}

    // Fills the panel with value(center, column), in the frame's coordinates.
    template <class Value> void fill(Value value) {
        for (std::int64_t group = 0; group < n_groups_; ++group) {
            const std::int64_t first = group * panel_centers;
            const int n =
                static_cast<int>(smaller<std::int64_t>(n_centers_ - first, panel_centers));
            C *to = data_.data() + first * n_columns_;
            double norms[panel_centers] = {};
            for (std::int64_t column = 0; column < n_columns_; ++column, to += panel_centers)
                for (int j = 0; j < panel_centers; ++j) {
                    const C entry = j < n ? static_cast<C>(value(first + j, column)) : C{0};
                    to[j] = entry;
                    norms[j] += static_cast<double>(entry) * entry;
                }
            for (int j = 0; j < n; ++j) norms_[first + j] = static_cast<C>(norms[j]);
        }
    }

    C squared_norm(std::int64_t center) const { return norms_[center]; }

    // Calls meet(center, half, products) for every center and both halves of a packed tile.
    template <class Meet> void meet_tile(const C *packed, Meet meet) const {
        meet_tile(packed, 0, n_centers_, meet);
    }

    // The same for centers [first, end), which begin at a multiple of `panel_centers`.
    template <class Meet>
    void meet_tile(const C *packed, std::int64_t first, std::int64_t end, Meet meet) const {
        for (std::int64_t group = first / panel_centers; group * panel_centers < end; ++group) {
            const C *centers = data_.data() + group * n_columns_ * panel_centers;
            Lanes<C> product[panel_centers][2] = {};
            for (std::int64_t column = 0; column < n_columns_; ++column) {
                const Lanes<C> low = load(packed + column * tile_rows<C>);
                const Lanes<C> high = load(packed + column * tile_rows<C> + n_lanes<C>);
#pragma GCC unroll 12
                for (int j = 0; j < panel_centers; ++j) {
                    const C entry = centers[column * panel_centers + j];
                    product[j][0] += low * entry;
                    product[j][1] += high * entry;
                }
            }
            for (int j = 0; j < panel_centers; ++j) {
                const std::int64_t center = group * panel_centers + j;
                if (center >= end) break;
                for (int half = 0; half < 2; ++half) meet(center, half, product[j][half]);
            }
        }
    }

  private:
    std::int64_t n_centers_, n_columns_, n_groups_;
    Buffer<C> data_, norms_;
};

// Copies a tile of rows to packed[column][row] in the frame's coordinates; norms <- their squares.
template <class C>
inline void frame_tile(const Rows &rows, PackTile<C> pack, Frame<C> frame, std::int64_t first,
                       std::int64_t n_rows, C *packed, Lanes<C> (&norms)[2]) {
    pack(rows, first, n_rows, 0, rows.n_columns, packed);
    norms[0] = norms[1] = Lanes<C>{};
    enter_frame(packed, frame, 0, rows.n_columns, norms);
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// Tiles of rows cut into pieces of columns. While a piece is used, the next one is fetched.
#pragma once

#include "lanes/elements.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Prefetches a piece into the second-level cache, a few cache lines at a time. It walks along one
// row after another, because memory delivers neighbouring lines faster than lines of many rows in
// turn: in CountSketch of 4,096 columns the latter took 1.6 times as long.
class PieceLines {
  public:
    PieceLines() = default;
    PieceLines(const Rows &rows, std::int64_t first_row, std::int64_t n_rows, std::int64_t first,
               std::int64_t n_columns)
        : n_rows_(n_rows) {
        with_element(rows.element, [&](auto zero) {
            constexpr std::int64_t size = sizeof zero;
            row_ = reinterpret_cast<const char *>(rows.row<decltype(zero)>(first_row) + first);
            stride_ = rows.stride * size;
            n_bytes_ = n_columns * size;
        });
    }

    // How many lines to fetch in each of `n_steps` steps.
    std::int64_t share(std::int64_t n_steps) const {
        const std::int64_t n_lines = n_rows_ * ((n_bytes_ + line_bytes - 1) / line_bytes);
        return n_steps < 1 ? 0 : (n_lines + n_steps - 1) / n_steps;
    }
    void fetch(std::int64_t n) {
        for (; n > 0 && n_rows_ > 0; --n) {
            __builtin_prefetch(row_ + at_, 0, 2);
            at_ += line_bytes;
            if (at_ < n_bytes_) continue;
            at_ = 0;
            row_ += stride_;
            --n_rows_;
        }
    }

  private:
    static constexpr std::int64_t line_bytes = 64;
    const char *row_ = nullptr;
    std::int64_t stride_ = 0, n_bytes_ = 0, at_ = 0, n_rows_ = 0;
};

// Calls use(first_column, n_columns, next) for the pieces of tile `index` inside columns
// [begin, end), from first to last. `next` is the next piece, perhaps of the next tile. Two pieces
// of 8 rows of float32 fill half of a second-level cache of 512 KB.
template <class Method, class Use>
inline void for_pieces(const Rows &rows, std::int64_t index, std::int64_t begin, std::int64_t end,
                       Use use) {
    constexpr std::int64_t piece = 4096, tile = Method::tile;
    const std::int64_t first_row = index * tile, left = rows.n_rows - first_row;
    const auto length = [=](std::int64_t first) {
        return end - first < piece ? end - first : piece;
    };
    for (std::int64_t first = begin; first < end; first += piece) {
        PieceLines next;
        if (first + piece < end)
            next = PieceLines(rows, first_row, left < tile ? left : tile, first + piece,
                              length(first + piece));
        else if ((index + 1) % Method::together != 0 && left > tile)
            next = PieceLines(rows, first_row + tile, left < 2 * tile ? left - tile : tile, begin,
                              length(begin));
        use(first, length(first), next);
    }
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

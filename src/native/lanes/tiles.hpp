// Tiles: a few rows of a block, brought into lanes one row a lane.
#pragma once

#include "lanes/elements.hpp"
#include "lanes/transpose.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Copies `n_rows` <= `tile` rows, columns [first, first + n_columns), to out[column][row]; columns
// are `stride` numbers apart. Missing rows become zeros. If the stride is two tiles, every column
// is followed by its negative.
template <class C, int tile, int stride, class T>
void pack_tile_of(const Rows &rows, std::int64_t first_row, std::int64_t n_rows, std::int64_t first,
                  std::int64_t n_columns, C *out) {
    constexpr int side = square<C>;
    static_assert(tile % side == 0, "squares fill a tile exactly");
    for (int base = 0; base < tile; base += side) {
        const int there = n_rows - base < side ? static_cast<int>(n_rows - base) : side;
        const T *from[side] = {};
        for (int row = 0; row < there; ++row)
            from[row] = rows.row<T>(first_row + base + row) + first;
        std::int64_t column = 0;
        for (; column + side <= n_columns; column += side) {
            Vector<C, side> in[side];
            if (there == side)
                for (int row = 0; row < side; ++row) in[row] = load_as<C, side>(from[row] + column);
            else
                for (int row = 0; row < side; ++row)
                    in[row] =
                        row < there ? load_as<C, side>(from[row] + column) : Vector<C, side>{};
            C *to = out + column * stride + base;
            transpose(in, to, stride);
            if constexpr (stride == 2 * tile)
                for (int i = 0; i < side; ++i) {
                    Vector<C, side> lanes;
                    std::memcpy(&lanes, to + i * stride, sizeof lanes);
                    lanes = -lanes;
                    std::memcpy(to + i * stride + tile, &lanes, sizeof lanes);
                }
        }
        for (; column < n_columns; ++column)
            for (int row = 0; row < side; ++row) {
                C *to = out + column * stride + base + row;
                *to = row < there ? static_cast<C>(widen(from[row][column])) : C{0};
                if constexpr (stride == 2 * tile) to[tile] = -*to;
            }
    }
}

// Moves a tile into the frame: packed <- (packed - origin) * scale. Adds its squares to `norms`.
template <class C>
inline void enter_frame(C *packed, Frame<C> frame, std::int64_t first, std::int64_t n_columns,
                        Lanes<C> (&norms)[2]) {
    for (std::int64_t column = 0; column < n_columns; ++column) {
        const C origin = frame.origin[first + column];
        for (int half = 0; half < 2; ++half) {
            C *lanes = packed + column * tile_rows<C> + half * n_lanes<C>;
            const Lanes<C> moved = (load(lanes) - origin) * frame.scale;
            store(lanes, moved);
            norms[half] += moved * moved;
        }
    }
}

// Copies n numbers without bringing the target into the caches. Use it for results that are not
// read again soon.
template <class C> inline void stream(const C *from, std::int64_t n, C *to) {
    std::int64_t i = 0;
#if defined(__AVX2__)
    constexpr int step = 32 / sizeof(C);
    for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % 32 != 0; ++i) to[i] = from[i];
    for (; i + step <= n; i += step)
        _mm256_stream_si256(reinterpret_cast<__m256i *>(to + i),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i)));
    _mm_sfence();
#endif
    for (; i < n; ++i) to[i] = from[i];
}

// pack_tile_of for an element type that is known only at run time.
template <class C>
using PackTile = void (*)(const Rows &, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                          C *);

template <class C, int tile = tile_rows<C>, int stride = tile>
inline PackTile<C> pack_tile_for(Element element) {
    PackTile<C> pack = nullptr;
    with_element(element,
                 [&](auto zero) { pack = &pack_tile_of<C, tile, stride, decltype(zero)>; });
    return pack;
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

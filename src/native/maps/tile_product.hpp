// The loop of a product over tiles of rows and, inside a tile, over sections of coordinates. It
// does not depend on the map: a Method adds what a section contributes to the totals of a tile.
#pragma once

#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"
#include "maps/map.hpp"
#include "maps/row_pieces.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// A Method makes codes or lists for one panel of coordinates at a time, shared by all tiles. A
// panel is as long as fits into this many bytes, whatever the sizes of R.
constexpr std::int64_t panel_bytes = std::int64_t{4} << 20;

inline std::int64_t panel_length(std::int64_t n_sections, std::int64_t section_bytes) {
    const std::int64_t length = panel_bytes / section_bytes;
    return length < 1 ? 1 : length < n_sections ? length : n_sections;
}

// totals[column][row] <- the totals of a tile, which are kept in rows of `out` between two panels.
template <int tile, class Sum>
void load_totals(const Sum *out, std::int64_t n_rows, std::int64_t n_components, Sum *totals) {
    const Rows rows{out, Element::float32, n_rows, n_components, n_components};  // read as Sum
    pack_tile_of<Sum, tile, tile, Sum>(rows, 0, n_rows, 0, n_components, totals);
}

// Writes totals to rows of `out`, multiplied by *factor if there is one.
template <int tile, class Sum, class C>
void store_totals(const Sum *totals, const C *factor, std::int64_t n_rows,
                  std::int64_t n_components, C *out) {
    constexpr int side = square<C>;
    static_assert(tile % side == 0, "squares fill a tile exactly");
    std::int64_t column = 0;
    for (; n_rows == tile && column + side <= n_components; column += side)
        for (int base = 0; base < tile; base += side) {
            Vector<C, side> in[side];
            for (int i = 0; i < side; ++i) {
                Vector<Sum, side> total;
                std::memcpy(&total, totals + (column + i) * tile + base, sizeof total);
                in[i] = __builtin_convertvector(total, Vector<C, side>);
                if (factor) in[i] *= *factor;
            }
            transpose(in, out + base * n_components + column, n_components);
        }
    for (std::int64_t row = 0; row < n_rows; ++row)
        for (std::int64_t rest = column; rest < n_components; ++rest) {
            const C total = static_cast<C>(totals[rest * tile + row]);
            out[row * n_components + rest] = factor ? total * *factor : total;
        }
}

// Prefetches the rows of the next section into the second-level cache, a few cache lines at a time,
// while a Method adds the present section. Otherwise memory would be idle meanwhile.
class NextLines {
  public:
    NextLines() = default;
    NextLines(const Rows &rows, std::int64_t first_row, std::int64_t n_rows, std::int64_t first,
              std::int64_t n_columns)
        : n_rows_(n_rows) {
        with_element(rows.element, [&](auto zero) {
            constexpr std::int64_t size = sizeof zero;
            at_ = reinterpret_cast<const char *>(rows.row<decltype(zero)>(first_row) + first);
            stride_ = rows.stride * size;
            n_lines_ = (n_columns * size + line_bytes - 1) / line_bytes;
        });
    }

    // How many lines to fetch in each of `n_steps` steps.
    std::int64_t share(std::int64_t n_steps) const {
        return (n_rows_ * n_lines_ + n_steps - 1) / n_steps;
    }
    void fetch(std::int64_t n) {
        for (; n > 0 && line_ < n_lines_; --n) {
            __builtin_prefetch(at_ + row_ * stride_ + line_ * line_bytes, 0, 2);
            if (++row_ == n_rows_) {
                row_ = 0;
                ++line_;
            }
        }
    }

  private:
    static constexpr std::int64_t line_bytes = 64;
    const char *at_ = nullptr;
    std::int64_t stride_ = 0, n_rows_ = 0, n_lines_ = 0, row_ = 0, line_ = 0;
};

// Results of at least this many bytes are written without bringing them into the caches.
constexpr std::int64_t streamed_bytes = std::int64_t{16} << 20;

// Adds sections [begin, end) of tile `index` to its totals: packs each of them for the Method.
template <class Method>
void add_sections(const Rows &rows, Method &method, std::int64_t index, std::int64_t begin,
                  std::int64_t end, typename Method::Value *packed,
                  typename Method::Scratch &scratch, typename Method::Sum *totals) {
    constexpr int tile = Method::tile, stride = Method::stride;
    const auto pack = pack_tile_for<typename Method::Value, tile, stride>(rows.element);
    const std::int64_t width = method.width, first = index * tile, left = rows.n_rows - first;
    const std::int64_t n_rows = left < tile ? left : tile;
    for (std::int64_t section = begin; section < end; ++section) {
        const std::int64_t rest = rows.n_columns - section * width;
        const std::int64_t there = rest < width ? rest : width;
        pack(rows, first, n_rows, section * width, there, packed);
        for (std::int64_t i = there * stride; i < width * stride; ++i) packed[i] = 0;
        NextLines next;
        if (section + 1 < end)
            next = NextLines(rows, first, n_rows, (section + 1) * width,
                             rest - width < width ? rest - width : width);
        else if ((index + 1) % Method::together != 0 && left > tile)
            next = NextLines(rows, first + tile, left < 2 * tile ? left - tile : tile,
                             begin * width, width);
        method.add(packed, section, scratch, totals, next);
    }
}

// More than 50 lines, because its three loops share their sizes and buffers. A Method has
//   Value, Sum                         types of a section and of totals
//   tile, stride                       rows of a tile, numbers from one coordinate to the next
//   width                              coordinates of a section
//   together                           neighbouring tiles that one thread takes
//   panel                              sections of a panel
//   prepare(begin, end)                makes what sections [begin, end) need
//   Scratch(method)                    a thread's own memory
//   add(packed, section, scratch, totals, next)   totals[column][row] += what the section adds,
//                                      where packed[coordinate][row] is the section, padded with
//                                      zeros; it may call next.fetch
//   reads_rows                         true if it has, in place of add,
//   add_rows(rows, index, begin, end, scratch, totals)   adds sections [begin, end) of a tile
template <class C, class Method>
void multiply_by_tiles(const Rows &rows, Map map, Method &method, C *out, int n_threads) {
    using Value = typename Method::Value;
    using Sum = typename Method::Sum;
    static_assert(sizeof(Sum) == sizeof(C));  // `out` keeps totals between panels
    constexpr int tile = Method::tile, stride = Method::stride;
    const std::int64_t width = method.width, t = map.n_components;
    const std::int64_t n_sections = (rows.n_columns + width - 1) / width;
    const std::int64_t n_tiles = (rows.n_rows + tile - 1) / tile;
    const C factor = static_cast<C>(map.scale);
    const bool streams = rows.n_rows * t * static_cast<std::int64_t>(sizeof(C)) >= streamed_bytes;
    constexpr const Sum *keep = nullptr;
    Sum *kept = reinterpret_cast<Sum *>(out);
    // With room for one more coordinate and one more column, which methods use for padding.
    PerThread<Buffer<Value>> all_packed(n_threads, Method::reads_rows ? 0 : (width + 1) * stride);
    PerThread<Buffer<Sum>> all_totals(n_threads, (t + 1) * tile);
    PerThread<Buffer<C>> all_sketches(n_threads, streams ? t * tile : 0);
    PerThread<typename Method::Scratch> all_scratch(n_threads, method);
    for (std::int64_t begin = 0; begin < n_sections; begin += method.panel) {
        const std::int64_t bound = begin + method.panel;
        const std::int64_t end = bound < n_sections ? bound : n_sections;
        method.prepare(begin, end);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            Buffer<Value> &packed = all_packed.own();
            Buffer<Sum> &totals = all_totals.own();
            for (int i = 0; i < tile; ++i) totals[t * tile + i] = 0;  // the column of padding
            Buffer<C> &sketch = all_sketches.own();
            typename Method::Scratch &scratch = all_scratch.own();
#pragma omp for schedule(dynamic, Method::together)
            for (std::int64_t index = 0; index < n_tiles; ++index) {
                const std::int64_t first = index * tile;
                const std::int64_t left = rows.n_rows - first;
                const std::int64_t n_rows = left < tile ? left : tile;
                if (begin > 0)
                    load_totals<tile>(kept + first * t, n_rows, t, totals.data());
                else
                    for (std::int64_t i = 0; i < t * tile; ++i) totals[i] = 0;
                if constexpr (Method::reads_rows)
                    method.add_rows(rows, index, begin, end, scratch, totals.data());
                else
                    add_sections(rows, method, index, begin, end, packed.data(), scratch,
                                 totals.data());
                if (end < n_sections)
                    store_totals<tile>(totals.data(), keep, n_rows, t, kept + first * t);
                else
                    store_totals<tile>(totals.data(), &factor, n_rows, t,
                                       streams ? sketch.data() : out + first * t);
                if (streams && end == n_sections)
                    stream(sketch.data(), n_rows * t, out + first * t);
            }
        }
    }
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

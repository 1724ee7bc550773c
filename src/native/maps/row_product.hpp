// The loop of a product over tiles of rows whose columns of R stand in the lanes. Rows keep their
// layout, so nothing is transposed. It is to such methods what tile_product.hpp is to methods with
// one row a lane.
#pragma once

#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"
#include "maps/map.hpp"
#include "maps/tile_product.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Copies coordinates [first, first + n) of a row as Method converts them, and pads them with zeros.
template <class Method>
using ReadValues = void (*)(const Rows &, std::int64_t, std::int64_t, std::int64_t,
                            typename Method::Value *);

template <class Method, class T>
void read_values_of(const Rows &rows, std::int64_t row, std::int64_t first, std::int64_t n,
                    typename Method::Value *out) {
    const T *from = rows.row<T>(row) + first;
    for (std::int64_t i = 0; i < n; ++i) out[i] = Method::convert(from[i]);
    for (std::int64_t i = n; i < Method::width; ++i) out[i] = Method::convert(T{});
}

// values[row] <- where a section of each row of a tile is. It is the row itself if its elements
// are what the Method reads and the section is whole, else a converted copy. Rows that a tile lacks
// repeat its first row.
template <class Method>
void find_values(const Rows &rows, ReadValues<Method> read, std::int64_t first_row,
                 std::int64_t n_rows, std::int64_t section, typename Method::Value *copies,
                 const typename Method::Value *(&values)[Method::tile]) {
    constexpr std::int64_t width = Method::width;
    const std::int64_t first = section * width, left = rows.n_columns - first;
    for (std::int64_t i = 0; i < Method::tile; ++i) {
        const std::int64_t row = first_row + (i < n_rows ? i : 0);
        if (rows.element == Method::element && left >= width) {
            values[i] = rows.row<typename Method::Value>(row) + first;
        } else {
            read(rows, row, first, left < width ? left : width, copies + i * width);
            values[i] = copies + i * width;
        }
    }
}

// A Method has
//   Value, Sum                         types of a section and of totals
//   element                            elements that are read in place, without conversion
//   convert(element)                   any other element as Value
//   tile, width                        rows of a tile, coordinates of a section
//   n_padded                           columns of R, with those that pad the last vector
//   panel                              sections of a panel
//   prepare(begin, end)                makes what sections [begin, end) need
//   Scratch()                          a thread's own memory
//   add(values, section, scratch, totals)   totals[row][n_padded] += what the section adds
template <class C, class Method>
void multiply_by_rows(const Rows &rows, Map map, Method &method, C *out, int n_threads) {
    using Value = typename Method::Value;
    using Sum = typename Method::Sum;
    static_assert(sizeof(Sum) == sizeof(C));  // `out` keeps totals between panels
    constexpr int tile = Method::tile, together = 16;
    const std::int64_t t = map.n_components, n_padded = method.n_padded;
    const std::int64_t n_sections = (rows.n_columns + Method::width - 1) / Method::width;
    const std::int64_t n_tiles = (rows.n_rows + tile - 1) / tile;
    const C factor = static_cast<C>(map.scale);
    const bool streams = rows.n_rows * t * static_cast<std::int64_t>(sizeof(C)) >= streamed_bytes;
    ReadValues<Method> read = nullptr;
    with_element(rows.element, [&](auto zero) { read = &read_values_of<Method, decltype(zero)>; });
    PerThread<Buffer<Value>> all_copies(n_threads, tile * Method::width);
    PerThread<Buffer<Sum>> all_totals(n_threads, tile * n_padded);
    PerThread<Buffer<C>> all_sketches(n_threads, tile * t);
    PerThread<typename Method::Scratch> all_scratch(n_threads);
    for (std::int64_t begin = 0; begin < n_sections; begin += method.panel) {
        const std::int64_t bound = begin + method.panel;
        const std::int64_t end = bound < n_sections ? bound : n_sections;
        method.prepare(begin, end);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
            Sum *totals = all_totals.own().data();
            C *sketch = all_sketches.own().data();
#pragma omp for schedule(dynamic, together)
            for (std::int64_t index = 0; index < n_tiles; ++index) {
                const std::int64_t first = index * tile, left = rows.n_rows - first;
                const std::int64_t n_rows = left < tile ? left : tile;
                Sum *kept = reinterpret_cast<Sum *>(out + first * t);
                for (std::int64_t i = 0; i < tile * n_padded; ++i) totals[i] = 0;
                for (std::int64_t row = 0; begin > 0 && row < n_rows; ++row)
                    std::memcpy(totals + row * n_padded, kept + row * t, t * sizeof(Sum));
                for (std::int64_t section = begin; section < end; ++section) {
                    const Value *values[tile];
                    find_values<Method>(rows, read, first, n_rows, section, all_copies.own().data(),
                                        values);
                    method.add(values, section, all_scratch.own(), totals);
                }
                for (std::int64_t row = 0; row < n_rows; ++row) {
                    const Sum *from = totals + row * n_padded;
                    if (end < n_sections)
                        std::memcpy(kept + row * t, from, t * sizeof(Sum));
                    else
                        for (std::int64_t column = 0; column < t; ++column)
                            sketch[row * t + column] = static_cast<C>(from[column]) * factor;
                }
                if (end == n_sections && streams)
                    stream(sketch, n_rows * t, out + first * t);
                else if (end == n_sections)
                    std::memcpy(out + first * t, sketch, n_rows * t * sizeof(C));
            }
        }
    }
}

// Calls add(first, n) for stretches of at most four neighbouring vectors that together are all
// `n_vectors`, with n as a constant. Stretches differ by at most one vector.
template <class Add> inline void for_stretches(std::int64_t n_vectors, Add add) {
    constexpr std::int64_t most = 4;
    const std::int64_t n_stretches = (n_vectors + most - 1) / most;
    for (std::int64_t stretch = 0; stretch < n_stretches; ++stretch) {
        const std::int64_t first = stretch * n_vectors / n_stretches;
        switch ((stretch + 1) * n_vectors / n_stretches - first) {
        case 1: add(first, std::integral_constant<int, 1>{}); break;
        case 2: add(first, std::integral_constant<int, 2>{}); break;
        case 3: add(first, std::integral_constant<int, 3>{}); break;
        default: add(first, std::integral_constant<int, 4>{});
        }
    }
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

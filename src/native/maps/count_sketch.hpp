// Dense rows times a sparse sign matrix R with one nonzero in each row (CountSketch). A square of
// rows is transposed in registers, and each of its columns is added to the one total that it goes
// to. Nothing is packed, so the additions overlap with the reading of the rows.
#pragma once

#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"
#include "maps/row_pieces.hpp"
#include "maps/sparse_targets.hpp"
#include "maps/tile_product.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

template <class C> constexpr C plus_minus[2] = {C{1}, C{-1}};

template <class C> struct CountSketch {
    using Value = C;
    using Sum = C;
    static constexpr int tile = square<C>, stride = tile;
    static constexpr bool reads_rows = true;
    static constexpr int together = 8;
    static constexpr std::int64_t width = 128;
    const Map map;
    const int n_threads;
    const std::int64_t panel;
    Buffer<Target> targets;

    struct Scratch {
        explicit Scratch(const CountSketch &) {}
    };

    CountSketch(Map the_map, std::int64_t n_columns, int threads)
        : map(the_map), n_threads(threads),
          panel(panel_length((n_columns + width - 1) / width,
                             width * static_cast<std::int64_t>(sizeof(Target)))),
          targets(panel * width) {}

    void prepare(std::int64_t begin, std::int64_t end) {
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
        for (std::int64_t section = begin; section < end; ++section)
            generate_targets(
                map.key, Stretches{map.n_components, 1}, width,
                [section](std::int64_t i) { return section * width + i; },
                targets.data() + (section - begin) * width);
    }
    void add_rows(const Rows &rows, std::int64_t index, std::int64_t begin, std::int64_t end,
                  Scratch &, C *totals) const {
        const std::int64_t first = begin * width, bound = end * width;
        const auto add = [&](std::int64_t column, std::int64_t n, PieceLines next) {
            const Target *from = targets.data() + (column - first);
            with_element(rows.element, [&](auto zero) {
                scatter<decltype(zero)>(rows, index, column, n, from, totals, next);
            });
        };
        for_pieces<CountSketch>(rows, index, first, bound < rows.n_columns ? bound : rows.n_columns,
                                add);
    }

  private:
    // Adds n_columns coordinates from `first` on. Rows that the tile lacks repeat the last row.
    template <class T>
    static void scatter(const Rows &rows, std::int64_t index, std::int64_t first,
                        std::int64_t n_columns, const Target *target, C *totals, PieceLines next) {
        const T *from[tile];
        for (int i = 0; i < tile; ++i) {
            const std::int64_t row = index * tile + i;
            from[i] = rows.row<T>(row < rows.n_rows ? row : rows.n_rows - 1) + first;
        }
        const std::int64_t share = next.share(n_columns / tile);
        std::int64_t column = 0;
        for (; column + tile <= n_columns; column += tile) {
            next.fetch(share);
            Vector<C, tile> in[tile];
            C columns[tile][tile];
            for (int i = 0; i < tile; ++i) in[i] = load_as<C, tile>(from[i] + column);
            transpose(in, columns[0], tile);
            for (int i = 0; i < tile; ++i) add_column(columns[i], target[column + i], totals);
        }
        for (; column < n_columns; ++column) {
            C values[tile];
            for (int i = 0; i < tile; ++i) values[i] = static_cast<C>(widen(from[i][column]));
            add_column(values, target[column], totals);
        }
    }

    static void add_column(const C *values, Target target, C *totals) {
        C *to = totals + std::int64_t{target >> 1} * tile;
        Vector<C, tile> column, total;
        std::memcpy(&column, values, sizeof column);
        std::memcpy(&total, to, sizeof total);
        total += column * plus_minus<C>[target & 1];
        std::memcpy(to, &total, sizeof total);
    }
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

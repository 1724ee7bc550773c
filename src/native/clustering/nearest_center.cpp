// The nearest center of every row (the assignment half of Lloyd's method), and the distances of
// rows to all centers. The n x k matrix of products is never stored.
//
// Each row of a tile has its own lane. Centers are broadcast, `n_together` at a time, so that a
// score is compared while it is still in a register. The score of center c is |c|^2 / 2 - <x, c>;
// it is smallest for the nearest center. Squared distances are in the frame's units, where they
// cannot overflow. If the best two scores differ by less than their rounding errors, `settle`
// decides, so that labels do not depend on how scores are computed.
#include "clustering/exact_distance.hpp"
#include "clustering/kernels.hpp"
#include "lanes/tiles.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Centers that are multiplied with a tile at once: as many as have room for their sums in
// registers.
constexpr int n_together = PK_VECTOR_BYTES == 64 ? 12 : 6;

// Columns that are packed at once. Wider rows keep their partial products in a buffer.
constexpr std::int64_t depth = 256;

// Tiles that are multiplied with a group of centers while the group is in the first-level cache.
constexpr std::int64_t max_tiles = 8;

// Groups of centers whose partial products stay in a cache. Rows are packed again for each part.
constexpr std::int64_t part_groups = 512 / n_together;

// data[group][column][n_together], padded with centers that cannot win.
template <class C> struct PackedCenters {
    std::int64_t n_groups, n_columns;
    Buffer<C> data;
    Buffer<C> half_norms;
    C largest = 0;  // norm of a center

    PackedCenters(Centers<C> centers, std::int64_t width)
        : n_groups((centers.n_centers + n_together - 1) / n_together), n_columns(width),
          data(n_groups * width * n_together), half_norms(n_groups * n_together) {
        for (std::int64_t j = 0; j < n_groups * n_together; ++j) {
            const bool real = j < centers.n_centers;
            double norm = 0;
            C *to = data.data() + j / n_together * width * n_together + j % n_together;
            for (std::int64_t column = 0; column < width; ++column) {
                const C value = real ? centers.data[j * width + column] : C{0};
                to[column * n_together] = value;
                norm += static_cast<double>(value) * value;
            }
            half_norms[j] = real ? static_cast<C>(norm / 2) : std::numeric_limits<C>::infinity();
            largest = std::fmax(largest, static_cast<C>(std::sqrt(norm)));
        }
    }
    const C *group(std::int64_t index) const {
        return data.data() + index * n_columns * n_together;
    }
};

template <class C>
inline void add_products(const C *packed, const C *centers, std::int64_t n_columns,
                         Lanes<C> (&product)[n_together][2]) {
    for (std::int64_t column = 0; column < n_columns; ++column) {
        const Lanes<C> low = load(packed + column * tile_rows<C>);
        const Lanes<C> high = load(packed + column * tile_rows<C> + n_lanes<C>);
#pragma GCC unroll 12
        for (int j = 0; j < n_together; ++j) {
            const C value = centers[column * n_together + j];
            product[j][0] += low * value;
            product[j][1] += high * value;
        }
    }
}

// The two best scores of each row so far, and the center with the best.
template <class C> struct Leaders {
    Lanes<C> best[2], second[2];
    IndexLanes<C> label[2];

    void start() {
        for (int half = 0; half < 2; ++half) {
            best[half] = second[half] = broadcast(std::numeric_limits<C>::infinity());
            label[half] = IndexLanes<C>{};
        }
    }
    void meet(int half, Lanes<C> score, LaneIndex<C> center) {
        label[half] = score < best[half] ? broadcast_index<C>(center) : label[half];
        second[half] = smaller(second[half], larger(best[half], score));
        best[half] = smaller(best[half], score);
    }
};

template <class C> struct Scratch {
    Buffer<C> packed, partial;
    Buffer<double> settling;

    Scratch(std::int64_t n_packed, std::int64_t n_partial, std::int64_t n_columns)
        : packed(n_packed), partial(n_partial), settling(settle_scratch(n_columns)) {}
};

template <class C> struct Assignment {
    const Rows &rows;
    PackTile<C> pack;
    Frame<C> frame;
    const PackedCenters<C> &centers;
    Centers<double> exact;
    bool keep_ties;
    std::int32_t *labels;
    C *nearest, *second;

    static constexpr int tile = tile_rows<C>;

    bool is_wide() const { return rows.n_columns > depth; }
    std::int64_t n_in_part() const { return is_wide() ? part_groups : centers.n_groups; }
    // Partial products that are kept for each row: none if all columns are packed at once.
    std::int64_t n_partial() const { return is_wide() ? part_groups * n_together : 0; }

    // Assigns rows [first, first + n_rows), at most max_tiles tiles.
    void assign(std::int64_t first, std::int64_t n_rows, Scratch<C> &scratch) const {
        Lanes<C> norms[max_tiles][2];
        Leaders<C> leaders[max_tiles];
        const std::int64_t n_tiles = (n_rows + tile - 1) / tile;
        for (std::int64_t b = 0; b < n_tiles; ++b) leaders[b].start();
        for (std::int64_t group = 0; group < centers.n_groups; group += n_in_part())
            meet_part(first, n_rows, group, scratch, norms, leaders);
        for (std::int64_t b = 0; b < n_tiles; ++b)
            report(leaders[b], norms[b], first + b * tile, rows_of_tile(n_rows, b),
                   scratch.settling.data());
    }

  private:
    // Rows [first, first + n_rows) meet the groups of a part, which begins at `begin_group`.
    void meet_part(std::int64_t first, std::int64_t n_rows, std::int64_t begin_group,
                   Scratch<C> &scratch, Lanes<C> (&norms)[max_tiles][2],
                   Leaders<C> (&leaders)[max_tiles]) const {
        C *packed = scratch.packed.data(), *partial = scratch.partial.data();
        const std::int64_t n_tiles = (n_rows + tile - 1) / tile;
        const std::int64_t kept = is_wide() ? n_together * tile : 0;
        const std::int64_t end_group = smaller(begin_group + n_in_part(), centers.n_groups);
        for (std::int64_t b = 0; b < n_tiles; ++b) norms[b][0] = norms[b][1] = Lanes<C>{};
        for (std::int64_t begin = 0; begin < rows.n_columns; begin += depth) {
            const std::int64_t width = smaller(rows.n_columns - begin, depth);
            for (std::int64_t b = 0; b < n_tiles; ++b) {
                C *to = packed + b * width * tile;
                pack(rows, first + b * tile, rows_of_tile(n_rows, b), begin, width, to);
                enter_frame(to, frame, begin, width, norms[b]);
            }
            for (std::int64_t group = begin_group; group < end_group; ++group)
                for (std::int64_t b = 0; b < n_tiles; ++b)
                    meet(group, begin, width, packed + b * width * tile,
                         partial + (b * n_in_part() + group - begin_group) * kept, leaders[b]);
        }
    }

    static std::int64_t rows_of_tile(std::int64_t n_rows, std::int64_t b) {
        const std::int64_t left = n_rows - b * tile;
        return left < tile ? left : tile;
    }

    // Writes labels and distances of a tile.
    void report(const Leaders<C> &leaders, const Lanes<C> (&norms)[2], std::int64_t first,
                std::int64_t n_rows, double *settling) const {
        const std::int64_t n_added = terms_added(rows.n_columns, depth);
        for (std::int64_t i = 0; i < n_rows; ++i) {
            const auto half = i / n_lanes<C>, lane = i % n_lanes<C>;
            const C norm = norms[half][lane];
            const C best = leaders.best[half][lane], next = leaders.second[half][lane];
            const std::int64_t row = first + i;
            if (is_decided(norm, best, next, centers.largest, n_added))
                labels[row] = static_cast<std::int32_t>(leaders.label[half][lane]);
            else
                labels[row] = settle(rows, row, frame, exact, keep_ties ? labels[row] : -1, nullptr,
                                     0, settling);
            nearest[row] = larger(norm + 2 * best, C{0});
            second[row] = larger(norm + 2 * next, C{0});
        }
    }

    // A tile meets a group of centers, columns [begin, begin + width). The products of earlier
    // columns are in `kept`. They are added to those of these columns, not continued, because
    // sums of few terms have small rounding errors.
    void meet(std::int64_t group, std::int64_t begin, std::int64_t width, const C *packed, C *kept,
              Leaders<C> &leaders) const {
        Lanes<C> product[n_together][2] = {};
        add_products(packed, centers.group(group) + begin * n_together, width, product);
        if (begin > 0)
            for (int j = 0; j < n_together; ++j)
                for (int half = 0; half < 2; ++half)
                    product[j][half] += load(kept + j * tile + half * n_lanes<C>);
        const bool last = begin + width == rows.n_columns;
        for (int j = 0; j < n_together; ++j) {
            const auto center = static_cast<LaneIndex<C>>(group * n_together + j);
            for (int half = 0; half < 2; ++half) {
                if (last)
                    leaders.meet(half, centers.half_norms[center] - product[j][half], center);
                else
                    store(kept + j * tile + half * n_lanes<C>, product[j][half]);
            }
        }
    }
};

// Centers that meet a tile at once when all distances are measured. Their sums do not wait for each
// other, and share the values of the tile.
constexpr int n_beside = 4;

// partial[center][row] += squared differences of a tile and n centers, which are `stride` apart.
template <class C, int n>
void add_squares(const C *packed, std::int64_t width, const C *centers, std::int64_t stride,
                 C *partial) {
    constexpr int tile = tile_rows<C>;
    Lanes<C> sums[n][2];
    for (int j = 0; j < n; ++j)
        for (int half = 0; half < 2; ++half)
            sums[j][half] = load(partial + j * tile + half * n_lanes<C>);
    for (std::int64_t column = 0; column < width; ++column) {
        const Lanes<C> low = load(packed + column * tile);
        const Lanes<C> high = load(packed + column * tile + n_lanes<C>);
#pragma GCC unroll 4
        for (int j = 0; j < n; ++j) {
            const Lanes<C> a = low - centers[j * stride + column];
            const Lanes<C> b = high - centers[j * stride + column];
            sums[j][0] += a * a;
            sums[j][1] += b * b;
        }
    }
    for (int j = 0; j < n; ++j)
        for (int half = 0; half < 2; ++half)
            store(partial + j * tile + half * n_lanes<C>, sums[j][half]);
}

// out[center][row] <- squared distances, by differences: exactly zero where a row equals a center.
template <class C>
void measure_tile(const Rows &rows, std::int64_t first, std::int64_t n_rows, PackTile<C> pack,
                  Frame<C> frame, Centers<C> centers, C *packed, C *partial, C *out) {
    constexpr int tile = tile_rows<C>;
    for (std::int64_t i = 0; i < centers.n_centers * tile; ++i) partial[i] = 0;
    for (std::int64_t begin = 0; begin < rows.n_columns; begin += depth) {
        const std::int64_t width = smaller(rows.n_columns - begin, depth);
        Lanes<C> norms[2] = {};
        pack(rows, first, n_rows, begin, width, packed);
        enter_frame(packed, frame, begin, width, norms);
        std::int64_t center = 0;
        for (; center + n_beside <= centers.n_centers; center += n_beside)
            add_squares<C, n_beside>(packed, width, centers.data + center * rows.n_columns + begin,
                                     rows.n_columns, partial + center * tile);
        for (; center < centers.n_centers; ++center)
            add_squares<C, 1>(packed, width, centers.data + center * rows.n_columns + begin,
                              rows.n_columns, partial + center * tile);
    }
    for (std::int64_t center = 0; center < centers.n_centers; ++center)
        for (std::int64_t row = 0; row < n_rows; ++row)
            out[center * rows.n_rows + first + row] = partial[center * tile + row];
}

// Runs work(first_row, n_rows, scratch) for batches of `n_tiles` tiles. The scratch memory holds
// `n_partial` partial results for each row.
template <class C, class Work>
void for_each_batch(const Rows &rows, std::int64_t n_tiles, std::int64_t n_partial, int n_threads,
                    Work work) {
    const std::int64_t size = n_tiles * tile_rows<C>;
    const std::int64_t n_batches = (rows.n_rows + size - 1) / size;
    const std::int64_t width = rows.n_columns < depth ? rows.n_columns : depth;
    PerThread<Scratch<C>> all_scratch(n_threads, width * size, n_partial * size, rows.n_columns);
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1) if (n_threads > 1)
    for (std::int64_t batch = 0; batch < n_batches; ++batch) {
        const std::int64_t left = rows.n_rows - batch * size;
        work(batch * size, left < size ? left : size, all_scratch.own());
    }
}

}  // namespace

template <class C>
void nearest_center(const Rows &rows, Frame<C> frame, Centers<C> centers, Centers<double> exact,
                    bool keep_ties, std::int32_t *labels, C *nearest, C *second, int n_threads) {
    const PackedCenters<C> packed_centers(centers, rows.n_columns);
    const Assignment<C> assignment{rows,   pack_tile_for<C>(rows.element),
                                   frame,  packed_centers,
                                   exact,  keep_ties,
                                   labels, nearest,
                                   second};
    for_each_batch<C>(rows, max_tiles, assignment.n_partial(), n_threads,
                      [&](std::int64_t first, std::int64_t n_rows, Scratch<C> &scratch) {
                          assignment.assign(first, n_rows, scratch);
                      });
}

template <class C>
void squared_distances(const Rows &rows, Frame<C> frame, Centers<C> centers, C *out,
                       int n_threads) {
    const PackTile<C> pack = pack_tile_for<C>(rows.element);
    for_each_batch<C>(rows, 1, centers.n_centers, n_threads,
                      [&](std::int64_t first, std::int64_t n_rows, Scratch<C> &scratch) {
                          measure_tile(rows, first, n_rows, pack, frame, centers,
                                       scratch.packed.data(), scratch.partial.data(), out);
                      });
}

PK_INSTANTIATE(nearest_center);
PK_INSTANTIATE(squared_distances);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

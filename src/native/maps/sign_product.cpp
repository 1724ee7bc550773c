// Dense rows times the random sign matrix R (step 3 of the paper's algorithm), by table look-up
// ("four Russians"; the mailman algorithm of Liberty and Zucker turned around). R is never stored.
//
// There are several methods:
// - Usually: a tile of rows, one row a lane. For each group of `bits` coordinates a table holds the
//   2^bits signed sums of the tile. A column of R names one table entry for each group, so it costs
//   one addition for `bits` coordinates (sign_tables.hpp).
// - float on AVX-512: the same with columns of R in the lanes and a row's table in registers
//   (register_tables.hpp). 8-bit integers on AVX-512 VNNI: byte_products.hpp.
// - Up to `few_rows` rows: columns of R in the lanes, coordinates added one by one.
// - Up to `few_columns` columns of R: narrow_sign_product.hpp.
//
// The order of additions is the same for all methods but the last (integers are exact in any
// order), and for all blocks, tiles, panels and threads: signed coordinates of a group from first
// to last, groups of a section from first to last, sections from first to last.
#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"
#include "maps/byte_products.hpp"
#include "maps/kernels.hpp"
#include "maps/narrow_sign_product.hpp"
#include "maps/register_tables.hpp"
#include "maps/sign_sections.hpp"
#include "maps/sign_tables.hpp"
#include "maps/sign_words.hpp"
#include "maps/tile_product.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// Up to this many rows, it is faster to fill the lanes with columns of R.
constexpr std::int64_t few_rows = 3;

// Whether rows hold 8-bit integers whose sums fit into 32 bits.
bool holds_integers(const Rows &rows) {
    return (rows.element == Element::uint8 || rows.element == Element::int8) &&
           rows.n_columns < std::int64_t{1} << 23;
}

// Rows of numbers of type C.
template <int bits, class C> void multiply_tiles(const Rows &rows, Map map, C *out, int n_threads) {
    if constexpr (has_register_tables<C>) {
        RegisterTables<bits> method(map, rows.n_columns, n_threads);
        multiply_by_rows(rows, map, method, out, n_threads);
    } else {
        LookUp<C, bits> method(map, rows.n_columns, n_threads);
        multiply_by_tiles(rows, map, method, out, n_threads);
    }
}

template <int flipped> void multiply_bytes(const Rows &rows, Map map, float *out, int n_threads) {
    ByteProducts<flipped> method(map, rows.n_columns, n_threads);
    multiply_by_rows(rows, map, method, out, n_threads);
}

// Rows of 8-bit integers, whose sums are exact in any order.
template <int bits> void multiply_integers(const Rows &rows, Map map, float *out, int n_threads) {
    if constexpr (PK_VECTOR_BYTES == 64)
        if (has_byte_products())
            return rows.element == Element::int8 ? multiply_bytes<128>(rows, map, out, n_threads)
                                                 : multiply_bytes<0>(rows, map, out, n_threads);
    LookUp<std::int16_t, bits> method(map, rows.n_columns, n_threads);
    multiply_by_tiles(rows, map, method, out, n_threads);
}

// sums[column] of one row and one section, 32 columns in lanes.
template <class C, int bits>
inline void sum_section(const SignLanes<C> &lanes, const C *values, const std::uint32_t (*words)[4],
                        int quarter, C *sums) {
    constexpr int n_vectors = SignLanes<C>::n_vectors;
    Lanes<C> section[n_vectors] = {};
    for (int group = 0; group < groups; ++group) {
        Lanes<C> sum[n_vectors] = {};
        for (int i = group * bits; i < (group + 1) * bits; ++i) {
            const Lanes<C> value = broadcast(values[i]);
            for (int v = 0; v < n_vectors; ++v) {
                const Lanes<C> term = lanes.choose(value, -value, words[i][quarter], v);
                sum[v] = i == group * bits ? term : sum[v] + term;
            }
        }
        for (int v = 0; v < n_vectors; ++v) section[v] = group == 0 ? sum[v] : section[v] + sum[v];
    }
    for (int v = 0; v < n_vectors; ++v) store(sums + v * n_lanes<C>, section[v]);
}

// Coordinates [first, first + n) of a row.
template <class C>
void read_values(const Rows &rows, std::int64_t row, std::int64_t first, std::int64_t n,
                 C *values) {
    with_element(rows.element, [&](auto zero) {
        const auto *from = rows.row<decltype(zero)>(row) + first;
        for (std::int64_t i = 0; i < n; ++i) values[i] = static_cast<C>(widen(from[i]));
    });
}

// sums[row][column] of one section of a few rows.
template <class C, int bits>
void sum_rows(const Rows &rows, Map map, const SignLanes<C> &lanes, std::int64_t section,
              std::int64_t n_words, C *sums) {
    constexpr int width = coordinates<bits>;
    const std::int64_t first = section * width, left = rows.n_columns - first;
    C values[few_rows][width] = {};
    for (std::int64_t row = 0; row < rows.n_rows; ++row)
        read_values(rows, row, first, left < width ? left : width, values[row]);
    for (std::int64_t cell = 0; 4 * cell < n_words; ++cell) {
        std::uint32_t words[width][4];
        cells_of(
            map.key, Stream::signs, static_cast<std::uint32_t>(cell), width,
            [first](std::int64_t i) { return first + i; }, words);
        for (std::int64_t row = 0; row < rows.n_rows; ++row)
            for (int quarter = 0; quarter < 4 && 4 * cell + quarter < n_words; ++quarter)
                sum_section<C, bits>(lanes, values[row], words, quarter,
                                     sums + 32 * (row * n_words + 4 * cell + quarter));
    }
}

// The same sums for a few rows. Threads share the sections of a chunk; the sums of the sections are
// then added in order.
template <class C, int bits, class Out>
void multiply_rows(const Rows &rows, Map map, Out *out, int n_threads) {
    constexpr int width = coordinates<bits>;
    const std::int64_t n_sections = (rows.n_columns + width - 1) / width;
    const std::int64_t n_words = (map.n_components + 31) / 32, n_sums = 32 * rows.n_rows * n_words;
    const std::int64_t chunk =
        panel_length(n_sections, n_sums * static_cast<std::int64_t>(sizeof(C)));
    const SignLanes<C> lanes;
    Buffer<C> sums(chunk * n_sums), totals(n_sums);
    for (std::int64_t i = 0; i < n_sums; ++i) totals[i] = 0;
    for (std::int64_t begin = 0; begin < n_sections; begin += chunk) {
        const std::int64_t end = begin + chunk < n_sections ? begin + chunk : n_sections;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
#pragma omp for schedule(static)
            for (std::int64_t section = begin; section < end; ++section)
                sum_rows<C, bits>(rows, map, lanes, section, n_words,
                                  sums.data() + (section - begin) * n_sums);
#pragma omp for schedule(static)
            for (std::int64_t block = 0; block < n_sums; block += 32)
                for (std::int64_t section = 0; section < end - begin; ++section)
                    for (int i = 0; i < 32; ++i)
                        totals[block + i] += sums[section * n_sums + block + i];
        }
    }
    for (std::int64_t row = 0; row < rows.n_rows; ++row)
        for (std::int64_t column = 0; column < map.n_components; ++column)
            out[row * map.n_components + column] =
                static_cast<Out>(totals[32 * row * n_words + column]) * static_cast<Out>(map.scale);
}

}  // namespace

template <class C> void sign_product(const Rows &rows, Map map, C *out, int n_threads) {
    if (map.n_components <= few_columns)
        return with_few_columns(map.n_components, [&](auto n_components) {
            multiply_narrow<C, n_components>(rows, map, out, n_threads);
        });
    with_group_bits<C>(map.n_components, [&](auto bits) {
        const bool few = rows.n_rows <= few_rows;
        if constexpr (std::is_same_v<C, float>)
            if (holds_integers(rows))
                return few ? multiply_rows<double, bits>(rows, map, out, n_threads)
                           : multiply_integers<bits>(rows, map, out, n_threads);
        if (few)
            multiply_rows<C, bits>(rows, map, out, n_threads);
        else
            multiply_tiles<bits>(rows, map, out, n_threads);
    });
}

PK_INSTANTIATE(sign_product);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

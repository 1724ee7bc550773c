// Rows of 8-bit integers times +1 and -1 by the instruction vpdpbusd of AVX-512 VNNI: 16 columns
// of R in the lanes, four coordinates at a time. Sums of integers are exact. `ByteProducts` is a
// Method of row_product.hpp.
//
// The instruction multiplies unsigned by signed bytes. The signs are signed. Signed rows get 128
// added to every coordinate, and each column loses 128 times the sum of its signs.
#pragma once

#include "lanes/buffer.hpp"
#include "maps/row_product.hpp"
#include "maps/sign_words.hpp"

// The machine code of a function may use VNNI, whatever the rest of its file is compiled for.
#if defined(__AVX512F__)
#define PK_VNNI [[gnu::target("avx512vnni")]]
#else
#define PK_VNNI
#endif

namespace projected_kmeans::PK_INSTRUCTION_SET {

using DotLanes = Lanes<std::int32_t>;

// Whether the machine has vpdpbusd. Without AVX-512 it is computed by other instructions: slowly,
// but so that tests of the 64-byte kernels run everywhere.
inline bool has_byte_products() {
#if defined(__AVX512F__)
    return __builtin_cpu_supports("avx512vnni");
#else
    return true;
#endif
}

// sum + the products of four unsigned bytes with four signed bytes, in each lane.
PK_VNNI inline DotLanes add_byte_products(DotLanes sum, std::uint32_t bytes,
                                          const std::int8_t *signs) {
#if defined(__AVX512F__)
    return (DotLanes)_mm512_dpbusd_epi32((__m512i)sum, _mm512_set1_epi32(static_cast<int>(bytes)),
                                         _mm512_loadu_si512(signs));
#else
    for (int lane = 0; lane < n_lanes<std::int32_t>; ++lane)
        for (int i = 0; i < 4; ++i)
            sum[lane] += static_cast<int>(bytes >> (8 * i) & 0xff) * signs[4 * lane + i];
    return sum;
#endif
}

// totals[row][column] += products of `n_quads` * 4 coordinates, for n vectors of columns. The signs
// of a vector are `vector_bytes` apart from those of the next.
template <int tile, int n>
PK_VNNI void add_quads(const std::uint8_t *const (&values)[tile], const std::int8_t *signs,
                       std::int64_t vector_bytes, const std::int32_t *offsets, int n_quads,
                       std::int64_t n_padded, std::int32_t *totals) {
    constexpr int lanes = n_lanes<std::int32_t>;
    DotLanes sums[tile][n];
    for (int row = 0; row < tile; ++row)
        for (int v = 0; v < n; ++v)
            sums[row][v] = load(totals + row * n_padded + v * lanes) + load(offsets + v * lanes);
    for (int quad = 0; quad < n_quads; ++quad) {
#pragma GCC unroll 6
        for (int row = 0; row < tile; ++row) {
            std::uint32_t bytes;
            std::memcpy(&bytes, values[row] + 4 * quad, sizeof bytes);
#pragma GCC unroll 4
            for (int v = 0; v < n; ++v)
                sums[row][v] = add_byte_products(sums[row][v], bytes,
                                                 signs + v * vector_bytes + quad * 4 * lanes);
        }
    }
    for (int row = 0; row < tile; ++row)
        for (int v = 0; v < n; ++v) store(totals + row * n_padded + v * lanes, sums[row][v]);
}

// `flipped` is what is added to each byte: 128 for signed rows, else 0.
template <int flipped> struct ByteProducts {
    using Value = std::uint8_t;
    using Sum = std::int32_t;
    static constexpr Element element = Element::uint8;
    static constexpr int tile = 6, lanes = n_lanes<std::int32_t>;
    static constexpr std::int64_t width = 256;
    static constexpr std::int64_t vector_bytes = width * lanes;  // of the signs of a section
    // The signs of a panel are read for every tile and stay in the second-level cache.
    static constexpr std::int64_t most_bytes = std::int64_t{512} << 10;
    const Map map;
    const int n_threads;
    const std::int64_t n_vectors, n_padded, panel;
    Buffer<std::int8_t> signs;     // [section][vector][quad][lane][coordinate]
    Buffer<std::int32_t> offsets;  // [section][column]
    std::int64_t first_section = 0;

    struct Scratch {};

    ByteProducts(Map the_map, std::int64_t n_columns, int threads)
        : map(the_map), n_threads(threads), n_vectors((map.n_components + lanes - 1) / lanes),
          n_padded(n_vectors * lanes), panel(count_sections(n_columns, n_padded * width)),
          signs(panel * n_padded * width), offsets(panel * n_padded) {}

    template <class T> static std::uint8_t convert(T value) {
        return static_cast<std::uint8_t>(static_cast<int>(widen(value)) + flipped);
    }

    void prepare(std::int64_t begin, std::int64_t end) {
        first_section = begin;
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
        for (std::int64_t section = begin; section < end; ++section)
            for (std::int64_t column = 0; column < n_padded; column += columns_per_cell)
                generate(section, column);
    }
    void add(const std::uint8_t *const (&values)[tile], std::int64_t section, Scratch &,
             std::int32_t *totals) const {
        const std::int64_t at = (section - first_section) * n_padded;
        for_stretches(n_vectors, [&](std::int64_t first, auto n) {
            add_quads<tile, n>(values, signs.data() + at * width + first * vector_bytes,
                               vector_bytes, offsets.data() + at + first * lanes, width / 4,
                               n_padded, totals + first * lanes);
        });
    }

  private:
    static std::int64_t count_sections(std::int64_t n_columns, std::int64_t section_bytes) {
        const std::int64_t n_sections = (n_columns + width - 1) / width;
        const std::int64_t length = most_bytes / section_bytes;
        return length < 1 ? 1 : length < n_sections ? length : n_sections;
    }

    // The signs of the columns of one cell, eight coordinates at a time.
    void generate(std::int64_t section, std::int64_t column) {
        const std::int64_t left = n_padded - column, at = (section - first_section) * n_padded;
        const int n = left < columns_per_cell ? static_cast<int>(left) : columns_per_cell;
        std::int8_t *out = signs.data() + at * width + column / lanes * vector_bytes;
        std::int32_t sums[columns_per_cell] = {};
        for (int first = 0; first < width; first += 8) {
            std::uint64_t packed[columns_per_cell];
            sign_bits<1>(map.key, static_cast<std::uint64_t>(section * width + first),
                         static_cast<std::uint32_t>(column / columns_per_cell), n, packed);
            for (int j = 0; j < n; ++j) {
                std::int8_t *to = out + j / lanes * vector_bytes + first * lanes + 4 * (j % lanes);
                for (int i = 0; i < 8; ++i) {
                    const int sign = packed[j] >> i & 1 ? 1 : -1;
                    to[i / 4 * 4 * lanes + i % 4] = static_cast<std::int8_t>(sign);
                    sums[j] += sign;
                }
            }
        }
        for (int j = 0; j < n; ++j) offsets[at + column + j] = -flipped * sums[j];
    }
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

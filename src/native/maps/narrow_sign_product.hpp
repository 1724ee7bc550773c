// The product with a sign matrix of one or two columns. Reading the rows takes most of the time, so
// there are no tables: each coordinate is added with its sign. Dense and sparse rows give the same
// bits.
//
// Order of additions: coordinate i is added to partial sum i % partial_sums, from first to last;
// then the partial sums are added from first to last.
#pragma once

#include "lanes/buffer.hpp"
#include "lanes/elements.hpp"
#include "maps/map.hpp"
#include "maps/sign_words.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// Up to this many columns, tables cost more than they save.
constexpr std::int64_t few_columns = 2;

template <class C> constexpr int partial_sums = 64 / sizeof(C);

// Signs are kept as words[coordinate / 32][column]; bit i is the sign of coordinate i of the 32.
constexpr int coordinates_per_word = 32;

inline std::int64_t count_words(std::int64_t n_columns) {
    return (n_columns + coordinates_per_word - 1) / coordinates_per_word;
}

inline void generate_narrow_signs(std::uint64_t key, std::int64_t n_columns, int n_components,
                                  std::uint32_t *words, int n_threads) {
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
    for (std::int64_t block = 0; block < count_words(n_columns); ++block) {
        std::uint64_t packed[columns_per_cell];
        sign_bits<coordinates_per_word / 8>(
            key, static_cast<std::uint64_t>(block * coordinates_per_word), 0, n_components, packed);
        for (int column = 0; column < n_components; ++column)
            words[block * n_components + column] = static_cast<std::uint32_t>(packed[column]);
    }
}

template <class C> inline C add_partial_sums(const C (&sums)[partial_sums<C>]) {
    C sum = 0;
    for (const C partial : sums) sum += partial;
    return sum;
}

// Sums of `n_rows` rows, kept in registers.
template <class C, int n_components, int n_rows> struct NarrowSums {
    static constexpr int n_vectors = partial_sums<C> / n_lanes<C>;
    Lanes<C> sums[n_rows][n_components][n_vectors] = {};

    template <class T>
    void add(const SignLanes<C> &lanes, const T *const *from, const std::uint32_t *words) {
#pragma GCC unroll 8
        for (int v = 0; v < SignLanes<C>::n_vectors; ++v)
            for (int row = 0; row < n_rows; ++row) {
                const auto value = load_as<C, n_lanes<C>>(from[row] + v * n_lanes<C>);
                for (int column = 0; column < n_components; ++column)
                    sums[row][column][v % n_vectors] += lanes.apply(value, words[column], v);
            }
    }
    C total(int row, int column) const {
        C partial[partial_sums<C>];
        std::memcpy(partial, sums[row][column], sizeof partial);
        return add_partial_sums(partial);
    }
};

template <class C, int n_components, int n_rows, class T>
void multiply_narrow_rows(const Rows &rows, std::int64_t first, const std::uint32_t *words, C scale,
                          C *out) {
    const SignLanes<C> lanes;
    NarrowSums<C, n_components, n_rows> sums;
    const T *from[n_rows];
    for (int row = 0; row < n_rows; ++row) from[row] = rows.row<T>(first + row);
    const std::int64_t whole = rows.n_columns / coordinates_per_word;
    for (std::int64_t block = 0; block < whole; ++block) {
        sums.add(lanes, from, words + block * n_components);
        for (int row = 0; row < n_rows; ++row) from[row] += coordinates_per_word;
    }
    const std::int64_t rest = rows.n_columns % coordinates_per_word;
    if (rest > 0) {
        T ends[n_rows][coordinates_per_word] = {};
        for (int row = 0; row < n_rows; ++row) {
            std::memcpy(ends[row], from[row], rest * sizeof(T));
            from[row] = ends[row];
        }
        sums.add(lanes, from, words + whole * n_components);
    }
    for (int row = 0; row < n_rows; ++row)
        for (int column = 0; column < n_components; ++column)
            out[(first + row) * n_components + column] = sums.total(row, column) * scale;
}

template <class C, int n_components>
void multiply_narrow(const Rows &rows, Map map, C *out, int n_threads) {
    constexpr int together = 4;  // rows at once, because several streams read memory faster
    const C scale = static_cast<C>(map.scale);
    Buffer<std::uint32_t> words(count_words(rows.n_columns) * n_components);
    generate_narrow_signs(map.key, rows.n_columns, n_components, words.data(), n_threads);
    with_element(rows.element, [&](auto zero) {
        using T = decltype(zero);
        const std::int64_t whole = rows.n_rows / together * together;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
        {
#pragma omp for schedule(dynamic, 16) nowait
            for (std::int64_t row = 0; row < whole; row += together)
                multiply_narrow_rows<C, n_components, together, T>(rows, row, words.data(), scale,
                                                                   out);
#pragma omp for schedule(static)
            for (std::int64_t row = whole; row < rows.n_rows; ++row)
                multiply_narrow_rows<C, n_components, 1, T>(rows, row, words.data(), scale, out);
        }
    });
}

// Calls `action` with the number of columns as a constant.
template <class Action> inline void with_few_columns(std::int64_t n_components, Action action) {
    if (n_components == 1) return action(std::integral_constant<int, 1>{});
    action(std::integral_constant<int, 2>{});
}

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

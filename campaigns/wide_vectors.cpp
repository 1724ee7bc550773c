// A program: multiplies rows by the sign matrix with kernels of 64-byte vectors and compares every
// bit with plain loops over single numbers. It is compiled with the two files of the kernels by
// wide_vectors.py: for AVX2, where the compiler makes such vectors from two, or for AVX-512.
//
// The plain loops follow the order of additions that sign_sections.hpp promises. They share the
// random signs and the sizes of groups with the kernels, and nothing else.
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "lanes/elements.hpp"
#include "lanes/out_of_memory.hpp"
#include "maps/kernels.hpp"
#include "maps/sign_sections.hpp"
#include "maps/signs.hpp"

namespace projected_kmeans {

void throw_out_of_memory(std::int64_t, std::size_t) { throw std::bad_alloc(); }

namespace PK_INSTRUCTION_SET {
namespace {

constexpr std::uint64_t key = 0x123456789abcdef0u;
constexpr double scale = 0.3;

// What one case multiplies: n rows of d numbers with t columns of signs.
struct Shape {
    std::int64_t n, d, t;
};

// Numbers of many sizes and both signs, a fifth of them zero; small integers for small types.
template <class T> T draw(std::int64_t index) {
    const std::uint64_t word = random_word(key, static_cast<std::uint64_t>(index), 0);
    if (word % 5 == 0) return T{};
    if constexpr (sizeof(T) <= 2)
        return static_cast<T>(word >> 40);
    else
        return static_cast<T>(static_cast<double>(word >> 11) * 0x1p-40 - 4000.0) /
               static_cast<T>(1 + word % 977);
}

// The sign matrix, column by column.
std::vector<std::int8_t> draw_matrix(Shape shape) {
    std::vector<std::int8_t> matrix(shape.t * shape.d);
    for (std::int64_t i = 0; i < shape.t * shape.d; ++i)
        matrix[i] = static_cast<std::int8_t>(sign(key, static_cast<std::uint64_t>(i % shape.d),
                                                  static_cast<std::uint64_t>(i / shape.d)));
    return matrix;
}

// The product of one row and one column in the promised order; bytes are summed exactly.
template <class C, class T, int bits>
C multiply_plainly(const T *row, const std::int8_t *signs, std::int64_t d) {
    C total = 0;
    std::int64_t exact = 0;
    constexpr std::int64_t width = coordinates<bits>;
    for (std::int64_t first = 0; first < d; first += width) {
        C section = 0;
        for (std::int64_t start = first; start < first + width; start += bits) {
            C group = 0;
            for (std::int64_t i = start; i < start + bits && i < d; ++i) {
                group += static_cast<C>(signs[i]) * static_cast<C>(row[i]);
                exact += signs[i] * static_cast<std::int64_t>(row[i]);
            }
            section += group;
        }
        total += section;
    }
    return (sizeof(T) == 1 ? static_cast<C>(exact) : total) * static_cast<C>(scale);
}

template <class C>
std::int64_t count_differences(const std::vector<C> &a, const std::vector<C> &b) {
    std::int64_t different = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        different += std::memcmp(&a[i], &b[i], sizeof(C)) != 0;
    return different;
}

template <class C> std::vector<C> multiply_sparsely(const std::vector<C> &x, Shape shape) {
    std::vector<C> values;
    std::vector<std::int32_t> indices, starts = {0};
    for (std::int64_t row = 0; row < shape.n; ++row) {
        for (std::int64_t i = 0; i < shape.d; ++i)
            if (x[row * shape.d + i] != 0) {
                values.push_back(x[row * shape.d + i]);
                indices.push_back(static_cast<std::int32_t>(i));
            }
        starts.push_back(static_cast<std::int32_t>(values.size()));
    }
    std::vector<C> out(shape.n * shape.t);
    const SparseRows<C> rows{values.data(), indices.data(), starts.data(), false, shape.n, shape.d};
    sign_product_sparse<C>(rows, {key, scale, shape.t, 0, nullptr}, out.data(), 2);
    return out;
}

// Returns how many numbers of dense and of sparse rows differ from those of the plain loops.
template <class C, class T>
std::int64_t try_shape(const char *name, Element element, Shape shape,
                       const std::vector<std::int8_t> &matrix) {
    std::vector<T> x(shape.n * shape.d);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = draw<T>(static_cast<std::int64_t>(i));
    std::vector<C> expected(shape.n * shape.t), out(shape.n * shape.t, C{-1});
    with_group_bits<C>(shape.t, [&](auto bits) {
        for (std::int64_t i = 0; i < shape.n * shape.t; ++i)
            expected[i] = multiply_plainly<C, T, bits>(
                x.data() + i / shape.t * shape.d, matrix.data() + i % shape.t * shape.d, shape.d);
    });
    const Rows rows{x.data(), element, shape.n, shape.d, shape.d};
    sign_product<C>(rows, {key, scale, shape.t, 0, nullptr}, out.data(), 2);
    std::int64_t wrong = count_differences(out, expected);
    if constexpr (std::is_same_v<C, T>)
        wrong += count_differences(multiply_sparsely(x, shape), out);
    std::printf("%s %lld x %lld, t = %lld: %lld differ\n", name, (long long)shape.n,
                (long long)shape.d, (long long)shape.t, (long long)wrong);
    std::fflush(stdout);
    return wrong;
}

// Sizes around a tile of six rows, a section, a vector of 16 columns and a stretch of four, tables
// of one and of two registers, one row and a few, and more than one panel (the last).
constexpr Shape shapes[] = {{1, 70, 40},    {3, 33, 16},   {4, 1, 3},     {6, 32, 16},
                            {7, 31, 17},    {13, 200, 24}, {12, 257, 64}, {5, 129, 80},
                            {19, 300, 81},  {6, 40, 128},  {11, 77, 145}, {25, 513, 310},
                            {5, 2600, 8192}};

int try_all(bool quick) {
    std::int64_t wrong = 0;
    for (const Shape shape : shapes) {
        if (quick && shape.t > 400) continue;
        const std::vector<std::int8_t> matrix = draw_matrix(shape);
        wrong += try_shape<float, float>("float32", Element::float32, shape, matrix);
        wrong += try_shape<float, std::uint8_t>("uint8", Element::uint8, shape, matrix);
        wrong += try_shape<float, std::int8_t>("int8", Element::int8, shape, matrix);
        if (shape.t > 400) continue;
        wrong += try_shape<float, std::int16_t>("int16", Element::int16, shape, matrix);
        wrong += try_shape<double, double>("float64", Element::float64, shape, matrix);
    }
    std::printf("%lld numbers differ in all\n", (long long)wrong);
    return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace PK_INSTRUCTION_SET
}  // namespace projected_kmeans

// With any argument the largest shape is left out.
int main(int n_arguments, char **) {
    return projected_kmeans::PK_INSTRUCTION_SET::try_all(n_arguments > 1);
}

// The random maps as Python sees them.
// Checks shapes and types, releases the GIL, and calls one kernel; allocates nothing for Python.
#include <nanobind/stl/optional.h>

#include <optional>

#include "arrays.hpp"
#include "signs.hpp"

namespace projected_kmeans {
namespace {

void sign_rectangle(std::uint64_t key, std::uint64_t row, std::uint64_t column,
                    Out<std::int8_t, 2> out) {
    const nb::gil_scoped_release unlocked;
    for (std::size_t i = 0; i < out.shape(0); ++i)
        for (std::size_t j = 0; j < out.shape(1); ++j)
            out.data()[i * out.shape(1) + j] =
                static_cast<std::int8_t>(sign(key, row + i, column + j));
}

void word_rectangle(std::uint64_t key, std::uint64_t row, std::uint64_t column,
                    Out<std::uint64_t, 2> out) {
    const nb::gil_scoped_release unlocked;
    for (std::size_t i = 0; i < out.shape(0); ++i)
        for (std::size_t j = 0; j < out.shape(1); ++j)
            out.data()[i * out.shape(1) + j] = random_word(key, row + i, column + j);
}

// What a map has beside its key and its scale.
enum class Extra { none, nonzeros, positions };
using Positions = std::optional<In<std::int64_t, 1>>;

template <class C, Extra extra>
Map map_of(std::uint64_t key, double scale, int n_nonzeros, const Positions &positions,
           const Out<C, 2> &out, std::int64_t n_rows, std::int64_t n_columns) {
    const auto t = static_cast<std::int64_t>(out.shape(1));
    require(static_cast<std::int64_t>(out.shape(0)) == n_rows, "out has a row for every row");
    if constexpr (extra == Extra::nonzeros)
        require(n_nonzeros >= 1 && n_nonzeros <= 64 && n_nonzeros <= t,
                "a row of R has from 1 to 64 nonzeros, and no more than columns");
    if constexpr (extra == Extra::positions) {
        require(positions && static_cast<std::int64_t>(positions->shape(0)) == t,
                "positions name an entry for every component");
        std::int64_t padded = 1;
        while (padded < n_columns) padded *= 2;
        for (std::int64_t i = 0; i < t; ++i)
            require(positions->data()[i] >= 0 && positions->data()[i] < padded,
                    "positions are below n_columns, padded to a power of two");
    }
    return {key, scale, t, n_nonzeros, positions ? positions->data() : nullptr};
}

template <class C, auto kernel, Extra extra>
void multiply(Block block, std::uint64_t key, double scale, Out<C, 2> out, int n_threads,
              int n_nonzeros, Positions positions) {
    const Rows rows = rows_of(block);
    const Map map =
        map_of<C, extra>(key, scale, n_nonzeros, positions, out, rows.n_rows, rows.n_columns);
    const nb::gil_scoped_release unlocked;
    if (out.size() > 0) (kernels_of<C>().*kernel)(rows, map, out.data(), thread_count(n_threads));
}

template <class C, class I, auto kernel, Extra extra>
void multiply_sparse(In<C, 1> values, In<I, 1> indices, In<I, 1> starts, std::int64_t n_columns,
                     std::uint64_t key, double scale, Out<C, 2> out, int n_threads, int n_nonzeros,
                     Positions positions) {
    const nb::gil_scoped_release unlocked;
    const auto rows =
        sparse_rows_of<C, I>(values, indices, starts, n_columns, thread_count(n_threads));
    const Map map =
        map_of<C, extra>(key, scale, n_nonzeros, positions, out, rows.n_rows, n_columns);
    if (out.size() > 0) (kernels_of<C>().*kernel)(rows, map, out.data(), thread_count(n_threads));
}

template <class C, auto kernel, Extra extra = Extra::none>
void bind_product(nb::module_ &m, const char *name) {
    m.def(name, multiply<C, kernel, extra>, "block"_a.noconvert(), "key"_a, "scale"_a,
          "out"_a.noconvert(), "n_threads"_a, "n_nonzeros"_a = 0,
          "positions"_a.noconvert().none() = nb::none());
}

template <class C, class I, auto kernel, Extra extra = Extra::none>
void bind_sparse_product(nb::module_ &m, const char *name) {
    m.def(name, multiply_sparse<C, I, kernel, extra>, "values"_a.noconvert(),
          "indices"_a.noconvert(), "starts"_a.noconvert(), "n_columns"_a, "key"_a, "scale"_a,
          "out"_a.noconvert(), "n_threads"_a, "n_nonzeros"_a = 0,
          "positions"_a.noconvert().none() = nb::none());
}

template <class C, class I> void bind_sparse_products(nb::module_ &m) {
    using K = KernelsOf<C>;
    bind_sparse_product<C, I, &K::sign_product_sparse>(m, "sign_product_sparse");
    bind_sparse_product<C, I, &K::sparse_sign_product_sparse, Extra::nonzeros>(
        m, "sparse_sign_product_sparse");
    bind_sparse_product<C, I, &K::hadamard_product_sparse, Extra::positions>(
        m, "hadamard_product_sparse");
}

template <class C> void bind_maps_of(nb::module_ &m) {
    using K = KernelsOf<C>;
    bind_product<C, &K::sign_product>(m, "sign_product");
    bind_product<C, &K::sparse_sign_product, Extra::nonzeros>(m, "sparse_sign_product");
    bind_product<C, &K::hadamard_product, Extra::positions>(m, "hadamard_product");
    bind_product<C, &K::on_the_fly_product>(m, "on_the_fly_product");
    bind_product<C, &K::mailman_product>(m, "mailman_product");
    bind_sparse_products<C, std::int32_t>(m);
    bind_sparse_products<C, std::int64_t>(m);
}

}  // namespace

void bind_maps(nb::module_ &m) {
    m.def("sign_rectangle", sign_rectangle, "key"_a, "row"_a, "column"_a, "out"_a.noconvert());
    m.def("word_rectangle", word_rectangle, "key"_a, "row"_a, "column"_a, "out"_a.noconvert());
    bind_maps_of<float>(m);
    bind_maps_of<double>(m);
}

}  // namespace projected_kmeans

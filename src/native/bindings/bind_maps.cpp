// Random maps and products, as Python sees them.
// Each function checks its arguments, releases the GIL and calls one kernel.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>

#include "bindings/arguments.hpp"
#include "bindings/compiled_kernels.hpp"
#include "maps/signs.hpp"

namespace projected_kmeans {
namespace {

void sign_rectangle(std::uint64_t key, std::uint64_t row, std::uint64_t column,
                    Out<std::int8_t, 2> out) {
    ArrayMemory().writes(out);
    const nb::gil_scoped_release unlocked;
    for (std::size_t i = 0; i < out.shape(0); ++i)
        for (std::size_t j = 0; j < out.shape(1); ++j)
            out.data()[i * out.shape(1) + j] =
                static_cast<std::int8_t>(sign(key, row + i, column + j));
}

void word_rectangle(std::uint64_t key, std::uint64_t row, std::uint64_t column,
                    Out<std::uint64_t, 2> out) {
    ArrayMemory().writes(out);
    const nb::gil_scoped_release unlocked;
    for (std::size_t i = 0; i < out.shape(0); ++i)
        for (std::size_t j = 0; j < out.shape(1); ++j)
            out.data()[i * out.shape(1) + j] = random_word(key, row + i, column + j);
}

// Columns of R that a kernel can number in 32 bits beside a sign.
constexpr std::int64_t max_components = std::int64_t{1} << 30;

// What a map has besides its key and its scale.
enum class Extra { none, nonzeros, positions };
using Positions = std::optional<In<std::int64_t, 1>>;

template <class C, Extra extra>
Map map_of(std::uint64_t key, double scale, int n_nonzeros, const Positions &positions,
           const Out<C, 2> &out, std::int64_t n_rows, std::int64_t n_columns) {
    const auto t = static_cast<std::int64_t>(out.shape(1));
    require(static_cast<std::int64_t>(out.shape(0)) == n_rows, "out has a row for every row");
    require(t <= max_components, "out has at most 2^30 columns");
    if constexpr (extra == Extra::nonzeros)
        require(n_nonzeros >= 1 && n_nonzeros <= max_nonzeros && n_nonzeros <= t,
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

// The work with each entry of a row, counted as for thread_count.
template <Extra extra> std::int64_t work_each(const Map &map) {
    if constexpr (extra == Extra::nonzeros) return map.n_nonzeros * work_per_entry;
    if constexpr (extra == Extra::positions) return 2 * work_per_entry;
    return map.n_components;
}

template <class C, class Product, Extra extra>
void multiply(Block block, std::uint64_t key, double scale, Out<C, 2> out, int n_threads,
              int n_nonzeros, Positions positions) {
    ArrayMemory().reads(block, positions).writes(out);
    const Rows rows = rows_of(block);
    const Map map =
        map_of<C, extra>(key, scale, n_nonzeros, positions, out, rows.n_rows, rows.n_columns);
    const nb::gil_scoped_release unlocked;
    if (rows.n_columns == 0)  // a sum of nothing; kernels add sections of coordinates
        std::fill_n(out.data(), out.size(), C{0});
    else if (out.size() > 0)
        Product::chosen()(rows, map, out.data(),
                          thread_count(n_threads, work_of(rows, work_each<extra>(map))));
}

template <class C, class I, class Product, Extra extra>
void multiply_sparse(In<C, 1> values, In<I, 1> indices, In<I, 1> starts, std::int64_t n_columns,
                     std::uint64_t key, double scale, Out<C, 2> out, int n_threads, int n_nonzeros,
                     Positions positions) {
    const nb::gil_scoped_release unlocked;
    ArrayMemory().reads(values, indices, starts, positions).writes(out);
    const auto rows = sparse_rows_of<C, I>(values, indices, starts, n_columns, n_threads);
    const Map map =
        map_of<C, extra>(key, scale, n_nonzeros, positions, out, rows.n_rows, n_columns);
    if (out.size() > 0)
        Product::chosen()(rows, map, out.data(),
                          thread_count(n_threads, work_of(rows, work_each<extra>(map))));
}

template <class C, class Product, Extra extra = Extra::none>
void bind_product(nb::module_ &m, const char *name) {
    m.def(name, multiply<C, Product, extra>, array("block"), "key"_a, "scale"_a, array("out"),
          "n_threads"_a, "n_nonzeros"_a = 0, array("positions").none() = nb::none());
}

template <class C, class I, class Product, Extra extra = Extra::none>
void bind_sparse_product(nb::module_ &m, const char *name) {
    m.def(name, multiply_sparse<C, I, Product, extra>, array("values"), array("indices"),
          array("starts"), "n_columns"_a, "key"_a, "scale"_a, array("out"), "n_threads"_a,
          "n_nonzeros"_a = 0, array("positions").none() = nb::none());
}

template <class C>
void direction_product(Block block, In<C, 1> origin, double scale, In<C, 2> directions,
                       Out<C, 2> out, int n_threads) {
    ArrayMemory().reads(block, origin, directions).writes(out);
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto given = centers_of<C>(rows, directions);
    require(out.shape(0) == block.shape(0) && out.shape(1) == directions.shape(0),
            "out is n_rows x n_directions");
    const nb::gil_scoped_release unlocked;
    PK_KERNEL(direction_product<C>)::chosen()(
        rows, frame, given, out.data(), thread_count(n_threads, work_of(rows, given.n_centers)));
}

template <class C, class I>
void hash_columns(CsrBlock<C, I> block, std::uint64_t key, std::int64_t n_hashed, Out<C, 1> values,
                  Out<std::int32_t, 1> columns, Out<std::int64_t, 1> starts, int n_threads) {
    const nb::gil_scoped_release unlocked;
    ArrayMemory().reads(block).writes(values, columns, starts);
    const auto rows = rows_of(block, n_threads);
    require(n_hashed >= 1 && n_hashed <= max_components, "columns are hashed to 1 to 2^30 columns");
    const auto n_nonzeros = static_cast<std::size_t>(rows.start(rows.n_rows));
    require(values.shape(0) == n_nonzeros && columns.shape(0) == n_nonzeros,
            "values and columns have room for every nonzero");
    require(static_cast<std::int64_t>(starts.shape(0)) == rows.n_rows + 1,
            "starts have a value for every row and one more");
    PK_KERNEL(hash_columns<C>)::chosen()(rows, {key, 1.0, n_hashed, 1, nullptr}, values.data(),
                                         columns.data(), starts.data(), thread_count(n_threads));
}

template <class C, class I>
void table_product(CsrBlock<C, I> block, In<C, 2> table, Out<C, 2> out, int n_threads) {
    const nb::gil_scoped_release unlocked;
    ArrayMemory().reads(block, table).writes(out);
    const auto rows = rows_of(block, n_threads);
    require(static_cast<std::int64_t>(table.shape(0)) == rows.n_columns,
            "table has a row for every column");
    require(static_cast<std::int64_t>(out.shape(0)) == rows.n_rows &&
                out.shape(1) == table.shape(1),
            "out is n_rows x the width of table");
    PK_KERNEL(table_product<C>)::chosen()(
        rows, table.data(), static_cast<std::int64_t>(table.shape(1)), out.data(),
        thread_count(n_threads, work_of(rows, static_cast<std::int64_t>(table.shape(1)))));
}

template <class C, class I>
void transposed_product(CsrBlock<C, I> block, In<double, 2> table, Out<double, 2> out,
                        int n_threads) {
    const nb::gil_scoped_release unlocked;
    ArrayMemory().reads(block, table).writes(out);
    const auto rows = rows_of(block, n_threads);
    require(static_cast<std::int64_t>(table.shape(0)) == rows.n_rows,
            "table has a row for every row");
    require(static_cast<std::int64_t>(out.shape(0)) == rows.n_columns &&
                out.shape(1) == table.shape(1),
            "out is n_columns x the width of table");
    PK_KERNEL(transposed_product<C>)::chosen()(
        rows, table.data(), static_cast<std::int64_t>(table.shape(1)), out.data(),
        thread_count(n_threads, work_of(rows, static_cast<std::int64_t>(table.shape(1)))));
}

template <class C, class I> void bind_sparse_products(nb::module_ &m) {
    bind_sparse_product<C, I, PK_KERNEL(sign_product_sparse<C>)>(m, "sign_product_sparse");
    bind_sparse_product<C, I, PK_KERNEL(sparse_sign_product_sparse<C>), Extra::nonzeros>(
        m, "sparse_sign_product_sparse");
    bind_sparse_product<C, I, PK_KERNEL(hadamard_product_sparse<C>), Extra::positions>(
        m, "hadamard_product_sparse");
    m.def("hash_columns", hash_columns<C, I>, array("block"), "key"_a, "n_hashed"_a,
          array("values"), array("columns"), array("starts"), "n_threads"_a);
    m.def("table_product", table_product<C, I>, array("block"), array("table"), array("out"),
          "n_threads"_a);
    m.def("transposed_product", transposed_product<C, I>, array("block"), array("table"),
          array("out"), "n_threads"_a);
}

template <class C> void bind_maps_of(nb::module_ &m) {
    bind_product<C, PK_KERNEL(sign_product<C>)>(m, "sign_product");
    bind_product<C, PK_KERNEL(sparse_sign_product<C>), Extra::nonzeros>(m, "sparse_sign_product");
    bind_product<C, PK_KERNEL(hadamard_product<C>), Extra::positions>(m, "hadamard_product");
    bind_product<C, PK_KERNEL(on_the_fly_product<C>)>(m, "on_the_fly_product");
    bind_product<C, PK_KERNEL(mailman_product<C>)>(m, "mailman_product");
    bind_sparse_products<C, std::int32_t>(m);
    bind_sparse_products<C, std::int64_t>(m);
    m.def("direction_product", direction_product<C>, array("block"), array("origin"), "scale"_a,
          array("directions"), array("out"), "n_threads"_a);
}

}  // namespace

void bind_maps(nb::module_ &m) {
    m.def("sign_rectangle", sign_rectangle, "key"_a, "row"_a, "column"_a, array("out"));
    m.def("word_rectangle", word_rectangle, "key"_a, "row"_a, "column"_a, array("out"));
    bind_maps_of<float>(m);
    bind_maps_of<double>(m);
}

}  // namespace projected_kmeans

// NumPy arrays and SciPy's CSR arrays as the rows that kernels take. Types and shapes are checked;
// nothing is converted or copied. Only files of bindings/ include nanobind.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "bindings/threads.hpp"
#include "lanes/rows.hpp"

namespace projected_kmeans {

namespace nb = nanobind;
using namespace nb::literals;

// Arrays that a kernel reads, and arrays that it writes.
template <class T, int dimensions>
using In = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <class T, int dimensions>
using Out = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
// A dense block of rows, of any element type.
using Block = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

// A sparse block of rows: the parts of a SciPy CSR array.
template <class C, class I> struct CsrBlock {
    In<C, 1> data;
    In<I, 1> indices, indptr;
    std::int64_t n_rows, n_columns;
};

// Throws what Python sees as a ValueError.
inline void require(bool condition, const char *message) {
    if (!condition) throw std::invalid_argument(message);
}

// NumPy's names of the element types, in the order of Element.
constexpr const char *element_names[] = {"float32", "float64", "float16", "uint8",
                                         "int8",    "uint16",  "int16"};

inline Element element_of(nb::dlpack::dtype type) {
    using nb::dlpack::dtype_code;
    const auto code = static_cast<dtype_code>(type.code);
    if (code == dtype_code::Float && type.bits == 32) return Element::float32;
    if (code == dtype_code::Float && type.bits == 64) return Element::float64;
    if (code == dtype_code::Float && type.bits == 16) return Element::float16;
    if (code == dtype_code::UInt && type.bits == 8) return Element::uint8;
    if (code == dtype_code::Int && type.bits == 8) return Element::int8;
    if (code == dtype_code::UInt && type.bits == 16) return Element::uint16;
    if (code == dtype_code::Int && type.bits == 16) return Element::int16;
    throw nb::type_error("a block has float16/32/64 or (u)int8/16 elements");
}

// The most columns of sparse rows: more than any file has, and few enough that no product of sizes
// overflows 64 bits.
constexpr std::int64_t max_sparse_columns = std::int64_t{1} << 48;

inline Rows rows_of(const Block &block, int = 1) {
    require(block.shape(1) <= 1 || block.stride(1) == 1, "a block has unit stride inside a row");
    return {block.data(), element_of(block.dtype()), static_cast<std::int64_t>(block.shape(0)),
            static_cast<std::int64_t>(block.shape(1)), block.stride(0)};
}

// Sparse rows, checked: starts ascend, and indices ascend inside a row and name a column.
template <class C, class I>
SparseRows<C> sparse_rows_of(const In<C, 1> &values, const In<I, 1> &indices,
                             const In<I, 1> &starts, std::int64_t n_columns, int n_threads) {
    require(n_columns >= 0 && n_columns <= max_sparse_columns,
            "the number of columns is from 0 to 2^48");
    require(starts.shape(0) >= 1 && starts.data()[0] == 0, "starts begin with 0");
    require(values.shape(0) == indices.shape(0), "values and indices have the same length");
    const auto n_rows = static_cast<std::int64_t>(starts.shape(0)) - 1;
    require(std::int64_t{starts.data()[n_rows]} == static_cast<std::int64_t>(indices.shape(0)),
            "starts end with nnz");
    const I *start = starts.data(), *index = indices.data();
    bool ordered = true;
    for (std::int64_t row = 0; row < n_rows; ++row) ordered &= start[row] <= start[row + 1];
    require(ordered, "starts ascend");
    const int n = thread_count(n_threads, static_cast<double>(indices.shape(0)));
#pragma omp parallel for num_threads(n) reduction(&& : ordered) if (n > 1)
    for (std::int64_t row = 0; row < n_rows; ++row) {
        const I begin = start[row], end = start[row + 1];
        if (begin == end) continue;
        bool ascend = index[begin] >= 0 && index[end - 1] < n_columns;
        for (I e = begin + 1; e < end; ++e) ascend &= index[e] > index[e - 1];
        ordered = ordered && ascend;
    }
    require(ordered, "indices ascend inside a row and name a column");
    return {values.data(), indices.data(), starts.data(), sizeof(I) == 8, n_rows, n_columns};
}

template <class C, class I> SparseRows<C> rows_of(const CsrBlock<C, I> &block, int n_threads) {
    const auto rows =
        sparse_rows_of<C, I>(block.data, block.indices, block.indptr, block.n_columns, n_threads);
    require(rows.n_rows == block.n_rows, "starts have a value for every row and one more");
    return rows;
}

// Each of these adds what one file has to the module.
void bind_maps(nb::module_ &m);
void bind_nearest(nb::module_ &m);
void bind_clustering(nb::module_ &m);
void bind_lists(nb::module_ &m);
void bind_mapped_files(nb::module_ &m);
void bind_errors();

}  // namespace projected_kmeans

namespace nanobind::detail {

// Takes the parts of a Python object as they are, without a copy. An object whose parts have other
// types does not match.
template <class C, class I> struct type_caster<projected_kmeans::CsrBlock<C, I>> {
    using Csr = projected_kmeans::CsrBlock<C, I>;
    NB_TYPE_CASTER(Csr, const_name("csr_array"))

    bool from_python(handle source, std::uint8_t, cleanup_list *) noexcept {
        const char *names[] = {"data", "indices", "indptr", "shape"};
        for (const char *name : names)
            if (!hasattr(source, name)) return false;
        std::pair<std::int64_t, std::int64_t> shape;
        if (!try_cast(source.attr("data"), value.data, false) ||
            !try_cast(source.attr("indices"), value.indices, false) ||
            !try_cast(source.attr("indptr"), value.indptr, false) ||
            !try_cast(source.attr("shape"), shape))
            return false;
        value.n_rows = shape.first;
        value.n_columns = shape.second;
        return true;
    }
};

}  // namespace nanobind::detail

// Python's arrays as the values that kernels take: shapes and types are checked, nothing is copied.
// Shared by the files that bind kernels, which are the only ones that know nanobind.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <omp.h>

#include <stdexcept>

#include "kernels.hpp"

namespace projected_kmeans {

namespace nb = nanobind;
using namespace nb::literals;

template <class T, int dimensions>
using In = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <class T, int dimensions>
using Out = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
using Block = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

inline void require(bool condition, const char *message) {
    if (!condition) throw std::invalid_argument(message);
}

// The kernels of this process, chosen at the first call.
const Kernels &kernels();

template <class C> const KernelsOf<C> &kernels_of() {
    if constexpr (sizeof(C) == sizeof(float))
        return kernels().single;
    else
        return kernels().wide;
}

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

inline Rows rows_of(const Block &block) {
    require(block.shape(1) <= 1 || block.stride(1) == 1, "a block has unit stride inside a row");
    return {block.data(), element_of(block.dtype()), static_cast<std::int64_t>(block.shape(0)),
            static_cast<std::int64_t>(block.shape(1)), block.stride(0)};
}

inline int thread_count(int n_threads) { return n_threads > 0 ? n_threads : omp_get_max_threads(); }

void bind_maps(nb::module_ &m);
void bind_clustering(nb::module_ &m);

}  // namespace projected_kmeans

// Where array arguments lie in memory. Kernels read and write them with instructions that may need
// aligned addresses, and on several threads, so that outputs must not overlap other arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bindings/arrays.hpp"

namespace projected_kmeans {

// The memory of the arguments of one call. Every array that a kernel takes is named here once.
class ArrayMemory {
  public:
    template <class... Arrays> ArrayMemory &reads(const Arrays &...arrays) {
        (add(arrays, false), ...);
        return *this;
    }
    template <class... Arrays> ArrayMemory &writes(const Arrays &...arrays) {
        (add(arrays, true), ...);
        return *this;
    }

  private:
    struct Extent {
        std::uintptr_t begin, end;
        bool written;
    };

    template <class... Arguments> void add(const nb::ndarray<Arguments...> &array, bool written) {
        // The first and the last element: strides may be negative or zero.
        std::int64_t first = 0, last = 0;
        for (std::size_t i = 0; i < array.ndim(); ++i) {
            if (array.shape(i) == 0) return;
            const auto reach = static_cast<std::int64_t>(array.shape(i) - 1) * array.stride(i);
            (reach < 0 ? first : last) += reach;
        }
        const auto size = static_cast<std::int64_t>(array.itemsize());
        const auto at = reinterpret_cast<std::uintptr_t>(array.data());
        require(at % static_cast<std::uintptr_t>(size) == 0,
                "an array has an address that is not a multiple of its element size; copy it");
        add_extent({at + static_cast<std::uintptr_t>(first * size),
                    at + static_cast<std::uintptr_t>((last + 1) * size), written});
    }
    template <class Array> void add(const std::optional<Array> &array, bool written) {
        if (array) add(*array, written);
    }
    template <class C, class I> void add(const CsrBlock<C, I> &block, bool written) {
        add(block.data, written);
        add(block.indices, written);
        add(block.indptr, written);
    }

    void add_extent(Extent extent) {
        for (int i = 0; i < n_; ++i)
            require(!(extent.written || extents_[i].written) || extent.begin >= extents_[i].end ||
                        extents_[i].begin >= extent.end,
                    "an array that is written has memory in common with another argument");
        require(n_ < most, "a kernel has at most 16 arrays");
        extents_[n_++] = extent;
    }

    static constexpr int most = 16;
    Extent extents_[most];
    int n_ = 0;
};

}  // namespace projected_kmeans

// Centers stored column by column, so that a nonzero of a sparse row is multiplied with all centers
// at once. Shared by the kernels for sparse rows.
//
// Let x' and c' be a row and a center in the frame, and o' = origin * scale. The score
// |c'|^2 / 2 - <x', c'> is a constant of the center, |c'|^2 / 2 + <o', c'>, minus the sum of
// x * scale * c' over the nonzeros x of the row.
#pragma once

#include <cmath>
#include <limits>

#include "lanes/buffer.hpp"
#include "lanes/vectors.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {

// data[chunk][column][centers of a chunk], padded with zeros.
template <class C> class CenterColumns {
  public:
    // inside(center, column) is an entry of a center in the frame.
    template <class Inside>
    CenterColumns(std::int64_t n_centers, std::int64_t n_columns, int n_threads, Inside inside)
        : n_centers_(n_centers), n_columns_(n_columns),
          n_vectors_((n_centers_ + lanes - 1) / lanes), data_(n_vectors_ * lanes * n_columns) {
        constexpr std::int64_t part = 256;
#pragma omp parallel for num_threads(n_threads) if (n_threads > 1)
        for (std::int64_t first = 0; first < n_columns_; first += part) {
            const std::int64_t last = first + part < n_columns_ ? first + part : n_columns_;
            for (std::int64_t j = 0; j < n_vectors_ * lanes; ++j) {
                const std::int64_t chunk = j / (most * lanes), width = n_in(chunk) * lanes;
                C *to = data_.data() + begin_of(chunk) + j % (most * lanes);
                for (std::int64_t column = first; column < last; ++column)
                    to[column * width] = j < n_centers_ ? static_cast<C>(inside(j, column)) : C{0};
            }
        }
    }

    std::int64_t n_products() const { return n_vectors_ * lanes; }

    // products[center] <- the sum of values * scale * center over nonzeros [begin, end).
    template <class V, class I>
    void multiply(const V *values, const I *indices, std::int64_t begin, std::int64_t end,
                  std::int64_t n_nonzeros, C scale, C *products) const {
        const std::int64_t fetched = n_nonzeros - ahead < end ? n_nonzeros - ahead : end;
        for (std::int64_t chunk = 0; chunk * most < n_vectors_; ++chunk) {
            const C *from = data_.data() + begin_of(chunk);
            C *to = products + chunk * most * lanes;
            static_assert(most == 4, "the cases are all numbers of vectors below `most`");
            switch (n_in(chunk)) {
            case 1: add<1>(from, values, indices, begin, end, fetched, scale, to); break;
            case 2: add<2>(from, values, indices, begin, end, fetched, scale, to); break;
            case 3: add<3>(from, values, indices, begin, end, fetched, scale, to); break;
            default: add<most>(from, values, indices, begin, end, fetched, scale, to);
            }
        }
    }

  private:
    static constexpr int lanes = n_lanes<C>;
    static constexpr int most = 4;             // vectors of a chunk, whose sums stay in registers
    static constexpr std::int64_t ahead = 12;  // how many nonzeros ahead memory is prefetched

    std::int64_t n_in(std::int64_t chunk) const {
        const std::int64_t left = n_vectors_ - chunk * most;
        return left < most ? left : most;
    }
    std::int64_t begin_of(std::int64_t chunk) const { return chunk * most * lanes * n_columns_; }

    template <int n, class V, class I>
    static void add(const C *from, const V *values, const I *indices, std::int64_t begin,
                    std::int64_t end, std::int64_t fetched, C scale, C *to) {
        Lanes<C> sums[n] = {};
        for (std::int64_t e = begin; e < end; ++e) {
            if (e < fetched) {
                const auto *next = reinterpret_cast<const char *>(
                    from + std::int64_t{indices[e + ahead]} * (n * lanes));
                for (std::size_t byte = 0; byte < n * sizeof(Lanes<C>); byte += 64)
                    __builtin_prefetch(next + byte);
            }
            const C value = static_cast<C>(values[e]) * scale;
            const C *column = from + std::int64_t{indices[e]} * (n * lanes);
#pragma GCC unroll 4
            for (int j = 0; j < n; ++j) sums[j] += load(column + j * lanes) * value;
        }
        for (int j = 0; j < n; ++j) store(to + j * lanes, sums[j]);
    }

    std::int64_t n_centers_, n_columns_, n_vectors_;
    Buffer<C> data_;
};

// Constants of the centers, in double precision.
struct CenterConstants {
    Buffer<double> score;  // |c'|^2 / 2 + <o', c'>
    double largest = 0;    // the largest |c'|
    double origin = 0;     // |o'|

    // inside(center, column) is an entry of c'.
    template <class C, class Inside>
    CenterConstants(std::int64_t n_centers, Frame<C> frame, std::int64_t n_columns, int n_threads,
                    Inside inside)
        : score(n_centers) {
        const auto scale = static_cast<double>(frame.scale);
        double most = 0;
#pragma omp parallel for num_threads(n_threads) reduction(max : most) if (n_threads > 1)
        for (std::int64_t j = 0; j < n_centers; ++j) {
            double squares = 0, cross = 0;
            for (std::int64_t column = 0; column < n_columns; ++column) {
                const double entry = inside(j, column);
                squares += entry * entry;
                cross += static_cast<double>(frame.origin[column]) * scale * entry;
            }
            score[j] = squares / 2 + cross;
            most = std::fmax(most, squares);
        }
        largest = std::sqrt(most);
        for (std::int64_t column = 0; column < n_columns; ++column) {
            const double entry = static_cast<double>(frame.origin[column]) * scale;
            origin += entry * entry;
        }
        origin = std::sqrt(origin);
    }
};

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

// Sparse rows times the sparse sign matrix R. The results have the bits of sparse_sign_product.cpp
// for the same rows given dense, and only nonzeros cost time.
#include "lanes/buffer.hpp"
#include "lanes/tiles.hpp"
#include "maps/kernels.hpp"
#include "maps/sparse_targets.hpp"
#include "maps/tile_product.hpp"

namespace projected_kmeans::PK_INSTRUCTION_SET {
namespace {

// The targets of the rows of R that the nonzeros of sparse rows need. If there are at least as many
// nonzeros as rows of R, and all targets fit into `panel_bytes`, they are made beforehand. T is the
// smallest integer that holds a target.
template <class C, class T> class SparseTargets {
  public:
    SparseTargets(const SparseRows<C> &rows, Map map, int n_threads)
        : rows_(rows), key_(map.key), stretches_{map.n_components, map.n_nonzeros},
          keep_(rows.n_columns <=
                    panel_bytes / static_cast<std::int64_t>(sizeof(T)) / map.n_nonzeros &&
                rows.start(rows.n_rows) >= rows.n_columns),
          kept_(keep_ ? rows.n_columns * map.n_nonzeros : 0) {
        constexpr std::int64_t part = 512;
#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
        for (std::int64_t first = 0; first < (keep_ ? rows.n_columns : 0); first += part) {
            const std::int64_t left = rows_.n_columns - first;
            generate_targets(
                key_, stretches_, left < part ? left : part,
                [first](std::int64_t i) { return first + i; },
                kept_.data() + first * stretches_.n_nonzeros);
        }
    }

    // Adds the nonzeros of a row to to[column]. `fixed` is the number of nonzeros in a row of R if
    // it is known to the compiler, else 0.
    template <int fixed> void scatter(std::int64_t row, C *to) const {
        const int s = fixed > 0 ? fixed : stretches_.n_nonzeros;
        const std::int64_t begin = rows_.start(row), end = rows_.start(row + 1);
        if (keep_) {
            constexpr std::int64_t ahead = 12;  // nonzeros, while the third-level cache answers
            const std::int64_t last = rows_.start(rows_.n_rows) - 1;
            for (std::int64_t e = begin; e < end; ++e) {
                const std::int64_t next = e + ahead < last ? e + ahead : last;
                __builtin_prefetch(kept_.data() + rows_.index(next) * s);
                add<fixed>(rows_.values[e], kept_.data() + rows_.index(e) * s, to);
            }
            return;
        }
        constexpr std::int64_t together = 1024;  // targets that are made at once
        static_assert(max_nonzeros <= together, "there is room for a row of R");
        T made[together];
        for (std::int64_t first = begin; first < end; first += together / s) {
            const std::int64_t n = end - first < together / s ? end - first : together / s;
            generate_targets(
                key_, stretches_, n, [&](std::int64_t i) { return rows_.index(first + i); }, made);
            for (std::int64_t i = 0; i < n; ++i)
                add<fixed>(rows_.values[first + i], made + i * s, to);
        }
    }

  private:
    template <int fixed> void add(C value, const T *targets, C *to) const {
        const int s = fixed > 0 ? fixed : stretches_.n_nonzeros;
        const C either[2] = {value, -value};
        for (int j = 0; j < s; ++j) to[targets[j] >> 1] += either[targets[j] & 1];
    }

    const SparseRows<C> &rows_;
    const std::uint64_t key_;
    const Stretches stretches_;
    const bool keep_;
    Buffer<T> kept_;
};

template <class C, class T>
void multiply_sparse(const SparseRows<C> &rows, Map map, C *out, int n_threads) {
    const std::int64_t t = map.n_components;
    const SparseTargets<C, T> targets(rows, map, n_threads);
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 64) if (n_threads > 1)
    for (std::int64_t row = 0; row < rows.n_rows; ++row) {
        C *to = out + row * t;
        for (std::int64_t j = 0; j < t; ++j) to[j] = 0;
        if (map.n_nonzeros == 8)
            targets.template scatter<8>(row, to);
        else if (map.n_nonzeros == 1)
            targets.template scatter<1>(row, to);
        else
            targets.template scatter<0>(row, to);
        for (std::int64_t j = 0; j < t; ++j) to[j] *= static_cast<C>(map.scale);
    }
}

}  // namespace

template <class C>
void sparse_sign_product_sparse(const SparseRows<C> &rows, Map map, C *out, int n_threads) {
    if (2 * map.n_components <= std::int64_t{1} << 16)
        multiply_sparse<C, std::uint16_t>(rows, map, out, n_threads);
    else
        multiply_sparse<C, Target>(rows, map, out, n_threads);
}

PK_INSTANTIATE(sparse_sign_product_sparse);

}  // namespace projected_kmeans::PK_INSTRUCTION_SET

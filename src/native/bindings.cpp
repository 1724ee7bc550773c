// The native module as Python sees it: the only file that knows nanobind.
// Checks shapes and types, releases the GIL, and calls one kernel; allocates nothing for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <omp.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "signs.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace projected_kmeans;

namespace {

template <class T, int dimensions>
using In = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <class T, int dimensions>
using Out = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
using Block = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

void require(bool condition, const char *message) {
    if (!condition) throw std::invalid_argument(message);
}

const Kernels &kernels() {
    static const Kernels *chosen = [] {
        const char *name = std::getenv("PROJECTED_KMEANS_INSTRUCTION_SET");
        const Kernels *found = choose_kernels(name ? name : "");
        if (!found)
            throw std::runtime_error(std::string("PROJECTED_KMEANS_INSTRUCTION_SET=") + name +
                                     " is not an instruction set of this build and machine; use "
                                     "portable, avx2 or avx512, or unset it");
        return found;
    }();
    return *chosen;
}

template <class C> const KernelsOf<C> &kernels_of() {
    if constexpr (sizeof(C) == sizeof(float))
        return kernels().single;
    else
        return kernels().wide;
}

Element element_of(nb::dlpack::dtype type) {
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

Rows rows_of(const Block &block) {
    require(block.shape(1) <= 1 || block.stride(1) == 1, "a block has unit stride inside a row");
    return {block.data(), element_of(block.dtype()), static_cast<std::int64_t>(block.shape(0)),
            static_cast<std::int64_t>(block.shape(1)), block.stride(0)};
}

int thread_count(int n_threads) { return n_threads > 0 ? n_threads : omp_get_max_threads(); }

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

// Compressed sparse rows, checked: starts ascend, indices ascend inside a row and name a column.
template <class C, class I>
SparseRows<C> sparse_rows_of(const In<C, 1> &values, const In<I, 1> &indices,
                             const In<I, 1> &starts, std::int64_t n_columns, int n_threads) {
    require(starts.shape(0) >= 1 && starts.data()[0] == 0, "starts begin with 0");
    require(values.shape(0) == indices.shape(0), "values and indices have the same length");
    const auto n_rows = static_cast<std::int64_t>(starts.shape(0)) - 1;
    require(starts.data()[n_rows] == static_cast<I>(indices.shape(0)), "starts end with nnz");
    const I *start = starts.data(), *index = indices.data();
    bool ordered = true;
    for (std::int64_t row = 0; row < n_rows; ++row) ordered &= start[row] <= start[row + 1];
    require(ordered, "starts ascend");
#pragma omp parallel for num_threads(n_threads) reduction(&& : ordered) if (n_threads > 1)
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

template <class C> Frame<C> frame_of(const Rows &rows, const In<C, 1> &origin, double scale) {
    require(static_cast<std::int64_t>(origin.shape(0)) == rows.n_columns,
            "origin has a value for every column");
    return {origin.data(), static_cast<C>(scale)};
}

template <class C> Centers<C> centers_of(const Rows &rows, const In<C, 2> &centers) {
    require(static_cast<std::int64_t>(centers.shape(1)) == rows.n_columns,
            "centers have a value for every column");
    return {centers.data(), static_cast<std::int64_t>(centers.shape(0))};
}

void require_labels(const Rows &rows, const std::int32_t *labels, std::size_t n_labels,
                    std::int64_t n_centers) {
    require(static_cast<std::int64_t>(n_labels) == rows.n_rows,
            "labels have an entry for every row");
    std::int32_t lowest = 0, highest = -1;
    for (std::size_t i = 0; i < n_labels; ++i) {
        lowest = labels[i] < lowest ? labels[i] : lowest;
        highest = labels[i] > highest ? labels[i] : highest;
    }
    require(lowest >= 0 && highest < n_centers, "labels name a center each");
}

template <class C>
void nearest_center(Block block, In<C, 1> origin, double scale, In<C, 2> centers,
                    In<double, 2> exact_centers, bool keep_ties, Out<std::int32_t, 1> labels,
                    Out<C, 1> nearest, Out<C, 1> second, int n_threads) {
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    const auto exact = centers_of<double>(rows, exact_centers);
    require(exact.n_centers == packed.n_centers, "exact_centers are the same centers");
    require(labels.shape(0) == block.shape(0) && nearest.shape(0) == block.shape(0) &&
                second.shape(0) == block.shape(0),
            "labels and distances have an entry for every row");
    const nb::gil_scoped_release unlocked;
    kernels_of<C>().nearest_center(rows, frame, packed, exact, keep_ties, labels.data(),
                                   nearest.data(), second.data(), thread_count(n_threads));
}

template <class C>
std::int64_t bounded_assignment(Block block, In<C, 1> origin, double scale, In<C, 2> centers,
                                In<double, 2> exact_centers, In<std::int32_t, 2> groups,
                                In<std::uint16_t, 1> drifts, In<std::uint16_t, 1> group_drifts,
                                double quantum, bool keep_ties, Out<std::int32_t, 1> labels,
                                Out<std::uint16_t, 1> upper, Out<std::uint16_t, 2> lower,
                                int n_threads) {
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    const auto exact = centers_of<double>(rows, exact_centers);
    require(exact.n_centers == packed.n_centers, "exact_centers are the same centers");
    require(groups.shape(0) <= bounds_a_row && group_drifts.shape(0) == bounds_a_row,
            "there are at most 16 groups, and 16 drifts of groups");
    require(static_cast<std::int64_t>(drifts.shape(0)) == packed.n_centers,
            "drifts have a value for every center");
    require(upper.shape(0) == block.shape(0) && lower.shape(0) == block.shape(0) &&
                lower.shape(1) == bounds_a_row,
            "upper has a bound for every row, lower 16");
    const nb::gil_scoped_release unlocked;
    require_labels(rows, labels.data(), labels.shape(0), packed.n_centers);
    std::vector<int> n_groups_of(static_cast<std::size_t>(packed.n_centers));
    for (std::size_t i = 0; i < groups.size(); ++i) {
        require(groups.data()[i] < packed.n_centers, "groups name centers");
        if (groups.data()[i] >= 0) ++n_groups_of[static_cast<std::size_t>(groups.data()[i])];
    }
    for (const int count : n_groups_of) require(count == 1, "every center is in one group");
    return kernels_of<C>().bounded_assignment(
        rows, frame, packed, exact,
        {groups.data(), static_cast<std::int64_t>(groups.shape(0)),
         static_cast<std::int64_t>(groups.shape(1))},
        {upper.data(), lower.data(), drifts.data(), group_drifts.data(), quantum}, keep_ties,
        labels.data(), thread_count(n_threads));
}

template <class C>
void squared_distances(Block block, In<C, 1> origin, double scale, In<C, 2> centers, Out<C, 2> out,
                       int n_threads) {
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    require(out.shape(0) == centers.shape(0) && out.shape(1) == block.shape(0),
            "out is n_centers x n_rows");
    const nb::gil_scoped_release unlocked;
    kernels_of<C>().squared_distances(rows, frame, packed, out.data(), thread_count(n_threads));
}

template <class C>
void lower_distances(Block block, In<C, 1> origin, double scale, In<C, 2> centers,
                     Out<C, 1> nearest, int n_threads) {
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto given = centers_of<C>(rows, centers);
    require(nearest.shape(0) == block.shape(0), "nearest has an entry for every row");
    const nb::gil_scoped_release unlocked;
    kernels_of<C>().lower_distances(rows, frame, given, nearest.data(), thread_count(n_threads));
}

template <class C>
void weigh_candidates(In<C, 3> tiles, In<C, 2> centers, In<C, 1> nearest, In<C, 1> shares,
                      Out<C, 2> after, Out<double, 1> sums, int n_threads) {
    require(tiles.shape(2) == Tiles<C>::n_rows, "tiles have 32 rows each");
    require(centers.shape(1) == tiles.shape(1), "centers have a value for every column");
    const std::size_t n_rows = tiles.shape(0) * tiles.shape(2);
    require(nearest.shape(0) == n_rows && shares.shape(0) == n_rows,
            "nearest and shares have an entry for every row");
    require(after.shape(0) == centers.shape(0) && after.shape(1) == n_rows,
            "after is n_centers x n_rows");
    require(sums.shape(0) == centers.shape(0), "sums have an entry for every center");
    const nb::gil_scoped_release unlocked;
    kernels_of<C>().weigh_candidates({tiles.data(), static_cast<std::int64_t>(tiles.shape(0)),
                                      static_cast<std::int64_t>(tiles.shape(1))},
                                     {centers.data(), static_cast<std::int64_t>(centers.shape(0))},
                                     nearest.data(), shares.data(), after.data(), sums.data(),
                                     thread_count(n_threads));
}

std::pair<std::int64_t, std::int64_t> scan_columns(Block block, Out<double, 1> minimum,
                                                   Out<double, 1> maximum, int n_threads) {
    const Rows rows = rows_of(block);
    require(minimum.shape(0) == block.shape(1) && maximum.shape(0) == block.shape(1),
            "minimum and maximum have a value for every column");
    const nb::gil_scoped_release unlocked;
    const Position bad =
        kernels().scan_columns(rows, minimum.data(), maximum.data(), thread_count(n_threads));
    return {bad.row, bad.column};
}

const double *weights_of(const Rows &rows, const std::optional<In<double, 1>> &weights) {
    require(!weights || static_cast<std::int64_t>(weights->shape(0)) == rows.n_rows,
            "weights have an entry for every row");
    return weights ? weights->data() : nullptr;
}

void own_distances(Block block, In<std::int32_t, 1> labels, In<double, 2> centers, double scale,
                   Out<double, 1> out, int n_threads) {
    const Rows rows = rows_of(block);
    const auto exact = centers_of<double>(rows, centers);
    require(out.shape(0) == block.shape(0), "out has an entry for every row");
    const nb::gil_scoped_release unlocked;
    require_labels(rows, labels.data(), labels.shape(0), exact.n_centers);
    kernels().own_distances(rows, labels.data(), exact, scale, out.data(), thread_count(n_threads));
}

void cluster_moments(Block block, In<std::int32_t, 1> labels,
                     std::optional<In<std::int32_t, 1>> before,
                     std::optional<In<double, 1>> weights, In<double, 2> centers,
                     In<double, 1> magic, double fine_ratio, Out<double, 3> offsets,
                     Out<double, 3> totals, int n_threads) {
    const Rows rows = rows_of(block);
    const auto reference = centers_of<double>(rows, centers);
    const double *row_weights = weights_of(rows, weights);
    require(magic.shape(0) == block.shape(1) + 2, "magic has n_columns + 2 values");
    require(offsets.shape(0) == 2 && offsets.shape(1) == centers.shape(0) &&
                offsets.shape(2) == block.shape(1),
            "offsets are 2 x n_centers x n_columns");
    require(totals.shape(0) == 2 && totals.shape(1) == centers.shape(0) && totals.shape(2) == 2,
            "totals are 2 x n_centers x 2");
    const nb::gil_scoped_release unlocked;
    require_labels(rows, labels.data(), labels.shape(0), reference.n_centers);
    if (before) require_labels(rows, before->data(), before->shape(0), reference.n_centers);
    kernels().cluster_moments(rows, labels.data(), before ? before->data() : nullptr, row_weights,
                              reference, {magic.data(), fine_ratio}, offsets.data(), totals.data(),
                              thread_count(n_threads));
}

template <class C>
std::int64_t move_points(Block block, std::optional<In<double, 1>> weights, In<C, 1> origin,
                         double scale, Out<std::int32_t, 1> labels, Out<double, 2> centers,
                         Out<double, 1> mass, int n_threads) {
    const Rows rows = rows_of(block);
    const double *row_weights = weights_of(rows, weights);
    const auto frame = frame_of<C>(rows, origin, scale);
    require(centers.shape(1) == block.shape(1), "centers have a value for every column");
    require(mass.shape(0) == centers.shape(0), "mass has a value for every center");
    const nb::gil_scoped_release unlocked;
    const auto n_centers = static_cast<std::int64_t>(centers.shape(0));
    require_labels(rows, labels.data(), labels.shape(0), n_centers);
    return kernels_of<C>().move_points(rows, row_weights, frame, labels.data(), centers.data(),
                                       mass.data(), n_centers, thread_count(n_threads));
}

// Candidates are read and written through one struct; only bindings know which it is.
template <class I, class Array> Candidates candidates_of(const Rows &rows, const Array &lists) {
    require(static_cast<std::int64_t>(lists.shape(0)) == rows.n_rows && lists.shape(1) > 0,
            "candidates are n_rows x n_candidates, at least one");
    return {const_cast<I *>(lists.data()), sizeof(I) == sizeof(std::int32_t),
            static_cast<std::int64_t>(lists.shape(1))};
}

template <class C, class I>
void candidate_centers(Block block, In<C, 1> origin, double scale, In<C, 2> centers,
                       In<std::int32_t, 1> labels, Out<I, 2> out, int n_threads) {
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    const Candidates lists = candidates_of<I>(rows, out);
    require(lists.n_candidates <= packed.n_centers, "there are at most n_centers candidates");
    require(lists.wide || packed.n_centers <= 65536, "uint16 holds at most 65536 centers");
    const nb::gil_scoped_release unlocked;
    require_labels(rows, labels.data(), labels.shape(0), packed.n_centers);
    kernels_of<C>().candidate_centers(rows, frame, packed, labels.data(), lists,
                                      thread_count(n_threads));
}

template <class C, class I>
void nearest_candidate(Block block, In<C, 1> origin, double scale, In<C, 2> centers,
                       In<I, 2> candidates, Out<std::int32_t, 1> labels, int n_threads) {
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    const Candidates lists = candidates_of<I>(rows, candidates);
    const nb::gil_scoped_release unlocked;
    require_labels(rows, labels.data(), labels.shape(0), packed.n_centers);
    for (std::size_t i = 0; i < candidates.size(); ++i)
        require(candidates.data()[i] >= 0 && candidates.data()[i] < packed.n_centers,
                "candidates name a center each");
    kernels_of<C>().nearest_candidate(rows, frame, packed, lists, labels.data(),
                                      thread_count(n_threads));
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

template <class C, class I> void bind_candidates(nb::module_ &m) {
    m.def("candidate_centers", candidate_centers<C, I>, "block"_a.noconvert(),
          "origin"_a.noconvert(), "scale"_a, "centers"_a.noconvert(), "labels"_a.noconvert(),
          "out"_a.noconvert(), "n_threads"_a);
    m.def("nearest_candidate", nearest_candidate<C, I>, "block"_a.noconvert(),
          "origin"_a.noconvert(), "scale"_a, "centers"_a.noconvert(), "candidates"_a.noconvert(),
          "labels"_a.noconvert(), "n_threads"_a);
}

template <class C> void bind_kernels_of(nb::module_ &m) {
    using K = KernelsOf<C>;
    bind_product<C, &K::sign_product>(m, "sign_product");
    bind_product<C, &K::sparse_sign_product, Extra::nonzeros>(m, "sparse_sign_product");
    bind_product<C, &K::hadamard_product, Extra::positions>(m, "hadamard_product");
    bind_product<C, &K::on_the_fly_product>(m, "on_the_fly_product");
    bind_product<C, &K::mailman_product>(m, "mailman_product");
    bind_sparse_products<C, std::int32_t>(m);
    bind_sparse_products<C, std::int64_t>(m);
    bind_candidates<C, std::uint16_t>(m);
    bind_candidates<C, std::int32_t>(m);
    m.def("nearest_center", nearest_center<C>, "block"_a.noconvert(), "origin"_a.noconvert(),
          "scale"_a, "centers"_a.noconvert(), "exact_centers"_a.noconvert(), "keep_ties"_a,
          "labels"_a.noconvert(), "nearest"_a.noconvert(), "second"_a.noconvert(), "n_threads"_a);
    m.def("bounded_assignment", bounded_assignment<C>, "block"_a.noconvert(),
          "origin"_a.noconvert(), "scale"_a, "centers"_a.noconvert(), "exact_centers"_a.noconvert(),
          "groups"_a.noconvert(), "drifts"_a.noconvert(), "group_drifts"_a.noconvert(), "quantum"_a,
          "keep_ties"_a, "labels"_a.noconvert(), "upper"_a.noconvert(), "lower"_a.noconvert(),
          "n_threads"_a);
    m.def("squared_distances", squared_distances<C>, "block"_a.noconvert(), "origin"_a.noconvert(),
          "scale"_a, "centers"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a);
    m.def("lower_distances", lower_distances<C>, "block"_a.noconvert(), "origin"_a.noconvert(),
          "scale"_a, "centers"_a.noconvert(), "nearest"_a.noconvert(), "n_threads"_a);
    m.def("weigh_candidates", weigh_candidates<C>, "tiles"_a.noconvert(), "centers"_a.noconvert(),
          "nearest"_a.noconvert(), "shares"_a.noconvert(), "after"_a.noconvert(),
          "sums"_a.noconvert(), "n_threads"_a);
    m.def("move_points", move_points<C>, "block"_a.noconvert(), "weights"_a.noconvert().none(),
          "origin"_a.noconvert(), "scale"_a, "labels"_a.noconvert(), "centers"_a.noconvert(),
          "mass"_a.noconvert(), "n_threads"_a);
}

}  // namespace

NB_MODULE(_native, m) {
    m.def("instruction_set", [] { return kernels().instruction_set; });
    m.def("max_threads", [] { return omp_get_max_threads(); });
    m.def("sign_rectangle", sign_rectangle, "key"_a, "row"_a, "column"_a, "out"_a.noconvert());
    m.def("word_rectangle", word_rectangle, "key"_a, "row"_a, "column"_a, "out"_a.noconvert());
    bind_kernels_of<float>(m);
    bind_kernels_of<double>(m);
    m.def("scan_columns", scan_columns, "block"_a.noconvert(), "minimum"_a.noconvert(),
          "maximum"_a.noconvert(), "n_threads"_a);
    m.def("own_distances", own_distances, "block"_a.noconvert(), "labels"_a.noconvert(),
          "centers"_a.noconvert(), "scale"_a, "out"_a.noconvert(), "n_threads"_a);
    m.def("cluster_moments", cluster_moments, "block"_a.noconvert(), "labels"_a.noconvert(),
          "before"_a.noconvert().none(), "weights"_a.noconvert().none(), "centers"_a.noconvert(),
          "magic"_a.noconvert(), "fine_ratio"_a, "offsets"_a.noconvert(), "totals"_a.noconvert(),
          "n_threads"_a);
}

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

template <class C>
void sign_product(Block block, std::uint64_t key, double scale, Out<C, 2> out, int n_threads) {
    const Rows rows = rows_of(block);
    require(out.shape(0) == block.shape(0), "out has a row for every row of the block");
    const nb::gil_scoped_release unlocked;
    if (out.size() == 0) return;
    kernels_of<C>().sign_product(rows, key, scale, out.data(),
                                 static_cast<std::int64_t>(out.shape(1)), thread_count(n_threads));
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

template <class C>
void nearest_center(Block block, In<C, 1> origin, double scale, In<C, 2> centers, bool keep_ties,
                    Out<std::int32_t, 1> labels, Out<C, 1> distances, int n_threads) {
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    require(labels.shape(0) == block.shape(0) && distances.shape(0) == block.shape(0),
            "labels and distances have an entry for every row");
    const nb::gil_scoped_release unlocked;
    kernels_of<C>().nearest_center(rows, frame, packed, labels.data(), keep_ties, distances.data(),
                                   thread_count(n_threads));
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

void require_labels(const Rows &rows, const std::int32_t *labels, std::size_t n_labels,
                    std::int64_t n_centers) {
    require(static_cast<std::int64_t>(n_labels) == rows.n_rows,
            "labels have an entry for every row");
    for (std::size_t i = 0; i < n_labels; ++i)
        require(labels[i] >= 0 && labels[i] < n_centers, "labels name a center each");
}

void cluster_moments(Block block, In<std::int32_t, 1> labels, std::optional<In<double, 1>> weights,
                     In<double, 2> centers, In<double, 1> magic, double fine_ratio,
                     Out<double, 3> offsets, Out<double, 3> totals, int n_threads) {
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
    kernels().cluster_moments(rows, labels.data(), row_weights, reference,
                              {magic.data(), fine_ratio}, offsets.data(), totals.data(),
                              thread_count(n_threads));
}

std::int64_t move_points(Block block, std::optional<In<double, 1>> weights,
                         Out<std::int32_t, 1> labels, Out<double, 2> centers, Out<double, 1> mass) {
    const Rows rows = rows_of(block);
    const double *row_weights = weights_of(rows, weights);
    require(centers.shape(1) == block.shape(1), "centers have a value for every column");
    require(mass.shape(0) == centers.shape(0), "mass has a value for every center");
    const nb::gil_scoped_release unlocked;
    const auto n_centers = static_cast<std::int64_t>(centers.shape(0));
    require_labels(rows, labels.data(), labels.shape(0), n_centers);
    return kernels().move_points(rows, row_weights, labels.data(), centers.data(), mass.data(),
                                 n_centers);
}

template <class C> void bind_kernels_of(nb::module_ &m) {
    m.def("sign_product", sign_product<C>, "block"_a.noconvert(), "key"_a, "scale"_a,
          "out"_a.noconvert(), "n_threads"_a);
    m.def("nearest_center", nearest_center<C>, "block"_a.noconvert(), "origin"_a.noconvert(),
          "scale"_a, "centers"_a.noconvert(), "keep_ties"_a, "labels"_a.noconvert(),
          "distances"_a.noconvert(), "n_threads"_a);
    m.def("squared_distances", squared_distances<C>, "block"_a.noconvert(), "origin"_a.noconvert(),
          "scale"_a, "centers"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a);
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
    m.def("cluster_moments", cluster_moments, "block"_a.noconvert(), "labels"_a.noconvert(),
          "weights"_a.noconvert().none(), "centers"_a.noconvert(), "magic"_a.noconvert(),
          "fine_ratio"_a, "offsets"_a.noconvert(), "totals"_a.noconvert(), "n_threads"_a);
    m.def("move_points", move_points, "block"_a.noconvert(), "weights"_a.noconvert().none(),
          "labels"_a.noconvert(), "centers"_a.noconvert(), "mass"_a.noconvert());
}

// The kernels of clustering as Python sees them.
// Checks shapes and types, releases the GIL, and calls one kernel; allocates nothing for Python.
#include <nanobind/stl/optional.h>

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace projected_kmeans {
namespace {

// The kernel for blocks of this kind.
template <class B, class Dense, class Sparse> auto choose(Dense dense, Sparse sparse) {
    if constexpr (std::is_same_v<B, Block>)
        return dense;
    else
        return sparse;
}

template <class C, class R> Frame<C> frame_of(const R &rows, const In<C, 1> &origin, double scale) {
    require(static_cast<std::int64_t>(origin.shape(0)) == rows.n_columns,
            "origin has a value for every column");
    return {origin.data(), static_cast<C>(scale)};
}

template <class C, class R> Centers<C> centers_of(const R &rows, const In<C, 2> &centers) {
    require(static_cast<std::int64_t>(centers.shape(1)) == rows.n_columns,
            "centers have a value for every column");
    return {centers.data(), static_cast<std::int64_t>(centers.shape(0))};
}

void require_labels(std::int64_t n_rows, const std::int32_t *labels, std::size_t n_labels,
                    std::int64_t n_centers) {
    require(static_cast<std::int64_t>(n_labels) == n_rows, "labels have an entry for every row");
    std::int32_t lowest = 0, highest = -1;
    for (std::size_t i = 0; i < n_labels; ++i) {
        lowest = labels[i] < lowest ? labels[i] : lowest;
        highest = labels[i] > highest ? labels[i] : highest;
    }
    require(lowest >= 0 && highest < n_centers, "labels name a center each");
}

template <class C, class B>
void nearest_center(B block, In<C, 1> origin, double scale, In<C, 2> centers,
                    In<double, 2> exact_centers, bool keep_ties, Out<std::int32_t, 1> labels,
                    Out<C, 1> nearest, Out<C, 1> second, int n_threads) {
    const nb::gil_scoped_release unlocked;
    const auto rows = rows_of(block, n_threads);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    const auto exact = centers_of<double>(rows, exact_centers);
    require(exact.n_centers == packed.n_centers, "exact_centers are the same centers");
    const auto n_rows = static_cast<std::size_t>(rows.n_rows);
    require(labels.shape(0) == n_rows && nearest.shape(0) == n_rows && second.shape(0) == n_rows,
            "labels and distances have an entry for every row");
    const KernelsOf<C> &k = kernels_of<C>();
    choose<B>(k.nearest_center, k.nearest_center_sparse)(rows, frame, packed, exact, keep_ties,
                                                         labels.data(), nearest.data(),
                                                         second.data(), thread_count(n_threads));
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
    require_labels(rows.n_rows, labels.data(), labels.shape(0), packed.n_centers);
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

template <class C, class B>
void squared_distances(B block, In<C, 1> origin, double scale, In<C, 2> centers, Out<C, 2> out,
                       int n_threads) {
    const nb::gil_scoped_release unlocked;
    const auto rows = rows_of(block, n_threads);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    require(out.shape(0) == centers.shape(0) &&
                static_cast<std::int64_t>(out.shape(1)) == rows.n_rows,
            "out is n_centers x n_rows");
    const KernelsOf<C> &k = kernels_of<C>();
    choose<B>(k.squared_distances, k.squared_distances_sparse)(rows, frame, packed, out.data(),
                                                               thread_count(n_threads));
}

template <class C>
void direction_product(Block block, In<C, 1> origin, double scale, In<C, 2> directions,
                       Out<C, 2> out, int n_threads) {
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto given = centers_of<C>(rows, directions);
    require(out.shape(0) == block.shape(0) && out.shape(1) == directions.shape(0),
            "out is n_rows x n_directions");
    const nb::gil_scoped_release unlocked;
    kernels_of<C>().direction_product(rows, frame, given, out.data(), thread_count(n_threads));
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

template <class C, class B>
std::pair<std::int64_t, std::int64_t> scan_columns(B block, Out<double, 1> minimum,
                                                   Out<double, 1> maximum, Out<double, 1> norm,
                                                   int n_threads) {
    const nb::gil_scoped_release unlocked;
    const auto rows = rows_of(block, n_threads);
    const auto width = static_cast<std::size_t>(rows.n_columns);
    require(minimum.shape(0) == width && maximum.shape(0) == width,
            "minimum and maximum have a value for every column");
    require(norm.shape(0) == 1, "norm has one value");
    const Position bad = choose<B>(kernels().scan_columns, kernels_of<C>().scan_columns_sparse)(
        rows, minimum.data(), maximum.data(), norm.data(), thread_count(n_threads));
    return {bad.row, bad.column};
}

const double *weights_of(std::int64_t n_rows, const std::optional<In<double, 1>> &weights) {
    require(!weights || static_cast<std::int64_t>(weights->shape(0)) == n_rows,
            "weights have an entry for every row");
    return weights ? weights->data() : nullptr;
}

template <class C, class B>
void own_distances(B block, In<std::int32_t, 1> labels, In<double, 2> centers, double scale,
                   Out<double, 1> out, int n_threads) {
    const nb::gil_scoped_release unlocked;
    const auto rows = rows_of(block, n_threads);
    const auto exact = centers_of<double>(rows, centers);
    require(static_cast<std::int64_t>(out.shape(0)) == rows.n_rows,
            "out has an entry for every row");
    require_labels(rows.n_rows, labels.data(), labels.shape(0), exact.n_centers);
    choose<B>(kernels().own_distances, kernels_of<C>().own_distances_sparse)(
        rows, labels.data(), exact, scale, out.data(), thread_count(n_threads));
}

template <class C, class B>
void cluster_moments(B block, In<std::int32_t, 1> labels, std::optional<In<std::int32_t, 1>> before,
                     std::optional<In<double, 1>> weights, In<double, 2> centers,
                     In<double, 1> magic, double fine_ratio, double squares_ratio,
                     Out<double, 3> offsets, Out<double, 3> totals, int n_threads) {
    const nb::gil_scoped_release unlocked;
    const auto rows = rows_of(block, n_threads);
    const auto width = static_cast<std::size_t>(rows.n_columns);
    const auto reference = centers_of<double>(rows, centers);
    const double *row_weights = weights_of(rows.n_rows, weights);
    require(magic.shape(0) == width + 2, "magic has n_columns + 2 values");
    require(offsets.shape(0) == 2 && offsets.shape(1) == centers.shape(0) &&
                offsets.shape(2) == width,
            "offsets are 2 x n_centers x n_columns");
    require(totals.shape(0) == 2 && totals.shape(1) == centers.shape(0) && totals.shape(2) == 2,
            "totals are 2 x n_centers x 2");
    require_labels(rows.n_rows, labels.data(), labels.shape(0), reference.n_centers);
    if (before) require_labels(rows.n_rows, before->data(), before->shape(0), reference.n_centers);
    choose<B>(kernels().cluster_moments, kernels_of<C>().cluster_moments_sparse)(
        rows, labels.data(), before ? before->data() : nullptr, row_weights, reference,
        {magic.data(), fine_ratio, squares_ratio}, offsets.data(), totals.data(),
        thread_count(n_threads));
}

template <class C>
std::int64_t move_points(Block block, std::optional<In<double, 1>> weights, In<C, 1> origin,
                         double scale, Out<std::int32_t, 1> labels, Out<double, 2> centers,
                         Out<double, 1> mass, int n_threads) {
    const Rows rows = rows_of(block);
    const double *row_weights = weights_of(rows.n_rows, weights);
    const auto frame = frame_of<C>(rows, origin, scale);
    require(centers.shape(1) == block.shape(1), "centers have a value for every column");
    require(mass.shape(0) == centers.shape(0), "mass has a value for every center");
    const nb::gil_scoped_release unlocked;
    const auto n_centers = static_cast<std::int64_t>(centers.shape(0));
    require_labels(rows.n_rows, labels.data(), labels.shape(0), n_centers);
    return kernels_of<C>().move_points(rows, row_weights, frame, labels.data(), centers.data(),
                                       mass.data(), n_centers, thread_count(n_threads));
}

// Candidates are read and written through one struct; only bindings know which it is.
template <class I, class Array> Candidates candidates_of(std::int64_t n_rows, const Array &lists) {
    require(static_cast<std::int64_t>(lists.shape(0)) == n_rows && lists.shape(1) > 0,
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
    const Candidates lists = candidates_of<I>(rows.n_rows, out);
    require(lists.n_candidates <= packed.n_centers, "there are at most n_centers candidates");
    require(lists.wide || packed.n_centers <= 65536, "uint16 holds at most 65536 centers");
    const nb::gil_scoped_release unlocked;
    require_labels(rows.n_rows, labels.data(), labels.shape(0), packed.n_centers);
    kernels_of<C>().candidate_centers(rows, frame, packed, labels.data(), lists,
                                      thread_count(n_threads));
}

template <class C, class I, class B>
void nearest_candidate(B block, In<C, 1> origin, double scale, In<C, 2> centers,
                       In<double, 2> exact_centers, In<I, 2> candidates,
                       Out<std::int32_t, 1> labels, int n_threads) {
    const nb::gil_scoped_release unlocked;
    const auto rows = rows_of(block, n_threads);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    const auto exact = centers_of<double>(rows, exact_centers);
    require(exact.n_centers == packed.n_centers, "exact_centers are the same centers");
    const Candidates lists = candidates_of<I>(rows.n_rows, candidates);
    require_labels(rows.n_rows, labels.data(), labels.shape(0), packed.n_centers);
    for (std::size_t i = 0; i < candidates.size(); ++i)
        require(candidates.data()[i] >= 0 && candidates.data()[i] < packed.n_centers,
                "candidates name a center each");
    const KernelsOf<C> &k = kernels_of<C>();
    choose<B>(k.nearest_candidate, k.nearest_candidate_sparse)(
        rows, frame, packed, exact, lists, labels.data(), thread_count(n_threads));
}

template <class C, class I>
void table_product(CsrBlock<C, I> block, In<C, 2> table, Out<C, 2> out, int n_threads) {
    const nb::gil_scoped_release unlocked;
    const auto rows = rows_of(block, n_threads);
    require(static_cast<std::int64_t>(table.shape(0)) == rows.n_columns,
            "table has a row for every column");
    require(static_cast<std::int64_t>(out.shape(0)) == rows.n_rows &&
                out.shape(1) == table.shape(1),
            "out is n_rows x the width of table");
    kernels_of<C>().table_product(rows, table.data(), static_cast<std::int64_t>(table.shape(1)),
                                  out.data(), thread_count(n_threads));
}

template <class C, class I>
void transposed_product(CsrBlock<C, I> block, In<double, 2> table, Out<double, 2> out,
                        int n_threads) {
    const nb::gil_scoped_release unlocked;
    const auto rows = rows_of(block, n_threads);
    require(static_cast<std::int64_t>(table.shape(0)) == rows.n_rows,
            "table has a row for every row");
    require(static_cast<std::int64_t>(out.shape(0)) == rows.n_columns &&
                out.shape(1) == table.shape(1),
            "out is n_columns x the width of table");
    kernels_of<C>().transposed_product(rows, table.data(),
                                       static_cast<std::int64_t>(table.shape(1)), out.data(),
                                       thread_count(n_threads));
}

// The kernels that take blocks of one kind, of numbers that are computed in type C.
template <class C, class B> void bind_rows(nb::module_ &m) {
    m.def("nearest_candidate", nearest_candidate<C, std::uint16_t, B>, "block"_a.noconvert(),
          "origin"_a.noconvert(), "scale"_a, "centers"_a.noconvert(), "exact_centers"_a.noconvert(),
          "candidates"_a.noconvert(), "labels"_a.noconvert(), "n_threads"_a);
    m.def("nearest_candidate", nearest_candidate<C, std::int32_t, B>, "block"_a.noconvert(),
          "origin"_a.noconvert(), "scale"_a, "centers"_a.noconvert(), "exact_centers"_a.noconvert(),
          "candidates"_a.noconvert(), "labels"_a.noconvert(), "n_threads"_a);
    m.def("nearest_center", nearest_center<C, B>, "block"_a.noconvert(), "origin"_a.noconvert(),
          "scale"_a, "centers"_a.noconvert(), "exact_centers"_a.noconvert(), "keep_ties"_a,
          "labels"_a.noconvert(), "nearest"_a.noconvert(), "second"_a.noconvert(), "n_threads"_a);
    m.def("squared_distances", squared_distances<C, B>, "block"_a.noconvert(),
          "origin"_a.noconvert(), "scale"_a, "centers"_a.noconvert(), "out"_a.noconvert(),
          "n_threads"_a);
}

// The kernels that compute in double precision whatever a block holds.
template <class C, class B> void bind_exact(nb::module_ &m) {
    m.def("scan_columns", scan_columns<C, B>, "block"_a.noconvert(), "minimum"_a.noconvert(),
          "maximum"_a.noconvert(), "norm"_a.noconvert(), "n_threads"_a);
    m.def("own_distances", own_distances<C, B>, "block"_a.noconvert(), "labels"_a.noconvert(),
          "centers"_a.noconvert(), "scale"_a, "out"_a.noconvert(), "n_threads"_a);
    m.def("cluster_moments", cluster_moments<C, B>, "block"_a.noconvert(), "labels"_a.noconvert(),
          "before"_a.noconvert().none(), "weights"_a.noconvert().none(), "centers"_a.noconvert(),
          "magic"_a.noconvert(), "fine_ratio"_a, "squares_ratio"_a, "offsets"_a.noconvert(),
          "totals"_a.noconvert(), "n_threads"_a);
}

template <class C, class I> void bind_sparse(nb::module_ &m) {
    bind_rows<C, CsrBlock<C, I>>(m);
    bind_exact<C, CsrBlock<C, I>>(m);
    m.def("table_product", table_product<C, I>, "block"_a.noconvert(), "table"_a.noconvert(),
          "out"_a.noconvert(), "n_threads"_a);
    m.def("transposed_product", transposed_product<C, I>, "block"_a.noconvert(),
          "table"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a);
}

template <class C, class I> void bind_candidates(nb::module_ &m) {
    m.def("candidate_centers", candidate_centers<C, I>, "block"_a.noconvert(),
          "origin"_a.noconvert(), "scale"_a, "centers"_a.noconvert(), "labels"_a.noconvert(),
          "out"_a.noconvert(), "n_threads"_a);
}

template <class C> void bind_clustering_of(nb::module_ &m) {
    bind_rows<C, Block>(m);
    bind_sparse<C, std::int32_t>(m);
    bind_sparse<C, std::int64_t>(m);
    bind_candidates<C, std::uint16_t>(m);
    bind_candidates<C, std::int32_t>(m);
    m.def("bounded_assignment", bounded_assignment<C>, "block"_a.noconvert(),
          "origin"_a.noconvert(), "scale"_a, "centers"_a.noconvert(), "exact_centers"_a.noconvert(),
          "groups"_a.noconvert(), "drifts"_a.noconvert(), "group_drifts"_a.noconvert(), "quantum"_a,
          "keep_ties"_a, "labels"_a.noconvert(), "upper"_a.noconvert(), "lower"_a.noconvert(),
          "n_threads"_a);
    m.def("direction_product", direction_product<C>, "block"_a.noconvert(), "origin"_a.noconvert(),
          "scale"_a, "directions"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a);
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

void bind_clustering(nb::module_ &m) {
    bind_exact<float, Block>(m);  // dense blocks of any type
    bind_clustering_of<float>(m);
    bind_clustering_of<double>(m);
}

}  // namespace projected_kmeans

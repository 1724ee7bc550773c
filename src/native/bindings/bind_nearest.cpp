// Nearest centers and distances, as Python sees them.
// Each function checks its arguments, releases the GIL and calls one kernel.
#include <vector>

#include "bindings/arguments.hpp"
#include "bindings/compiled_kernels.hpp"

namespace projected_kmeans {
namespace {

template <class C, class B>
void nearest_center(B block, In<C, 1> origin, double scale, In<C, 2> centers,
                    In<double, 2> exact_centers, bool keep_ties, Out<std::int32_t, 1> labels,
                    Out<C, 1> nearest, Out<C, 1> second, int n_threads) {
    const nb::gil_scoped_release unlocked;
    ArrayMemory().reads(block, origin, centers, exact_centers).writes(labels, nearest, second);
    const auto rows = rows_of(block, n_threads);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    const auto exact = centers_of<double>(rows, exact_centers);
    // The kernel for sparse rows moves the exact centers into the frame itself.
    require(exact.n_centers == packed.n_centers ||
                (!std::is_same_v<B, Block> && packed.n_centers == 0),
            "exact_centers are the same centers");
    require(rows.n_columns > 0 && exact.n_centers > 0, "there is at least one column and center");
    const auto n_rows = static_cast<std::size_t>(rows.n_rows);
    require(labels.shape(0) == n_rows && nearest.shape(0) == n_rows && second.shape(0) == n_rows,
            "labels and distances have an entry for every row");
    // The present label stays if no distance is a number, so it has to name a center.
    if (keep_ties) require_labels(rows.n_rows, labels.data(), labels.shape(0), exact.n_centers);
    KernelFor<B, PK_KERNEL(nearest_center<C>), PK_KERNEL(nearest_center_sparse<C>)>::chosen()(
        rows, frame, packed, exact, keep_ties, labels.data(), nearest.data(), second.data(),
        thread_count(n_threads, work_of(rows, exact.n_centers)));
}

template <class C>
std::int64_t bounded_assignment(Block block, In<C, 1> origin, double scale, In<C, 2> centers,
                                In<double, 2> exact_centers, In<std::int32_t, 2> groups,
                                In<std::uint16_t, 1> drifts, In<std::uint16_t, 1> group_drifts,
                                double quantum, bool keep_ties, Out<std::int32_t, 1> labels,
                                Out<std::uint16_t, 1> upper, Out<std::uint16_t, 2> lower,
                                int n_threads) {
    ArrayMemory()
        .reads(block, origin, centers, exact_centers, groups, drifts, group_drifts)
        .writes(labels, upper, lower);
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    const auto exact = centers_of<double>(rows, exact_centers);
    require(exact.n_centers == packed.n_centers, "exact_centers are the same centers");
    require(rows.n_columns > 0 && packed.n_centers > 0, "there is at least one column and center");
    require(quantum >= 0, "quantum is not negative");
    require(groups.size() <= max_centers, "groups have at most 2^30 places");
    require(groups.shape(0) <= bounds_per_row && group_drifts.shape(0) == bounds_per_row,
            "there are at most 16 groups, and 16 drifts of groups");
    require(static_cast<std::int64_t>(drifts.shape(0)) == packed.n_centers,
            "drifts have a value for every center");
    require(upper.shape(0) == block.shape(0) && lower.shape(0) == block.shape(0) &&
                lower.shape(1) == bounds_per_row,
            "upper has a bound for every row, lower 16");
    const nb::gil_scoped_release unlocked;
    require_labels(rows.n_rows, labels.data(), labels.shape(0), packed.n_centers);
    std::vector<int> n_groups_of(static_cast<std::size_t>(packed.n_centers));
    for (std::size_t i = 0; i < groups.size(); ++i) {
        require(groups.data()[i] < packed.n_centers, "groups name centers");
        if (groups.data()[i] >= 0) ++n_groups_of[static_cast<std::size_t>(groups.data()[i])];
    }
    for (const int count : n_groups_of) require(count == 1, "every center is in one group");
    return PK_KERNEL(bounded_assignment<C>)::chosen()(
        rows, frame, packed, exact,
        {groups.data(), static_cast<std::int64_t>(groups.shape(0)),
         static_cast<std::int64_t>(groups.shape(1))},
        {upper.data(), lower.data(), drifts.data(), group_drifts.data(), quantum}, keep_ties,
        labels.data(), thread_count(n_threads, work_of(rows, packed.n_centers)));
}

template <class C, class B>
void squared_distances(B block, In<C, 1> origin, double scale, In<C, 2> centers, Out<C, 2> out,
                       int n_threads) {
    const nb::gil_scoped_release unlocked;
    ArrayMemory().reads(block, origin, centers).writes(out);
    const auto rows = rows_of(block, n_threads);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    require(out.shape(0) == centers.shape(0) &&
                static_cast<std::int64_t>(out.shape(1)) == rows.n_rows,
            "out is n_centers x n_rows");
    KernelFor<B, PK_KERNEL(squared_distances<C>), PK_KERNEL(squared_distances_sparse<C>)>::chosen()(
        rows, frame, packed, out.data(), thread_count(n_threads, work_of(rows, packed.n_centers)));
}

template <class C, class B>
void own_distances(B block, In<std::int32_t, 1> labels, In<double, 2> centers, double scale,
                   Out<double, 1> out, int n_threads) {
    const nb::gil_scoped_release unlocked;
    ArrayMemory().reads(block, labels, centers).writes(out);
    const auto rows = rows_of(block, n_threads);
    const auto exact = centers_of<double>(rows, centers);
    require(static_cast<std::int64_t>(out.shape(0)) == rows.n_rows,
            "out has an entry for every row");
    require_labels(rows.n_rows, labels.data(), labels.shape(0), exact.n_centers);
    KernelFor<B, PK_KERNEL(own_distances), PK_KERNEL(own_distances_sparse<C>)>::chosen()(
        rows, labels.data(), exact, scale, out.data(),
        thread_count(n_threads, work_of(rows, work_per_entry)));
}

template <class I, class Array> Candidates candidates_of(std::int64_t n_rows, const Array &lists) {
    require(static_cast<std::int64_t>(lists.shape(0)) == n_rows && lists.shape(1) > 0,
            "candidates are n_rows x n_candidates, at least one");
    return {const_cast<I *>(lists.data()), sizeof(I) == sizeof(std::int32_t),
            static_cast<std::int64_t>(lists.shape(1))};
}

template <class C, class I, class B>
void nearest_candidate(B block, In<C, 1> origin, double scale, In<C, 2> centers,
                       In<double, 2> exact_centers, In<I, 2> candidates,
                       Out<std::int32_t, 1> labels, int n_threads) {
    const nb::gil_scoped_release unlocked;
    ArrayMemory().reads(block, origin, centers, exact_centers, candidates).writes(labels);
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
    PK_KERNEL(nearest_candidate_sparse<C>)::chosen()(
        rows, frame, packed, exact, lists, labels.data(),
        thread_count(n_threads, work_of(rows, lists.n_candidates)));
}

// For blocks of one kind (dense, or sparse with one type of index) that are computed in type C.
template <class C, class B> void bind_rows(nb::module_ &m) {
    m.def("nearest_center", nearest_center<C, B>, array("block"), array("origin"), "scale"_a,
          array("centers"), array("exact_centers"), "keep_ties"_a, array("labels"),
          array("nearest"), array("second"), "n_threads"_a);
    m.def("squared_distances", squared_distances<C, B>, array("block"), array("origin"), "scale"_a,
          array("centers"), array("out"), "n_threads"_a);
}

// Computes in double precision whatever the block holds.
template <class C, class B> void bind_exact(nb::module_ &m) {
    m.def("own_distances", own_distances<C, B>, array("block"), array("labels"), array("centers"),
          "scale"_a, array("out"), "n_threads"_a);
}

template <class C, class B> void bind_candidates(nb::module_ &m) {
    m.def("nearest_candidate", nearest_candidate<C, std::uint16_t, B>, array("block"),
          array("origin"), "scale"_a, array("centers"), array("exact_centers"), array("candidates"),
          array("labels"), "n_threads"_a);
    m.def("nearest_candidate", nearest_candidate<C, std::int32_t, B>, array("block"),
          array("origin"), "scale"_a, array("centers"), array("exact_centers"), array("candidates"),
          array("labels"), "n_threads"_a);
}

template <class C> void bind_nearest_of(nb::module_ &m) {
    bind_rows<C, Block>(m);
    bind_rows<C, CsrBlock<C, std::int32_t>>(m);
    bind_rows<C, CsrBlock<C, std::int64_t>>(m);
    bind_exact<C, CsrBlock<C, std::int32_t>>(m);
    bind_exact<C, CsrBlock<C, std::int64_t>>(m);
    bind_candidates<C, CsrBlock<C, std::int32_t>>(m);
    bind_candidates<C, CsrBlock<C, std::int64_t>>(m);
    m.def("bounded_assignment", bounded_assignment<C>, array("block"), array("origin"), "scale"_a,
          array("centers"), array("exact_centers"), array("groups"), array("drifts"),
          array("group_drifts"), "quantum"_a, "keep_ties"_a, array("labels"), array("upper"),
          array("lower"), "n_threads"_a);
}

}  // namespace

void bind_nearest(nb::module_ &m) {
    bind_exact<float, Block>(m);  // dense blocks of any element type
    bind_nearest_of<float>(m);
    bind_nearest_of<double>(m);
}

}  // namespace projected_kmeans

// Lists of centers that rows share, the seeding by cells and the search on few rows, as Python sees
// them.
// Each function checks its arguments, releases the GIL and calls one kernel.
#include <nanobind/stl/optional.h>

#include <optional>
#include <vector>

#include "bindings/arguments.hpp"
#include "bindings/compiled_kernels.hpp"

namespace projected_kmeans {
namespace {

// Where the parts of a longer array begin: from 0 to its length, never descending.
void require_starts(const In<std::int64_t, 1> &starts, std::size_t length) {
    require(starts.shape(0) >= 2 && starts.data()[0] == 0, "starts begin with 0, and have an end");
    for (std::size_t i = 1; i < starts.shape(0); ++i)
        require(starts.data()[i - 1] <= starts.data()[i], "starts are ascending");
    require(starts.data()[starts.shape(0) - 1] == static_cast<std::int64_t>(length),
            "the last of starts is the number of members");
}

CenterLists lists_of(const In<std::int64_t, 1> &starts, const In<std::int32_t, 1> &members,
                     std::int64_t n_centers, std::int64_t least) {
    require_starts(starts, members.shape(0));
    std::vector<std::size_t> last_list(static_cast<std::size_t>(n_centers));  // counted from 1
    for (std::size_t list = 1; list < starts.shape(0); ++list) {
        const std::int64_t begin = starts.data()[list - 1], end = starts.data()[list];
        require(end - begin >= least, "a list is too short");
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int32_t name = members.data()[i];
            require(name >= 0 && name < n_centers, "members name a center each");
            require(last_list[static_cast<std::size_t>(name)] != list,
                    "the centers that a list names are different");
            last_list[static_cast<std::size_t>(name)] = list;
        }
    }
    return {starts.data(), members.data(), static_cast<std::int64_t>(starts.shape(0)) - 1};
}

void require_groups(const In<std::int32_t, 1> &groups, std::int64_t n_rows, std::int64_t n_groups,
                    std::int32_t lowest = 0) {
    require(static_cast<std::int64_t>(groups.shape(0)) == n_rows,
            "groups have an entry for every row");
    for (std::size_t i = 0; i < groups.shape(0); ++i)
        require(groups.data()[i] >= lowest && groups.data()[i] < n_groups,
                "groups name a list each");
}

// How many centers a list has on average, rounded up.
std::int64_t mean_size(const CenterLists &lists) {
    return lists.starts[lists.n_groups] / lists.n_groups + 1;
}

template <class C>
void nearest_listed(Block block, In<C, 1> origin, double scale, In<C, 2> centers,
                    In<double, 2> exact_centers, std::optional<In<std::int32_t, 1>> groups,
                    In<std::int64_t, 1> starts, In<std::int32_t, 1> members,
                    Out<std::int32_t, 1> labels, Out<C, 1> nearest, Out<C, 1> second,
                    int n_threads) {
    ArrayMemory()
        .reads(block, origin, centers, exact_centers, groups, starts, members)
        .writes(labels, nearest, second);
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    const auto exact = centers_of<double>(rows, exact_centers);
    require(exact.n_centers == packed.n_centers, "exact_centers are the same centers");
    require(rows.n_columns > 0, "there is at least one column");
    require(nearest.shape(0) == labels.shape(0) && second.shape(0) == labels.shape(0),
            "distances have an entry for every row");
    const nb::gil_scoped_release unlocked;
    const CenterLists lists = lists_of(starts, members, packed.n_centers, 1);
    require_labels(rows.n_rows, labels.data(), labels.shape(0), packed.n_centers, groups ? -1 : 0);
    if (groups)
        require_groups(*groups, rows.n_rows, lists.n_groups, -1);
    else
        require(lists.n_groups == packed.n_centers, "without groups, every center has a list");
    PK_KERNEL(nearest_listed<C>)::chosen()(
        rows, frame, packed, exact, groups ? groups->data() : nullptr, lists, labels.data(),
        nearest.data(), second.data(), thread_count(n_threads, work_of(rows, mean_size(lists))));
}

// The sketch of rows and centers; every center is in one list.
template <class C>
Sketch<C> sketch_of(const Rows &rows, const CenterLists &lists, std::int64_t n_centers,
                    const In<C, 2> &sketch, const In<C, 1> &errors, const In<C, 2> &centers,
                    const In<C, 2> &middles, const In<C, 1> &radii) {
    const auto same = [](std::size_t size, std::int64_t wanted) {
        return static_cast<std::int64_t>(size) == wanted;
    };
    require(same(sketch.shape(0), rows.n_rows) && same(errors.shape(0), rows.n_rows),
            "sketch and errors have an entry for every row");
    require(same(centers.shape(0), n_centers), "sketched_centers are the same centers");
    require(same(middles.shape(0), lists.n_groups) && same(radii.shape(0), lists.n_groups),
            "middles and radii have an entry for every list");
    require(sketch.shape(1) > 0 && sketch.shape(1) == centers.shape(1) &&
                sketch.shape(1) == middles.shape(1),
            "sketch, sketched_centers and middles have the same columns, at least one");
    std::vector<char> seen(static_cast<std::size_t>(n_centers));
    for (std::int64_t i = 0; i < lists.starts[lists.n_groups]; ++i) {
        char &listed = seen[static_cast<std::size_t>(lists.members[i])];
        require(!listed, "no center is in two lists");
        listed = 1;
    }
    require(lists.starts[lists.n_groups] == n_centers, "every center is in a list");
    return {sketch.data(),  errors.data(), centers.data(),
            middles.data(), radii.data(),  static_cast<std::int64_t>(sketch.shape(1))};
}

template <class C>
void nearest_by_sketch(Block block, In<C, 1> origin, double scale, In<C, 2> centers,
                       In<double, 2> exact_centers, In<C, 2> sketch, In<C, 1> errors,
                       In<C, 2> sketched_centers, In<C, 2> middles, In<C, 1> radii,
                       In<std::int32_t, 1> groups, In<std::int64_t, 1> starts,
                       In<std::int32_t, 1> members, std::int64_t most, Out<std::int32_t, 1> labels,
                       Out<std::int32_t, 1> counts, int n_threads) {
    ArrayMemory()
        .reads(block, origin, centers, exact_centers, sketch, errors, sketched_centers, middles,
               radii, groups, starts, members)
        .writes(labels, counts);
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto packed = centers_of<C>(rows, centers);
    const auto exact = centers_of<double>(rows, exact_centers);
    require(exact.n_centers == packed.n_centers, "exact_centers are the same centers");
    require(rows.n_columns > 0, "there is at least one column");
    require(most > 0 && most <= packed.n_centers, "most is between 1 and the number of centers");
    require(labels.shape(0) == counts.shape(0) &&
                static_cast<std::int64_t>(labels.shape(0)) == rows.n_rows,
            "labels and counts have an entry for every row");
    const nb::gil_scoped_release unlocked;
    const CenterLists lists = lists_of(starts, members, packed.n_centers, 1);
    const Sketch<C> known = sketch_of<C>(rows, lists, packed.n_centers, sketch, errors,
                                         sketched_centers, middles, radii);
    for (std::size_t i = 0; i < labels.shape(0); ++i)
        require(labels.data()[i] >= -1 && labels.data()[i] < packed.n_centers,
                "labels name a center each, or are -1");
    require_groups(groups, rows.n_rows, lists.n_groups);
    PK_KERNEL(nearest_by_sketch<C>)::chosen()(rows, frame, packed, exact, known, groups.data(),
                                              lists, most, labels.data(), counts.data(),
                                              thread_count(n_threads));
}

template <class C>
void center_neighbours(In<C, 2> centers, In<std::int32_t, 1> groups, In<std::int64_t, 1> starts,
                       In<std::int32_t, 1> members, Out<std::int32_t, 2> out, int n_threads) {
    ArrayMemory().reads(centers, groups, starts, members).writes(out);
    require(centers.shape(0) <= max_centers && centers.shape(1) > 0,
            "there are at most 2^30 centers, with at least one column");
    require(out.shape(0) == centers.shape(0) && out.shape(1) > 0,
            "out has at least one entry for every center");
    const nb::gil_scoped_release unlocked;
    const auto n_centers = static_cast<std::int64_t>(centers.shape(0));
    const auto n_neighbours = static_cast<std::int64_t>(out.shape(1));
    const CenterLists lists = lists_of(starts, members, n_centers, n_neighbours);
    require_groups(groups, n_centers, lists.n_groups);
    PK_KERNEL(center_neighbours<C>)::chosen()(
        {centers.data(), n_centers}, static_cast<std::int64_t>(centers.shape(1)), groups.data(),
        lists, n_neighbours, out.data(),
        thread_count(n_threads, static_cast<double>(n_centers) *
                                    static_cast<double>(centers.shape(1)) *
                                    static_cast<double>(mean_size(lists))));
}

template <class C>
std::int64_t race_centers(In<C, 2> rows, std::optional<In<double, 1>> weights, double scale,
                          In<std::int64_t, 1> starts, In<std::int64_t, 1> order,
                          In<std::uint64_t, 1> seeds, std::int64_t n_centers,
                          Out<std::int64_t, 1> counts, Out<std::int64_t, 1> chosen,
                          Out<double, 1> times, int n_threads) {
    ArrayMemory().reads(rows, weights, starts, order, seeds).writes(counts, chosen, times);
    const auto n_rows = static_cast<std::int64_t>(rows.shape(0));
    const auto n_columns = static_cast<std::int64_t>(rows.shape(1));
    require(!weights || weights->shape(0) == rows.shape(0), "weights have an entry for every row");
    require(order.shape(0) == chosen.shape(0) && order.shape(0) == times.shape(0),
            "chosen and times are as long as order");
    require(seeds.shape(0) + 1 == starts.shape(0) && counts.shape(0) + 1 == starts.shape(0),
            "seeds and counts have a value for every cell");
    const nb::gil_scoped_release unlocked;
    require_starts(starts, order.shape(0));
    std::vector<char> seen(rows.shape(0));
    for (std::size_t i = 0; i < order.shape(0); ++i) {
        require(order.data()[i] >= 0 && order.data()[i] < n_rows,
                "entries of order name a row each");
        require(!seen[static_cast<std::size_t>(order.data()[i])], "entries of order are different");
        seen[static_cast<std::size_t>(order.data()[i])] = 1;
    }
    const Element element = sizeof(C) == sizeof(float) ? Element::float32 : Element::float64;
    return PK_KERNEL(race_centers<C>)::chosen()(
        {rows.data(), element, n_rows, n_columns, n_columns}, weights ? weights->data() : nullptr,
        scale, {starts.data(), order.data(), static_cast<std::int64_t>(starts.shape(0)) - 1},
        seeds.data(), n_centers, counts.data(), chosen.data(), times.data(),
        thread_count(n_threads));
}

template <class C>
void halve_clusters(In<C, 2> rows, std::optional<In<double, 1>> weights, double scale,
                    In<std::int32_t, 1> labels, In<double, 2> means, std::uint64_t seed,
                    std::int64_t n_passes, Out<std::int32_t, 1> halves, Out<double, 2> centers,
                    Out<double, 1> gains, int n_threads) {
    ArrayMemory().reads(rows, weights, labels, means).writes(halves, centers, gains);
    const auto n_rows = static_cast<std::int64_t>(rows.shape(0));
    const auto n_columns = static_cast<std::int64_t>(rows.shape(1));
    const auto n_clusters = static_cast<std::int64_t>(means.shape(0));
    require(!weights || weights->shape(0) == rows.shape(0), "weights have an entry for every row");
    require(labels.shape(0) == rows.shape(0) && halves.shape(0) == rows.shape(0),
            "labels and halves have an entry for every row");
    require(n_columns > 0 && means.shape(1) == rows.shape(1) && centers.shape(1) == rows.shape(1),
            "means and centers have a value for every column");
    require(n_clusters <= max_centers / 2 && centers.shape(0) == 2 * means.shape(0) &&
                gains.shape(0) == means.shape(0),
            "there are two centers and a gain for every cluster");
    require(n_passes >= 1, "there is at least one pass");
    const nb::gil_scoped_release unlocked;
    require_groups(labels, n_rows, n_clusters);
    const Element element = sizeof(C) == sizeof(float) ? Element::float32 : Element::float64;
    const Rows all{rows.data(), element, n_rows, n_columns, n_columns};
    // A pass measures two distances of a row and adds it up.
    const double work = work_of(all, 3 * n_passes);
    PK_KERNEL(halve_clusters<C>)::chosen()(
        all, weights ? weights->data() : nullptr, scale, labels.data(), {means.data(), n_clusters},
        seed, n_passes, halves.data(), centers.data(), gains.data(), thread_count(n_threads, work));
}

double search_few_rows(In<double, 2> rows, std::optional<In<double, 1>> weights, std::uint64_t seed,
                       std::int64_t patience, std::int64_t max_iter, double tol,
                       Out<std::int32_t, 1> labels, Out<double, 2> centers) {
    ArrayMemory().reads(rows, weights).writes(labels, centers);
    require(rows.shape(0) > 0 && rows.shape(1) > 0, "there is at least one row and one column");
    require(!weights || weights->shape(0) == rows.shape(0), "weights have an entry for every row");
    require(labels.shape(0) == rows.shape(0), "labels have an entry for every row");
    require(centers.shape(1) == rows.shape(1), "centers have a value for every column");
    require(centers.shape(0) > 0 && centers.shape(0) <= max_centers,
            "there is at least one center, and at most 2^30");
    require(patience >= 0 && max_iter >= 1 && tol >= 0,
            "patience and tol are not negative, and there is at least one pass");
    const nb::gil_scoped_release unlocked;
    return PK_KERNEL(search_few_rows)::chosen()(
        rows.data(), static_cast<std::int64_t>(rows.shape(0)),
        static_cast<std::int64_t>(rows.shape(1)), weights ? weights->data() : nullptr, seed,
        patience, max_iter, tol, static_cast<std::int64_t>(centers.shape(0)), labels.data(),
        centers.data());
}

template <class C> void bind_lists_of(nb::module_ &m) {
    m.def("nearest_listed", nearest_listed<C>, array("block"), array("origin"), "scale"_a,
          array("centers"), array("exact_centers"), array("groups").none(), array("starts"),
          array("members"), array("labels"), array("nearest"), array("second"), "n_threads"_a);
    m.def("nearest_by_sketch", nearest_by_sketch<C>, array("block"), array("origin"), "scale"_a,
          array("centers"), array("exact_centers"), array("sketch"), array("errors"),
          array("sketched_centers"), array("middles"), array("radii"), array("groups"),
          array("starts"), array("members"), "most"_a, array("labels"), array("counts"),
          "n_threads"_a);
    m.def("center_neighbours", center_neighbours<C>, array("centers"), array("groups"),
          array("starts"), array("members"), array("out"), "n_threads"_a);
    m.def("race_centers", race_centers<C>, array("rows"), array("weights").none(), "scale"_a,
          array("starts"), array("order"), array("seeds"), "n_centers"_a, array("counts"),
          array("chosen"), array("times"), "n_threads"_a);
    m.def("halve_clusters", halve_clusters<C>, array("rows"), array("weights").none(), "scale"_a,
          array("labels"), array("means"), "seed"_a, "n_passes"_a, array("halves"),
          array("centers"), array("gains"), "n_threads"_a);
}

}  // namespace

void bind_lists(nb::module_ &m) {
    bind_lists_of<float>(m);
    bind_lists_of<double>(m);
    m.def("search_few_rows", search_few_rows, array("rows"), array("weights").none(), "seed"_a,
          "patience"_a, "max_iter"_a, "tol"_a, array("labels"), array("centers"));
}

}  // namespace projected_kmeans

// Sums over clusters, scans, moves and seeding, as Python sees them.
// Each function checks its arguments, releases the GIL and calls one kernel.
#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>

#include "bindings/arguments.hpp"
#include "bindings/compiled_kernels.hpp"

namespace projected_kmeans {
namespace {

template <class C, class B>
std::pair<std::int64_t, std::int64_t> scan_columns(B block, Out<double, 1> minimum,
                                                   Out<double, 1> maximum, Out<double, 1> norm,
                                                   int n_threads) {
    const nb::gil_scoped_release unlocked;
    ArrayMemory().reads(block).writes(minimum, maximum, norm);
    const auto rows = rows_of(block, n_threads);
    const auto width = static_cast<std::size_t>(rows.n_columns);
    require(minimum.shape(0) == width && maximum.shape(0) == width,
            "minimum and maximum have a value for every column");
    require(norm.shape(0) == 1, "norm has one value");
    const Position bad =
        KernelFor<B, PK_KERNEL(scan_columns), PK_KERNEL(scan_columns_sparse<C>)>::chosen()(
            rows, minimum.data(), maximum.data(), norm.data(),
            thread_count(n_threads, work_of(rows, work_per_entry)));
    return {bad.row, bad.column};
}

const double *weights_of(std::int64_t n_rows, const std::optional<In<double, 1>> &weights) {
    require(!weights || static_cast<std::int64_t>(weights->shape(0)) == n_rows,
            "weights have an entry for every row");
    return weights ? weights->data() : nullptr;
}

template <class C, class B>
void cluster_moments(B block, In<std::int32_t, 1> labels, std::optional<In<std::int32_t, 1>> before,
                     std::optional<In<double, 1>> weights, In<double, 2> centers,
                     In<double, 2> magic, In<double, 1> ratios, Out<double, 3> offsets,
                     Out<double, 3> totals, int n_threads) {
    const nb::gil_scoped_release unlocked;
    ArrayMemory()
        .reads(block, labels, before, weights, centers, magic, ratios)
        .writes(offsets, totals);
    const auto rows = rows_of(block, n_threads);
    const auto width = static_cast<std::size_t>(rows.n_columns);
    const auto reference = centers_of<double>(rows, centers);
    const double *row_weights = weights_of(rows.n_rows, weights);
    require((magic.shape(0) == 1 || magic.shape(0) == centers.shape(0)) &&
                magic.shape(1) == width + 2,
            "magic is 1 or n_centers x n_columns + 2");
    require(ratios.shape(0) == 4, "ratios are 4 values");
    require(offsets.shape(0) == 2 && offsets.shape(1) == centers.shape(0) &&
                offsets.shape(2) == width,
            "offsets are 2 x n_centers x n_columns");
    require(totals.shape(0) == 3 && totals.shape(1) == centers.shape(0) && totals.shape(2) == 2,
            "totals are 3 x n_centers x 2");
    require_labels(rows.n_rows, labels.data(), labels.shape(0), reference.n_centers);
    if (before) require_labels(rows.n_rows, before->data(), before->shape(0), reference.n_centers);
    KernelFor<B, PK_KERNEL(cluster_moments), PK_KERNEL(cluster_moments_sparse<C>)>::chosen()(
        rows, labels.data(), before ? before->data() : nullptr, row_weights, reference,
        {magic.data(), magic.shape(0) == 1 ? 0 : rows.n_columns + 2, ratios.data()[0],
         ratios.data()[1], ratios.data()[2], ratios.data()[3]},
        offsets.data(), totals.data(), thread_count(n_threads, work_of(rows, work_per_entry)));
}

template <class C>
std::int64_t move_points(Block block, std::optional<In<double, 1>> weights, In<C, 1> origin,
                         double scale, Out<std::int32_t, 1> labels, Out<double, 2> centers,
                         Out<double, 1> mass, int n_threads) {
    ArrayMemory().reads(block, weights, origin).writes(labels, centers, mass);
    const Rows rows = rows_of(block);
    const double *row_weights = weights_of(rows.n_rows, weights);
    const auto frame = frame_of<C>(rows, origin, scale);
    require(centers.shape(1) == block.shape(1), "centers have a value for every column");
    require(centers.shape(0) <= max_centers, "the number of centers is at most 2^30");
    require(mass.shape(0) == centers.shape(0), "mass has a value for every center");
    const nb::gil_scoped_release unlocked;
    const auto n_centers = static_cast<std::int64_t>(centers.shape(0));
    require_labels(rows.n_rows, labels.data(), labels.shape(0), n_centers);
    return PK_KERNEL(move_points<C>)::chosen()(rows, row_weights, frame, labels.data(),
                                               centers.data(), mass.data(), n_centers,
                                               thread_count(n_threads, work_of(rows, n_centers)));
}

template <class C>
void lower_distances(Block block, In<C, 1> origin, double scale, In<C, 2> centers,
                     Out<C, 1> nearest, int n_threads) {
    ArrayMemory().reads(block, origin, centers).writes(nearest);
    const Rows rows = rows_of(block);
    const auto frame = frame_of<C>(rows, origin, scale);
    const auto given = centers_of<C>(rows, centers);
    require(nearest.shape(0) == block.shape(0), "nearest has an entry for every row");
    const nb::gil_scoped_release unlocked;
    PK_KERNEL(lower_distances<C>)::chosen()(
        rows, frame, given, nearest.data(),
        thread_count(n_threads, work_of(rows, given.n_centers)));
}

template <class C>
void priced_clusters(In<C, 2> distances, In<C, 1> prices, Out<std::int32_t, 1> labels,
                     Out<std::int32_t, 1> seconds, Out<C, 1> least, Out<C, 1> next, int n_threads) {
    ArrayMemory().reads(distances, prices).writes(labels, seconds, least, next);
    const std::size_t n_rows = distances.shape(0), n_clusters = distances.shape(1);
    require(n_clusters > 0 && n_clusters <= max_centers, "there are 1 to 2^30 clusters");
    require(prices.shape(0) == n_clusters, "prices have an entry for every cluster");
    require(labels.shape(0) == n_rows && seconds.shape(0) == n_rows && least.shape(0) == n_rows &&
                next.shape(0) == n_rows,
            "labels, seconds, least and next have an entry for every row");
    const nb::gil_scoped_release unlocked;
    const double work = static_cast<double>(n_rows) * static_cast<double>(n_clusters);
    PK_KERNEL(priced_clusters<C>)::chosen()(
        distances.data(), prices.data(), static_cast<std::int64_t>(n_rows),
        static_cast<std::int64_t>(n_clusters), labels.data(), seconds.data(), least.data(),
        next.data(), thread_count(n_threads, work));
}

template <class C>
void repair_sizes(In<C, 2> distances, In<double, 1> reaches, std::int64_t minimum,
                  std::int64_t maximum, Out<std::int32_t, 1> labels, Out<double, 1> prices,
                  Out<std::int64_t, 1> wanted, Out<std::int64_t, 1> excess) {
    ArrayMemory().reads(distances, reaches).writes(labels, prices, wanted, excess);
    const auto n_rows = static_cast<std::int64_t>(distances.shape(0));
    const std::size_t n_clusters = distances.shape(1);
    require(n_clusters > 0 && n_clusters <= max_centers, "there are 1 to 2^30 clusters");
    require(reaches.shape(0) == n_clusters && prices.shape(0) == n_clusters &&
                wanted.shape(0) == n_clusters,
            "reaches, prices and wanted have an entry for every cluster");
    require(excess.shape(0) == n_clusters + 1,
            "excess has an entry for every cluster and one more");
    const auto k = static_cast<std::int64_t>(n_clusters);
    require_labels(n_rows, labels.data(), labels.shape(0), k);
    const nb::gil_scoped_release unlocked;
    PK_KERNEL(repair_sizes<C>)::chosen()(distances.data(), n_rows, k,
                                         {reaches.data(), minimum, maximum, labels.data(),
                                          prices.data(), wanted.data(), excess.data()});
}

template <class C>
void weigh_candidates(In<C, 3> tiles, In<C, 2> centers, In<C, 1> nearest, In<C, 1> shares,
                      Out<C, 2> after, Out<double, 1> sums, int n_threads) {
    ArrayMemory().reads(tiles, centers, nearest, shares).writes(after, sums);
    require(tiles.shape(2) == Tiles<C>::n_rows, "tiles have 32 rows each");
    require(centers.shape(1) == tiles.shape(1), "centers have a value for every column");
    const std::size_t n_rows = tiles.shape(0) * tiles.shape(2);
    require(nearest.shape(0) == n_rows && shares.shape(0) == n_rows,
            "nearest and shares have an entry for every row");
    require(after.shape(0) == centers.shape(0) && after.shape(1) == n_rows,
            "after is n_centers x n_rows");
    require(sums.shape(0) == centers.shape(0), "sums have an entry for every center");
    const nb::gil_scoped_release unlocked;
    PK_KERNEL(weigh_candidates<C>)::chosen()(
        {tiles.data(), static_cast<std::int64_t>(tiles.shape(0)),
         static_cast<std::int64_t>(tiles.shape(1))},
        {centers.data(), static_cast<std::int64_t>(centers.shape(0))}, nearest.data(),
        shares.data(), after.data(), sums.data(),
        thread_count(n_threads,
                     static_cast<double>(tiles.size()) * static_cast<double>(centers.shape(0))));
}

void dot_rows(In<double, 2> left, In<double, 2> right, std::optional<In<std::int64_t, 1>> columns,
              std::int64_t n_columns, Out<double, 1> out) {
    ArrayMemory().reads(left, right, columns).writes(out);
    const auto n_stored = static_cast<std::int64_t>(left.shape(1));
    require(right.shape(0) == left.shape(0) && right.shape(1) == left.shape(1),
            "left and right have the same shape");
    require(out.shape(0) == left.shape(0), "out has an entry for every row");
    if (columns)
        require(columns->shape(0) == left.shape(1), "columns name every column of left");
    else
        require(n_columns == n_stored, "left has all columns");
    const nb::gil_scoped_release unlocked;
    for (std::int64_t i = 0; columns && i < n_stored; ++i) {
        const std::int64_t before = i > 0 ? columns->data()[i - 1] : -1,
                           column = columns->data()[i];
        require(column > before && column < n_columns, "columns ascend and are below n_columns");
    }
    PK_KERNEL(dot_rows)::chosen()(left.data(), right.data(),
                                  {static_cast<std::int64_t>(left.shape(0)), n_columns, n_stored,
                                   columns ? columns->data() : nullptr},
                                  out.data());
}

void sweep_cuts(In<std::int32_t, 2> cuts, std::optional<In<double, 1>> scales, Out<float, 2> matrix,
                Out<float, 1> values) {
    ArrayMemory().reads(cuts, scales).writes(matrix, values);
    const auto n = static_cast<std::int64_t>(matrix.shape(0));
    require(matrix.shape(1) == matrix.shape(0), "matrix is square");
    require(!scales || scales->shape(0) == matrix.shape(0), "scales have an entry for every row");
    require(cuts.shape(1) == 3, "a cut has three rows");
    require(values.shape(0) == cuts.shape(0), "values have an entry for every cut");
    const nb::gil_scoped_release unlocked;
    const auto n_cuts = static_cast<std::int64_t>(cuts.shape(0));
    bool named = true;
    for (std::int64_t cut = 0; cut < n_cuts; ++cut) {
        const std::int32_t *rows = cuts.data() + 3 * cut;
        const std::int32_t i = rows[0], j = rows[1], l = rows[2];
        named = named && i >= 0 && i < n && j >= 0 && j < n && l >= -1 && l < n && i != j &&
                i != l && j != l;
    }
    require(named, "a cut has three different rows of the matrix, the last one -1 for a pair");
    PK_KERNEL(sweep_cuts)::chosen()({cuts.data(), n_cuts}, scales ? scales->data() : nullptr,
                                    {matrix.data(), n}, values.data());
}

void violated_triangles(In<float, 2> matrix, float floor, Out<std::int32_t, 3> others,
                        Out<float, 2> violations, Out<std::int32_t, 1> counts, int n_threads) {
    ArrayMemory().reads(matrix).writes(others, violations, counts);
    const std::size_t n = matrix.shape(0), most = violations.shape(1);
    require(matrix.shape(1) == n && n < (std::size_t{1} << 31),
            "matrix is square, below 2^31 rows");
    require(floor >= 0, "floor is not negative");
    require(counts.shape(0) == n && violations.shape(0) == n, "every row has a count and a list");
    require(others.shape(0) == n && others.shape(1) == most && others.shape(2) == 2,
            "others are two rows for every violation");
    require(most >= 1 && most < (std::size_t{1} << 31),
            "a list has a place, and below 2^31 places");
    const nb::gil_scoped_release unlocked;
    PK_KERNEL(violated_triangles)::chosen()(
        {matrix.data(), static_cast<std::int64_t>(n)}, floor, static_cast<std::int64_t>(most),
        others.data(), violations.data(), counts.data(),
        thread_count(n_threads, static_cast<double>(matrix.size()) * static_cast<double>(n)));
}

// Computes in double precision whatever the block holds.
template <class C, class B> void bind_exact(nb::module_ &m) {
    m.def("scan_columns", scan_columns<C, B>, array("block"), array("minimum"), array("maximum"),
          array("norm"), "n_threads"_a);
    m.def("cluster_moments", cluster_moments<C, B>, array("block"), array("labels"),
          array("before").none(), array("weights").none(), array("centers"), array("magic"),
          array("ratios"), array("offsets"), array("totals"), "n_threads"_a);
}

template <class C> void bind_clustering_of(nb::module_ &m) {
    bind_exact<C, CsrBlock<C, std::int32_t>>(m);
    bind_exact<C, CsrBlock<C, std::int64_t>>(m);
    m.def("move_points", move_points<C>, array("block"), array("weights").none(), array("origin"),
          "scale"_a, array("labels"), array("centers"), array("mass"), "n_threads"_a);
    m.def("lower_distances", lower_distances<C>, array("block"), array("origin"), "scale"_a,
          array("centers"), array("nearest"), "n_threads"_a);
    m.def("priced_clusters", priced_clusters<C>, array("distances"), array("prices"),
          array("labels"), array("seconds"), array("least"), array("next"), "n_threads"_a);
    m.def("repair_sizes", repair_sizes<C>, array("distances"), array("reaches"), "minimum"_a,
          "maximum"_a, array("labels"), array("prices"), array("wanted"), array("excess"));
    m.def("weigh_candidates", weigh_candidates<C>, array("tiles"), array("centers"),
          array("nearest"), array("shares"), array("after"), array("sums"), "n_threads"_a);
}

}  // namespace

void bind_clustering(nb::module_ &m) {
    bind_exact<float, Block>(m);  // dense blocks of any element type
    bind_clustering_of<float>(m);
    bind_clustering_of<double>(m);
    m.def("dot_rows", dot_rows, array("left"), array("right"), array("columns").none(),
          "n_columns"_a, array("out"));
    m.def("sweep_cuts", sweep_cuts, array("cuts"), array("scales").none(), array("matrix"),
          array("values"));
    m.def("violated_triangles", violated_triangles, array("matrix"), "floor"_a, array("others"),
          array("violations"), array("counts"), "n_threads"_a);
}

}  // namespace projected_kmeans

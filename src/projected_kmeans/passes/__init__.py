"""One pass over the rows: nearest centers, exact sums, inertia.

Every step that looks at centers is built from a few passes, each of which calls one kernel for
each block of rows. Nothing here repeats a pass; solvers do that.

Modules
-------
problem
    `Problem`: the rows with their column ranges, weights and threads, which a solver keeps.
frame
    `Frame`: coordinates around the centers in which float32 keeps its digits.
assignment
    Rows to their nearest centers, and distances of rows to centers.
bounded_search
    `NearestSearch`: nearest centers over many passes, skipping centers known to be too far.
polish_search
    `PolishSearch`: the same over a few passes, for sparse rows and for few centers.
candidate_search
    `CandidateSearch`: the nearest of a few candidate centers of each row, for polish passes.
listed_search
    `ListedSearch`: the nearest of the centers around a row's cluster, for very many clusters.
list_bounds
    `BoundedLists`: the same with lists that stay, leaving out rows that keep their centers.
pruned_search
    `PrunedSearch`: the nearest of all centers, most of which a sketch rules out; also for labels of
    new rows.
limited_search
    `LimitedSearch`: the assignment of least inertia within limits of cluster sizes.
size_limits
    `SizeLimits`: how small and how large clusters may be, and whether that is possible.
cluster_prices
    Prices of clusters, at which rows that choose for themselves nearly keep the limits.
size_repair
    The few moves that are left then, by shortest paths: the exact optimum for rows of equal weight.
weighted_sizes
    Labels within limits of weight, where rows cannot be divided.
center_graph
    Which centers are near each other, found among the centers of near cells.
cluster_sums
    `ClusterSums`: exact sums over the rows of each cluster, accurate for whatever rows there are.
clusterwise_sums
    `ClusterwiseSums`: the same sums of wide sparse rows, a few clusters at a time.
moments
    `Moments`: means and inertia that follow from the sums, with a proven error.
cluster_totals
    `ClusterTotals`: what follows from the numbers of all clusters, however they were summed.
dot_products
    Dot products that have the same bits with and without zeros.
moment_grids
    `MomentGrid`: the spacings on which sums are exact.
grid_sums
    `GridSums`: the sums on given grids.
careful_sums
    `CarefulSums`: sums on a grid for each cluster, where values are very far from all others.
tails
    Whether a few far rows make up much of the sum of squares.
total_inertia
    A partition as its sums describe it; the inertia about one center, which clusters explain.
labelling
    Labels of new rows and distances to their centers, block by block.
center_sketch
    `CenterSketch`: centers along few directions, in groups, and the coordinates of rows there.
ranked_rows
    The first rows of every cluster by a key, such as the distance to the center.
cluster_columns
    How columns of clusters differ from those of all rows, and which stand out.
comparison
    How much two clusterings of the same rows agree, and which rows moved.
stored_partitions
    Whether arrays that were read from a checkpoint can be a partition of the rows at hand.
scoring
    The paper's measures F, F~ and P, and the indicator matrix.

Promises
--------
- The label of a row depends on that row and the centers alone. It does not depend on blocks,
  threads, instruction sets, or on which distances a search skipped.
- A sum over rows has the same bits in any order of rows, blocks and threads.
- An inertia comes with a proven error, which is at most 1e-12 of it for all rows whose inertia
  float64 can hold.

Why it is built so
------------------
**Labels do not depend on rounding.** A kernel computes |c|^2 / 2 - <x, c> for each center in the
precision of the data, in whatever order is fastest. Where the best two centers of a row are closer
than rounding errors can be, the kernel compares them again in double precision in one fixed order.
So all kernels, also those that skip work, give the same labels. How large rounding errors can be
depends on the lengths of row and center. One center far away does not count: a center that is
longer than the row plus the distance of the best one cannot be nearer.

**Frames.** The kernel works in coordinates around the mean of the centers and in a power-of-two
unit. A large common offset or a tiny unit of the data then costs no digits in float32.

**Exact sums.** Each term of a sum is rounded to a multiple of a power of two (the grid of its
column), and what is left to a multiple of a finer one. The grids are chosen so that float64 adds
such multiples without rounding. They follow from the column ranges, the total weight and the number
of rows, which are known before the pass. After the pass, the error that the grids and all other
roundings can have made is known, too. If it exceeds 4.5e-13 of the inertia, or if the grids moved
most means, the rows are summed again on a grid for each cluster and column, whose spacing follows
from the largest terms of that cluster. A row with an entry of 1e37 then costs digits in its own
cluster only. Ordinary rows pay for nothing but the check. Sums are taken of x - r, where r is a
reference point near the mean of the cluster (the present center in Lloyd's method, a row of the
cluster in lifting), so that one pass gives mean and inertia without cancellation. Because sums are
exact, a row that changes its cluster can be subtracted from one sum and added to another: late
passes touch only the rows that moved. `KeptSums` hands the sums of lifting on to polishing, and
those to the final labels.

**Sparse rows.** CSR blocks go to kernels of the same names and get the same labels and sums as
dense rows. A zero entry adds the same term for every row of a cluster, so the kernel adds only what
nonzero entries differ from it, and `ClusterSums` adds the zeros' term times the number of rows.
With weights this product is rounded, so weighted sums of sparse and of dense rows agree only up to
rounding. Sums of k dense centers may take far more memory than sparse rows. From 32 MB on, rows in
memory are therefore summed a few clusters at a time, in the columns in which these have entries,
and only the means are kept.

**Bounds.** After its first pass, Lloyd's method keeps 34 bytes for each row (Yinyang k-means): an
upper bound on the distance to its own center, and a lower bound for each of up to 16 groups of
centers. Elkan's bounds would take k numbers for each row; Hamerly's single bound skips little in
more than 20 dimensions. Bounds are not kept for sparse rows, where a pass is limited by fetching
centers column by column whatever is skipped, nor for rows of Dask's own schedulers, where they
would have to travel with each pass. With a cluster they stay on the workers.

**Lists of clusters.** With thousands of clusters, a row's nearest center is nearly always one of
the 16 to 64 centers around its present one. All rows of a cluster share that list, so a block's
rows are sorted by label and multiplied with the packed centers of their list. That costs n K
products for any k, and no list a row. What a row gets depends on the row, its label and the centers
alone, so blocks and threads do not matter. Rows that should go farther do so over several passes.

**Limits of sizes.** The best assignment within limits is a transportation problem. General solvers
walk over n k arcs. Here the dual is climbed in k prices, by Newton steps that take the n k
distances as one array; a few rows for each cluster are then in the wrong place. The cheapest moves
between clusters make a graph with k + 1 nodes, in which shortest paths move these rows. The optimum
is exact. At 60,000 rows and 100 clusters it takes 0.1 s if groups overlap, and up to 0.6 s if they
are far apart, because prices then change much for few rows. A pass begins at the prices of the pass
before.

**Short way to the kernel.** From `Search.assign` to the native call there are at most four Python
frames for rows in memory: the search, the function that prepares the pass, the walk of the block
source, and the function that calls the kernel. A test counts them.
"""

"""One pass over the rows: nearest centers, exact sums, inertia.

Every step that looks at centers is built from a few passes, each of which calls one kernel for
each block of rows. Nothing here repeats a pass; the search does that. Everywhere ``n_threads=0``
means as many threads as OpenMP allows, and ``weights=None`` counts every row once::

    frame              `Frame`: coordinates around the centers in which float32 keeps its digits
    problem            `Problem`: rows, column ranges, weights and threads, which a solver keeps;
                       one pass over them: rows to their nearest centers, distances, sums
    nearest            `NearestSearch`: nearest of all or of near centers, over many passes;
                       `Search`: what Lloyd's method asks of it
    center_graph       which centers are near each other
    pruned_search      `PrunedCenters`: the nearest of all centers, most of which a sketch rules out
                       (`CenterSketch`: centers in groups, and rows, along few directions)
    limited_search     `LimitedSearch`: the least inertia within limits of cluster sizes
    size_limits        `SizeLimits`: how small and large clusters may be; prices of clusters, and
                       labels within the limits
    sums               `ClusterSums`: exact sums over the rows of each cluster
    moments            `MomentGrid`: the spacings on which sums are exact; `Moments`: means and
                       inertia from these sums, with a proven error
    labelling          labels of new rows and distances to their centers, block by block
    cluster_summaries  what clusters are: sizes, spreads, columns that stand out, nearest rows
    scoring            the paper's measures F, F~ and P, the indicator matrix, and how much two
                       clusterings agree (public)

Promises
--------
- The label of a row depends on that row and the centers alone; among near centers on its label
  before, too; within limits of sizes on all rows. It never depends on blocks, threads, instruction
  sets, or on which distances a search skipped.
- A sum over rows has the same bits in any order of rows, blocks and threads.
- An inertia comes with a proven error, which is at most 1e-12 of it for all rows whose inertia
  float64 can hold.

Why it is built so
------------------
**Labels do not depend on rounding.** A kernel computes |c|^2 / 2 - <x, c> for each center in the
precision of the data. Where the best two centers of a row are closer than rounding errors can be,
it compares them again in float64 in one fixed order. So all kernels, also those that skip work,
give the same labels. Rounding errors grow with the lengths of row and center. One center far away
does not count: if it is longer than the row plus the distance of the best one, it is not nearer.

**Frames.** Kernels work around the mean of the centers and in a power-of-two unit. A large common
offset or a tiny unit of the data then costs no digits in float32.

**Exact sums.** Each term is rounded to a multiple of a power of two (the grid of its column), and
what is left to a multiple of a finer one. Column ranges, total weight and number of rows tell grids
on which float64 adds such multiples without rounding. After the pass the error is known. If it
exceeds 4.5e-13 of the inertia, or if the grids moved most means, rows are summed again on a grid
for each cluster and column. A row with an entry of 1e37 then costs digits in its own cluster only.
Sums are of x - r, where r is near the mean (the present center in Lloyd's method, a row of the
cluster in lifting), so that one pass gives mean and inertia without cancellation. A row that
changes its cluster is subtracted from one sum and added to another: late passes touch only the
rows that moved. The sums of lifting go on to polishing, and those to the final labels.

**Sparse rows** get the same labels and sums as dense ones. The kernel adds what nonzero entries
differ from a zero's term, and `ClusterSums` adds that term times the number of rows. With weights
this product is rounded, so weighted sums of sparse and dense rows agree up to rounding only. Dense
sums of k clusters may take far more memory than sparse rows. From 32 MB on, rows in memory are
summed a few clusters at a time, in the columns in which these have entries; only means are kept.

**Bounds.** When centers move little, a search keeps 34 bytes for each row (Yinyang k-means): an
upper bound on the distance to its own center, and a lower bound for each of up to 16 groups of
centers. Elkan's bounds would take k numbers a row; Hamerly's single bound skips little in more than
20 dimensions. Sparse rows have none, because their passes fetch centers column by column whatever
is skipped. Rows of Dask's own schedulers have none, because bounds would have to travel with each
pass. With a cluster they stay on the workers.

**Lists of clusters.** With many clusters, a row's nearest center is nearly always one of the 16 to
64 centers around its present one. All rows of a cluster share that list, so a block's rows are
sorted by label and multiplied with the K packed centers of their list. That costs n K products for
any k, and no list a row. Rows that should go farther do so over several passes.

**Limits of sizes.** The best assignment within limits is a transportation problem. General solvers
walk over n k arcs. Here the dual is climbed in k prices, by Newton steps that take the n k
distances as one array. The few rows in the wrong place then move over shortest paths of a graph of
k + 1 nodes. The optimum is exact. At 60,000 rows and 100 clusters it takes 0.1 s if groups overlap,
and up to 0.6 s if they are far apart, because prices then change much for few rows. A pass begins
at the prices of the pass before.

**Short way to the kernel.** For rows in memory at most six Python functions, `Search.assign` among
them, lead to the native call. A test counts them.
"""

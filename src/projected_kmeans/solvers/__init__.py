"""SEED, CLUSTER, LIFT: from rows in few dimensions to partitions, and back to the original space.

A solver gets a `Problem` (rows with their weights and column ranges) and first centers. It makes
passes over the rows, which the package ``passes`` does, and decides when to stop.

Modules
-------
seeding            the table of seedings, greedy k-means++, random rows, ORSS06
kmeans_plus_plus   rows drawn by squared distance, many in one pass; used by most seedings
scouting           whole restarts on few rows inside a kernel, of which the best goes on
sampled_seeding    k-means|| and AFK-MC^2, which pass over the rows only a few times
lloyd              `Lloyd`: the method as an object, one pass a `step()`
lloyd_state        where it stands after a pass; whether a stored state fits the rows
sum_references     the points that its sums are about
empty_clusters     which rows go to clusters that a pass left empty
hartigan           single-point moves after Lloyd
breathing          local search after Lloyd: add some centers, remove as many others
dropped_centers    what it costs to drop a center, and which can be spared
orss06             seeding, ball step and one step of Lloyd's method (Ostrovsky et al. 2006)
kss04              a search over means of small samples, for up to 4 clusters (Kumar et al. 2004)
exact              the optimum of up to 15 rows
own_solvers        scikit-learn's clusterers and functions of the caller; their labels are checked
resumable_solvers  Lloyd and single-point moves as part of a run: plateau, monitor, checkpoint
single_restart     one restart: Lloyd's method, and the local search after it
cell_seeding       coarse cells, and a race for first centers between them
near_centers       the nearest of the centers around each row's cluster, pass after pass
near_enough        how many of these centers a row has to meet, found by trying some rows
cell_passes        passes among near centers, with swaps of centers between the first of them
cell_search        very many clusters: seeding by cells and these passes, as part of a run
swaps              which centers move to clusters that gain more by a second center
limited_swaps      the same for clusters with limits of their sizes, one center at a time
restarts           several restarts that compete, on a subsample or by halving
lifting            centers and inertia of a partition in the original space
trimming           passes that set a share of far rows aside, and a first look for them
settling           labels of the nearest centers, after a solver that ended before it converged

Promises
--------
- The inertia never rises from pass to pass. A row moves only to a strictly nearer center, and a
  pass that does not lower the inertia is taken back, as in MatLab's kmeans: no solver can cycle.
- The result depends on the rows, the first centers and the key, not on threads or blocks.
- A solver stops after the pass that it is in, and returns its best partition so far.
- A solver that goes on from a checkpoint, and a restart that paused, end with the same labels as
  one that never stopped.

Why it is built so
------------------
**One Lloyd loop.** Polishing is `Lloyd` on the original rows, and ``projection=None`` is `Lloyd` on
them from the start. They differ only in what finds the nearest centers, a `Search`: `NearestSearch`
looks at all centers that bounds cannot exclude, `CandidateSearch` at the nearest centers of a row
in the sketch. The state after a pass is the labels and the exact sums, from which means and inertia
follow to the bit. Bounds are not part of it, because no label depends on them.

**Momentum.** In late passes means move slowly and straight. On a sketch, a pass therefore looks at
centers ahead of the means, by 0.9 of their last step, and stops at a larger gain. On digits and
mixtures 30 to 60 % of the passes then end lower. What a pass finds is still judged as a
partition with its means: one that does not lower the inertia is made again at the means.

**Seeding by rejection.** Greedy k-means++ draws by D^2, the squared distance to the nearest center
so far, which would need a pass over all rows for each center. Here the candidates of 80 steps are
drawn at once by the D^2 of the last pass. A candidate is accepted with probability D^2 now / D^2
then, where "now" is measured against the few centers that came since, so its distribution is
exactly that of now. One pass then takes in all these centers. Which of the 2 + floor(ln k) draws is
best is judged on all rows if these are at most 8192, and otherwise on 10 rows per cluster, drawn by
their share of the inertia.

**Restarts.** If rows abound, restarts run on a subsample of the sketch, and the best goes on with
all rows, after breathing on the subsample as long as each breath gains enough. Otherwise up to
three restarts run to their end; of more, the better half goes on after 5, 10, 20, ... passes until
three are left. On digits and mixtures (k = 10 to 100) six restarts this way end lower than six that
all run to their end and are compared on the sketch, and make 55 to 72 % of their passes. Where
tails are heavy, a subsample misses the far rows that make up the inertia. All rows are then seeded
as one cell and searched by swaps, as below.

**Few rows.** A pass over a thousand rows takes less time than the Python around it. Restarts on few
rows therefore run inside a kernel (`scouting`): greedy k-means++, Lloyd's method, and swaps of a
center for a row drawn by D^2, until five in a row have failed. Exact passes begin at the best of
them. The rows are read into memory for it, so that files and Dask give the same bits.

**Very many clusters.** Greedy k-means++ and Lloyd's method over all centers cost n k. The solver
"cells" costs little more for 16,000 clusters than for 1,000. (1) Up to 2 sqrt(k) coarse cells
divide the rows. Inside each, greedy k-means++ runs on a clock that a center advances by 1 /
potential; the k earliest centers of all cells are kept. Quotas by size would fail on heavy tails.
(2) A pass compares a row with the centers around its cluster (`passes.listed_search`): with 16 if
trying some rows shows that these hold nearly all nearest centers, as in a tree, else with up to
256. (3) After each of four passes, 2-means inside every cluster tells what a second center there
would gain, and the second nearest distances tell what each center's removal would cost. Highest
gains are paired with lowest costs. These swaps lower the inertia most: on a tree of 4,096 groups by
2 %. (4) In later passes the lists stay, and bounds tell which rows need no look
(`passes.list_bounds`). All steps but the race are passes over blocks with exact sums. The race runs
on at most 2^21 rows in memory, whose number depends on n and k alone. So rows in files and on Dask
give the bits of rows in memory.

**Single-point moves.** A pass is sequential by its nature. A filter in the rows' own precision, on
all threads, finds the rows that certainly stay (bounds with rounding margins, less the drift of the
centers within a stretch of rows). Only the others are compared in double precision, so the moves
are those of the plain pass, bit for bit.
"""

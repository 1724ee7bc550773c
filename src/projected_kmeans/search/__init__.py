"""PLAN, SEED, CLUSTER, LIFT, POLISH: one search over levels, and all that a fit needs around it.

``ProjectedKMeans.fit`` reads as the list of steps::

    resolve_recipe      recipe          key, map, limits, memory: all but the rows
    open_run            estimator       the run: its monitor, and its checkpoint if one is named
      open_storage      storage         where rows and sketch lie
      reduce_rows       reduction       check every row, map it to few dimensions
      choose_approach   approach        what every "auto" means, made once
      search_sketch     levels          samples of the sketch, then all of it
      search_original   levels          the same passes over the original rows; labels as predict's
    finish_run          estimator       the result

A reader finds the search in the order in which it runs: `seeding` (first centers, by
`kmeans_plus_plus`, or inside a kernel for few rows), `lloyd` (passes), `swaps` (which centers
move), `level` (passes and swaps on one level), `levels` (the loop), `settling` (centers of labels,
and labels of centers). `approach`, `recipe` and `memory_plan` plan, `reduction` and `storage` make
the sketch; `settings` are what the caller asked for. `paper_solvers` and `own_solvers` cluster the
sketch in place of the search. `trimming` sets far rows aside.

Promises
--------
- The inertia never rises from pass to pass. A row moves only to a strictly nearer center, a pass
  that does not lower the inertia is taken back, and so are swaps that do not pay.
- The result depends on rows, weights, parameters and key; not on threads, blocks, the memory limit,
  where rows lie, or on a checkpoint from which the fit went on. What is stored of a search is its
  level, its labels and its sums. What happens after a stop is not stored.
- A fit that is stopped ends after the pass that it is in, with a partition of all rows.
- At most ten Python functions stand between ``fit`` and the kernel of the first pass.

Why it is built so
------------------
**Levels.** A pass costs rows x centers x columns, and most passes only bring centers near to where
they belong. So the first ones look at 200 rows a cluster of the sketch, further levels at five
times as many, the last of the sketch at all rows, and the end at all rows in all columns. Each
level begins at the centers, or labels, of the one before. Few rows have one level, and several
starts.

**Passes.** Lloyd's method, looking ahead of the means by 0.9 of their last step. From 128 clusters
on a row meets the 64 centers around its cluster, as one dense product of all rows of the cluster.
Where such passes end, 2,048 rows tell what all rows miss by that. If it is much, as for embeddings,
all rows meet all centers once, and the passes go on. In trees it is nothing.

**Swaps** repair what passes cannot: a center shared by two groups while two others share one. In
every cluster 2-means tells what a second center would gain, or its farthest row what leaving alone
would gain: that is how far rows of heavy tails are found. The distance of rows to their second
nearest center tells what removing a center would cost. Highest gains are paired with lowest costs.
Swaps follow on passes that gain less than 1 %, while they promise enough, and are taken back if two
passes have not lowered the inertia. On the original rows clusters are not divided, only far rows
are looked for: a sketch shows groups, but it may not show a value that is far in one column.

**How many dimensions.** What t directions can miss of k clusters is at most the variance along the
next k (Cohen and others 2015). The map sees the spectrum of the rows that it learns from: 64
directions are enough for digits, embeddings take up to 256.

**The end.** Rows get the labels of their nearest centers, as ``predict`` gives them. If means of
these labels would lower the inertia by 0.05 %, centers move there and rows are labelled again. With
few clusters the first pass over the original rows mostly gains less than that, and its labels are
those of ``predict`` already: one pass suffices.

**Limits of sizes** are another assignment in the same passes; everything else is the same.
"""

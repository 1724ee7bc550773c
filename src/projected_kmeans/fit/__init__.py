"""One fit: the steps in their order, and where their data lie.

``ProjectedKMeans.fit`` reads as the list of steps, and calls the functions of this package::

    open_run            fit_checkpoint   the run: its monitor, and its checkpoint if one is named
      open_storage      storage          where rows and sketch lie
      weigh_near_rows   setting_aside    rows that seem far get the weight 0, if asked for
      reduce_rows       reduction        check every row, map it to few dimensions
      cluster_sketch    pipeline         seed and run the solver, several times
      limit_sizes       limited_sizes    passes in which clusters keep limits of sizes, if asked for
      lift_partition    pipeline         centers and inertia in the original space
      polish_partition  polishing        a few more passes there
      trim_partition    setting_aside    far rows are chosen anew, if asked for
      certify_partition proving          how far the inertia is from the lowest possible
    finish_run          fit_checkpoint   the result

Every choice is made before the first step and stands in a `Recipe`. A step gets the recipe, the
problems that it works on, and the `Run`; it returns a named value.

Modules
-------
reduction        READ, REDUCE: rows are checked and mapped to few dimensions
first_centers    SEED: all that ``init`` may be: a name, centers, row indices, a callable
pipeline         CLUSTER, LIFT
polishing        POLISH: passes in the original space, and the nearest centers in the end
sketch_solvers   CLUSTER by a solver that gets the sketch as a whole, also one of the caller
limited_sizes    CLUSTER with limits of cluster sizes
setting_aside    which rows are too far from all others to be clustered
proving          CERTIFY: proofs and further clusterings in turn, until a guarantee is met
fit_checkpoint   which fit a checkpoint belongs to; its result; what its map has learnt
storage          where the sketch lies: in memory, in a file, or on Dask's workers
sketch_file      the sketch as a file in the folder of a checkpoint, stored row by row
fit_warnings     warnings after a fit

Promises
--------
- The result depends on rows, weights, parameters and key; not on threads, blocks, the memory limit,
  where rows lie, or on a checkpoint from which the fit went on.
- At most ten Python functions stand on the stack between ``fit`` and the kernel of Lloyd's first
  pass: fit, cluster_sketch, run_restarts, advance, run_to_plateau, step, and four of ``passes`` and
  ``blocks``. A test counts them.
- A fit does not measure how fast the machine is.
- A fit of stored rows reads them few times: rows are checked in the walk that sketches them, and a
  map that has to learn does so from rows that it selects.

Why it is built so
------------------
A resolved `Recipe` is a value, so a fit can be planned, described and stored before it runs. A
checkpoint is known by everything that the result depends on: a hash of the rows, the parameters,
the approach, the version of the package and the instruction set. It is refused if one of these is
different. Finalists are lifted together in one walk over the original rows, and the lowest inertia
there wins, because inertias on the sketch correlate with those in the original space by 0.2 to 0.7
only.
"""

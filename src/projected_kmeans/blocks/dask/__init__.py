"""Blocks of rows on Dask. These are the only modules that import dask.

Modules
-------
blocks
    `DaskBlocks`: the block source of rows that workers hold, or read from files.
worker_arrays
    `WorkerArray`: an array with an entry for each row, in parts that stay on the workers.
walks
    A walk over such blocks: tasks are sent to the blocks, and results are brought back and merged.
block_work
    What a worker does with one block: it runs the kernels of a walk and returns their results.
workers
    `Workers`: who computes, a distributed cluster or one of Dask's schedulers on this machine, and
    how the loss of a cluster is noticed while its results arrive.
cluster_errors
    `ClusterError`: workers or their scheduler are lost, as one sentence.
collections
    Dask arrays and data frames as block sources, and new Dask arrays made from their blocks.
clusters
    Clusters as the command line names them: one that runs already, or a new one on this machine.

Promises
--------
- A fit on Dask has the bits of the fit of the same rows in memory, for any blocks and any number
  of workers.
- The rows stay where they are, and with a cluster so do labels, bounds, candidates and a sketch of
  more than 64 MiB. What travels is samples of rows, and sums of the size of the centers.
- A worker that is lost changes nothing: Dask does its work again.
- A scheduler that is lost, and a task that ends every worker, is a `ClusterError`; nobody waits for
  ever. Only a cluster that may start workers by itself is waited for, by clients of the user.
- A cluster that the command line starts listens on the loopback address only, without a dashboard.

Why it is built so
------------------
**A walk is one Dask graph.** Each block has one task, which gets the parts of arrays for its rows
as its own arguments: entries that are sent, or the futures of parts that lie on the workers.
Nothing is scattered beforehand, so that Dask can run a lost task again somewhere else. What all
blocks share, kernels and centers, is a task of its own, which each worker gets once. Totals are
merged eight blocks at a time, near the blocks; exact sums allow any order.

**Bad rows do not fail a task.** They come back as a `Failure` value, so that of several bad blocks
the first in the order of the rows is reported, as for rows in memory.

**Parts never change.** A walk that updates a `WorkerArray` makes new parts, and a failed one leaves
the old ones. So a copy of labels costs nothing, and Dask can make a part again that was lost with
its worker: it is the result of a task whose arguments it remembers, down to the rows. The price is
some 20 kB of the scheduler's memory for each block and pass.

**Only totals come back.** If nobody wants to know how many rows are done, and no NumPy array was
written, the client waits for one result, the merged totals.

**A sketch may stay on the workers.** Where a task fills new rows made by `DaskBlocks.new_rows`
instead of an array, the filled parts stay where they were made. The new rows are a block source
like any other. This happens where the sketch takes more than 64 MiB, or the memory plan says that
it is too large for this process, and there is a cluster; Dask's own schedulers run in this process,
so that the sketch then goes into a file instead.

**`client` is a parameter of `fit`**, not of the estimator, because an estimator is copied, saved
and sent, and a connection cannot be.
"""

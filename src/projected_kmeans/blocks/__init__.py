"""Walking over rows, block by block, wherever they lie.

A step never asks where rows lie. It makes a `Task`, a kernel and the arrays that it uses, and hands
it to the `walk` of a block source, which does the task with every block: in this process for arrays
and files, on the workers for Dask.

Modules
-------
block_source
    `BlockSource`: all that a step may ask of rows. `LocalBlocks` and `WrappedBlocks`: what sources
    in this process, and sources around another source, share.
row_arrays
    Arrays with an entry for each row: NumPy arrays here, `RowArray` beside rows on a cluster.
tasks
    `Block`, `Task`, and the roles of arrays: read, update, fill, add, minimum, maximum.
memory_blocks
    Arrays, CSR rows, and rows picked from either, as block sources; hashes by which a checkpoint
    recognizes them.
stored_blocks
    Row sources (files, folders, tables) as block sources: rows that need not fit in memory.
holes
    Which rows have NaN, and the other rows as a block source, for ``on_missing="skip"``.
unit_length
    `UnitRows`: rows divided by their lengths, for ``metric="cosine"``.
column_scan
    The range of every column, and the first entry that is not finite; `CheckedBlocks` looks for
    both during the first walk over other rows.
element_types
    The element types that kernels read, and the precision in which they compute.
inputs
    What the user passed as rows or weights, checked and opened as a block source. Columns of new
    rows are found by the names that a model knows.
dask
    Blocks on Dask; the only package that imports dask.

Promises
--------
- No result depends on the size of blocks, or on where they lie.
- Rows in memory and in mapped files are not copied if kernels can read them as they are.
- Of stored rows, at most five blocks are in memory at a time.

Why it is built so
------------------
**Tasks.** An array with an entry for each row is cut: the kernel gets the part for the rows of its
block. A total over all rows is given whole, and the kernel adds to it, lowers or raises it. A local
source hands out views, so that nothing is copied and totals grow in place. On a cluster these
arrays are made by `BlockSource.new_row_array`, and their parts lie beside the rows: nothing of them
travels. NumPy arrays are sent in parts to rows on Dask, and brought back where they were written.
Totals are merged, exactly in any order, so the bits are the same. Two tasks of one walk may use the
same array: in Lloyd's method the first updates labels, and the second reads them to sum the rows.
So a pass reads the data once.

**Wrappers.** `CheckedBlocks` puts one task before those of a walk, `UnitRows` changes the rows
before the tasks see them. Both work for any source, also on Dask. With `CheckedBlocks` the walk
that sketches stored rows also checks them, so that a fit reads its files once less.

**A walk may begin at a later row.** A fit that continues from a checkpoint walks over the remaining
rows only. Its totals, merged with those of the checkpoint, have the bits of one walk over all.

**Base classes.** `BlockSource` is an abstract class and not only a protocol, because most sources
answer most questions alike ("labels are given back as an array", "there is nothing to close").
These answers, and the loop of a walk, are written once.
"""

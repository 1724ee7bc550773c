"""REDUCE: maps that bring rows from d columns to t dimensions (steps 1 to 3 of the paper).

    rows (n, d)  ->  a map with a key and t  ->  sketch (n, t)

One module each:

- `map_protocol`: what every map has in common: it is fitted from the shape of the rows, and then
  projects one block of dense or sparse rows at a time. `MapTransformer` is the shared base class.
- `maps`: the maps that do not look at rows (the paper's signs, dense and sparse; signs followed by
  a Walsh-Hadamard transform; normal numbers, for comparison), and the table of all maps by name.
- `spectral`: coordinates along the principal directions, the default of `ProjectedKMeans`; which
  rows the directions are found from, and what they lose of others.
- `principal_directions`: finds the directions along which rows vary most.
- `hashed_columns`: very wide rows get fewer columns before their directions are found.
- `column_sampling`: columns of the data itself, drawn by their leverage.
- `target_dimension`: how many dimensions the literature asks for.

What the room promises:

- A map is a value: its parameters and a key. A random matrix is never stored, because every entry
  is a pure function of the key and the entry's row and column. So a map can be sent to a worker,
  and every block, thread, process and machine sees the same map.
- The sketch of a row depends on that row and on the map, not on the block that the row is in and
  not on the number of threads. The exceptions are named in the docstring of the map.
- Maps that learn from rows ("svd" and "columns") add products in a fixed order, on one BLAS thread
  each, so that the map does not depend on threads or blocks either.

Why it is built so:

- Maps are scikit-learn transformers, so that they can be used alone. All of them share `fit` and
  `transform`; that is why there is one base class, and `LearnedTransformer` for the maps that also
  look at the rows and their weights.
- A fit of stored rows should read them as few times as possible. Therefore a map learns from the
  rows that it selects itself, and takes the ranges of the columns from these rows alone: it needs
  no pass over all rows before.

To add a map: write a class that derives from `MapTransformer` and has `project_block` and
`project_sparse`, in `maps` or in a module of its own, and add a line to the table in `maps`.
"""

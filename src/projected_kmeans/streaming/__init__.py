"""Rows that arrive over time, kept in bounded memory for `ProjectedKMeans.partial_fit`.

    block of rows -> buffer -> condensed to weighted means, level by level -> few rows for a fit

One module each:

- `row_stream`: the buffer and the levels; when rows are condensed. It clusters nothing.
- `continued_model`: a fitted model whose centers stand for its rows; how far new rows drift;
  sums without rounding.
- `condensing`: replaces many weighted rows by few means of rows that lie near one another.

What the room promises: what is kept depends on the rows in their order and on the key, not on the
blocks in which the rows arrive and not on the number of threads. Memory grows with the logarithm of
the number of rows.

Why it is built so:

- Means are kept rather than sampled rows. For centers that treat all rows behind a mean alike, the
  mean, its weight and the hidden inertia give the inertia exactly. So centers are means of all
  rows, and `inertia_` is that of a partition of all rows. With as many sampled rows, every center
  would have a sampling error.
- A sign sketch decides which rows are near one another, because it needs no look at rows to come.
  Means and inertia are those of the rows themselves.
- Half of the first centers of such a grouping are drawn by weight, half by squared distance from
  these. Draws by weight alone lose small clusters far away.
- For metric="cosine" the same holds with the direction of a sum, weighted by its length.
- Buffers are cut by the count of rows, so the blocks in which rows arrive do not matter.
"""

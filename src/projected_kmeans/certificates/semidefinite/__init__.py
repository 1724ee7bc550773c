"""Bounds near 1 for one part of up to some 2,000 rows, by one matrix inequality.

Let the rows y have weights w, let G be their Gram matrix with entries sqrt(w_i w_j) <y_i, y_j>, q
the vector of the sqrt(w_i), scaled to length 1, and J = I - q q^T. For every *admissible* N,

    inertia >= tr G - q^T (G + N) q - sum over i < k of max(0, lambda_i(J (G + N) J)).

`proof` has the proof, and says which N are admissible. N = 0 is the spectral bound. The best N is the
dual of the semidefinite relaxation of k-means by Peng and Wei. It is close to 1 on real data, and
often shows that a clustering is the best.

Modules, in the order in which they are used:

- ``multipliers``: `Multipliers`, the numbers that make an admissible N; refuses others.
- ``proof``: `prove`, the bound of given multipliers with all rounding errors. The only thing that counts.
- ``top_eigenpairs``: the largest eigenvalues of a matrix that changes a little from step to step.
- ``plain_search``: multipliers without cuts, for parts of up to some 2,000 rows.
- ``cut_search``: multipliers with pair and triangle cuts, for parts of up to some 1,000 rows.
- ``primal_rounding``: from the search's matrix X to a clustering, often better than the one given.
- ``part``: `prove_part`, which runs all of this for one part.

How to call it
--------------
``prove_part(rows, n_clusters, labels, *, weights=None, effort=PartEffort(), deadline=Deadline(None),
on_step=None) -> PartProof``

- ``rows``: ndarray or CSR (n, d) of an element type that the kernels accept; CSR is never made dense.
  For the cosine metric pass rows of length one. ``labels``: any clustering of these rows, int (n,);
  a better one makes the search faster. ``weights``: float64 (n,), all above 0, or None.
- ``PartEffort(cuts, max_steps, goal, round)``: whether to search with cuts, the maximum number of
  steps, the ratio at which to stop (1 + 1e-4), and whether to look for better labels.
- ``deadline``: a `Deadline`; looked at before every step. ``on_step``: called after every step with
  the `PartStep` (step, bound or None if the step was not proven); a true answer stops the search.
- ``PartProof(bound, inertia, labels, steps, seconds, ended)``: ``bound`` is proven for the rows as
  given, at most k clusters, in their own units, rounded down; at least 0. ``labels`` is the best
  clustering that is known, and ``inertia`` its inertia as computed: that of the labels given, unless
  rounding found a better one. ``ended`` is "closed" (the ratio is at most the goal), "no gain",
  "steps", "time" or "stopped".

What the room promises
----------------------
- A search never claims anything. It hands multipliers to `prove`, which trusts nothing in them, so
  that a search may run in float32, be stopped at any step, or be wrong.
- `prove` counts all rounding errors: the float64 number it returns is at most the exact minimum.
- The same rows, labels and effort give the same bits on any number of threads, except for what a
  deadline cuts off.
"""

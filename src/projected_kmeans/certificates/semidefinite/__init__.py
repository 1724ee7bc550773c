"""Bounds near 1 for one part of up to some 2,000 rows, by one matrix inequality.

Let the rows y have weights w, let G be their Gram matrix with entries sqrt(w_i w_j) <y_i, y_j>, q
the vector of the sqrt(w_i), scaled to length 1, and J = I - q q^T. For every *admissible* N,

    inertia >= tr G - q^T (G + N) q - sum over i < k of max(0, lambda_i(J (G + N) J)).

`proof` has the proof, and `multipliers` says which N are admissible. N = 0 gives the spectral
bound. The best N is the dual of the semidefinite relaxation of k-means by Peng and Wei. Its bound
is close to the optimum on real data, and often shows that a clustering is the best.

Modules, in the order in which they are used:

- ``part``: `prove_part`, which runs all of this for one part.
- ``dealing``: `deal_rows`, which deals many rows over parts that mirror the whole.
- ``all_rows``: `prove_all_rows`, the sum of the bounds of parts that cover all rows.
- ``part_results``: `PartEffort`, `PartStep` and `PartProof`, what it takes and gives.
- ``multipliers``: `Multipliers`, the numbers that make an admissible N; refuses others.
- ``proof``: `MatrixBound`, which proves the bound of given multipliers with all rounding errors.
- ``top_eigenpairs``: the largest eigenpairs of a matrix that changes a little from step to step.
- ``primal_step``: the step that both searches share, and how they balance.
- ``plain_search``: multipliers without cuts, for parts of up to some 2,000 rows.
- ``cut_search``: multipliers with pair and triangle cuts, for parts of up to some 1,000 rows.
- ``violated_cuts``: which cuts a matrix breaks most.
- ``primal_rounding``: from the search's matrix X to a clustering, often better than the given one.

For more rows than one part can have:

- ``instance``: rows with a clustering of them, which is made if there is none.
- ``proof_plan``: how large parts are and how long each is worked on, decided by sizes.
- ``dealing``: deals rows over parts so that every part mirrors the whole.
- ``side_by_side``: runs parts in several threads.
- ``all_rows``: `prove_all_rows`, a certain bound for all rows.

How to call it
--------------
``prove_part(rows, n_clusters, labels, *, weights=None, effort=None, deadline=None, on_step=None)``
returns a ``PartProof(bound, inertia, inertia_error, labels, steps, seconds, ended)``.

- ``rows`` are an ndarray or CSR (n, d) of an element type that the kernels accept. For the cosine
  metric pass rows of length one. ``weights`` are all above 0.
- ``labels`` are any clustering into at most k clusters. Better ones make the search faster.
- ``PartEffort(cuts=False, max_steps=30, goal=1.0001, round=True)`` is quick: 1.2 s for 1,800 rows.
  ``PartEffort(cuts=True, max_steps=1000)`` goes on until the gap closes or gains end.
- ``bound`` is proven for the rows as given, in their own units, rounded down, and at least 0.
- ``labels`` of the result are the best that are known: those given, or better ones from rounding.

What the room promises
----------------------
- A search never claims anything. It hands multipliers to `MatrixBound.prove`, which trusts nothing
  in them, so that a search may run in float32, be stopped at any step, or be wrong.
- All rounding errors are counted: a bound is at most the exact minimum.
- The same rows, labels and effort give the same bits on any number of threads, except for what a
  deadline cuts off.
"""

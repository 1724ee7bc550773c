"""Bounds near 1 for one part of up to some 2,000 rows, by one matrix inequality.

Let the rows y have weights w, let G be their Gram matrix with entries sqrt(w_i w_j) <y_i, y_j>, q
the vector of the sqrt(w_i), scaled to length 1, and J = I - q q^T. For every *admissible* N,

    inertia >= tr G - q^T (G + N) q - sum over i < k of max(0, lambda_i(J (G + N) J)).

`proof` has the proof, and `multipliers` says which N are admissible. N = 0 gives the spectral
bound. The best N is the dual of the semidefinite relaxation of k-means by Peng and Wei. Its bound
is close to the optimum on real data, and often shows that a clustering is the best.

Modules, in the order in which they are used:

- ``part``: `prove_part`, which runs all of this for one part; the rows of a part with a clustering
  (`Instance`), how much work is done (`PartEffort`) and what came of it (`PartProof`).
- ``multipliers``: `Multipliers`, the numbers that make an admissible N; refuses others.
- ``proof``: `MatrixBound`, which proves the bound of given multipliers with all rounding errors.
- ``search``: looks for good multipliers, with pair and triangle cuts or without.
- ``primal_step``: the step of a search, from the largest eigenpairs of a matrix.
- ``primal_rounding``: from the search's matrix X to a clustering, often better than the given one.

For more rows than one part can have:

- ``proof_plan``: how large parts are and how long each is worked on, decided by sizes.
- ``dealing``: deals rows over parts so that every part mirrors the whole.
- ``side_by_side``: works on parts in several threads.
- ``all_rows``: `prove_all_rows`, a certain bound for all rows.

What the room promises
----------------------
- A search never claims anything. It hands multipliers to `MatrixBound.prove`, which trusts nothing
  in them, so that a search may run in float32, be stopped at any step, or be wrong.
- All rounding errors are counted: a bound is at most the exact minimum.
- The same rows, labels and effort give the same bits on any number of threads, except for what a
  deadline cuts off.
"""

"""CERTIFY: prove how far a clustering can be from the best one with the same number of clusters.

A certificate is the inertia of a clustering beside a *lower bound*: a number that the inertia of no
clustering into k clusters can be below. Their ratio is the most that a better method could gain.

Modules, in the order in which a certificate is made:

- ``certificate``: `LowerBound`, and `Certificate`, which states what a bound proves about an
  inertia.
- ``lower_bounds``: `kmeans_lower_bound`, the best bound that was found, and `certify`, the
  certificate of labels that the caller has.
- ``prover``: how much work each method may do; tries bounds within limits on rows and time, and
  records why a bound was skipped.
- ``bound_trace``: when the best bound rose, for plots of the proven interval over time.
- ``proof_rows``: the rows as bounds see them, dense or sparse, and the rounding arithmetic.
- ``spectral_bound``: a bound from singular values.
- ``neighbour_bound``: a bound from distances between rows, by a dual of k-means, and the tightened
  bound, which improves it by subgradient steps.
- ``semidefinite/``: the tightest bound, close to 1 on real data, for all rows in parts. It also
  finds better clusterings. Its ``__init__`` is its map.
- ``semidefinite_prover``: plans and runs it for all rows, within limits on time and memory.
- ``sampled_bound``: a bound for many rows from random subsets; it holds with a stated probability.
- ``unit_centers``: from a bound about means to one about centers of length one.

To add a bound, write a module ``<name>_bound`` with a function from `ProofRows` and k to a number,
state its inequality and its rounding error in the module's docstring, and call it in `Prover`.

What the room promises
----------------------
Every bound except the sampled one is a proof *with rounding included*: the reported float64 number
is at most the exact minimum inertia of the rows as stored. The tests compare with exact fractions.

Why it is built so
------------------
Rounding enters in two places, and each has its own margin:

- *Preparing the rows.* Bounds are computed for float64 rows y, which are the given rows x, centred
  (dense rows only) and multiplied by a power of two. The square root of the minimum inertia is the
  distance of the matrix of rows from the set of matrices with at most k different rows. By the
  triangle inequality, moving the rows changes this distance by at most the norm of the move, and
  `ProofRows.to_original` subtracts that norm.
- *Computing a bound.* Each bound's module states how large its rounding error can be, and subtracts
  it. All margins assume that matrix products add up each element's products in some order, as every
  BLAS in use does; Strassen's algorithm would break them.

Because the margin is computed for whatever numbers a search ends with, the search itself may be as
rough and as short as it likes: only `Neighbours.prove` has to be right.

Sparse rows are not centred, because that would make them dense. Their Gram matrix is centred
instead, after the product. This costs digits where the mean is far from zero, and nothing else.

Time limits are checked between blocks of rows. A search that is stopped is proven with the best
numbers found so far. Eigenvalues cannot be stopped once LAPACK has begun: `spectral_bound` times a
small matrix first, predicts the time from the cube of the size, and the bound is skipped if the
prediction exceeds the time that is left.
"""

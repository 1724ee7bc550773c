"""The methods that the paper compares with, and the instances they are compared on.

Dimension reductions, as scikit-learn transformers:

- ``svd_features``             coordinates along singular vectors (Table 1 row 1, Table 2 "SVD")
- ``folklore_projection``      a sign projection to log(n) / eps^2 dimensions (Table 1 row 2)
- ``locally_linear_features``  locally linear embedding (Table 2 "LLE")
- ``laplacian_score``          selects columns by the Laplacian score (Table 2 "LS")
- ``fisher_score``             selects columns by the Fisher score, which needs classes
- ``column_ranking``           the best columns by a score, for the two selectors
- ``sign_products``            the four ways of section 5.2 to multiply by a sign matrix

Solvers of k-means, the paper's gamma-approximations:

- ``exact``      the optimum of at most 15 rows, by ``solvers.exact``
- ``kss04``      the (1 + eps)-approximation of Kumar, Sabharwal and Sen, for at most 4 clusters, by
  ``solvers.kss04``
- ``orss06``     the seeding of Ostrovsky, Rabani, Schulman and Swamy
- ``instances``  small instances of k-means whose optimum is known
- ``gamma``      the worst ratio of each solver to the optimum on such instances

The baselines serve comparisons. They are correct and tested against independent computations, but
they are not made for large data: `ProjectedKMeans` is.
"""

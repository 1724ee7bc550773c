"""Cluster a table of customers with names, weights and holes; say what each cluster is.

python examples/cluster_customers.py customers.csv 3
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from projected_kmeans import ProjectedKMeans

path, count = [*sys.argv[1:], *["customers.csv", "3"][len(sys.argv) - 1 :]][:2]
if not Path(path).exists():  # three kinds of customers, of whom 9 did not tell their age
    stream, kind = np.random.default_rng(0), np.arange(300) % 3
    table = pd.DataFrame({"customer": [f"C{number:03}" for number in range(300)]})
    table["age"] = np.where(
        np.arange(300) % 34 == 5, np.nan, 25 + 15 * kind + stream.normal(0, 3, 300)
    )
    table["visits"] = stream.poisson(2 + 9 * (kind == 1))
    table["revenue"] = stream.gamma(3 + 40 * (kind == 2), 2)
    table.assign(weight=1 + stream.integers(3, size=300)).to_csv(path, index=False)

table = pd.read_csv(path, index_col="customer")
weights = table.pop("weight")
scaled = (table - table.mean()) / table.std()
model = ProjectedKMeans(int(count), random_state=0, on_missing="skip")
clusters = model.fit_predict(scaled, sample_weight=weights)  # a Series with the customers' names
for one in model.describe_clusters(scaled, sample_weight=weights, n_representatives=3).itertuples():
    print(f"cluster {one.cluster}: {one.rows} customers, {one.name}; {one.representatives}")
print("left out:", *table.index[model.missing_rows_])

"""Cluster the embeddings of a Parquet file by direction, block by block; name rows by their ids.

python examples/cluster_embeddings.py embeddings.parquet 50
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from projected_kmeans import ProjectedKMeans, open_rows

path, count = [*sys.argv[1:], *["embeddings.parquet", "20"][len(sys.argv) - 1 :]][:2]
if not Path(path).exists():  # 2,000 vectors around 20 directions
    stream = np.random.default_rng(0)
    vectors = stream.normal(size=(20, 256)).repeat(100, 0) + 0.7 * stream.normal(size=(2000, 256))
    column = pa.FixedSizeListArray.from_arrays(vectors.astype(np.float32).ravel(), 256)
    ids = [f"document {number}" for number in range(2000)]
    pq.write_table(pa.table({"id": ids, "embedding": column}), path)

source, ids = open_rows(path, columns=["embedding"]), pq.read_table(path, columns=["id"])["id"]
model = ProjectedKMeans(int(count), metric="cosine", random_state=0, memory_limit="2GB").fit(source)
for cluster, names in enumerate(model.representatives(source, 3, ids=ids.to_pylist()).ids):
    print(f"cluster {cluster}: {np.sum(model.labels_ == cluster)} rows, such as", *names, sep=" | ")
pq.write_table(pa.table({"id": ids, "label": model.labels_}), "labels.parquet")

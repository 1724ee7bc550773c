"""Cluster the embeddings of a Parquet file by direction, block by block.

python examples/cluster_embeddings.py embeddings.parquet embedding 50
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from projected_kmeans import ProjectedKMeans, open_rows


def make_example(path: str) -> None:
    """Write 2,000 vectors of 256 numbers around 20 directions, with ids."""
    stream = np.random.default_rng(0)
    directions = stream.normal(size=(20, 256))
    vectors = directions.repeat(100, axis=0) + 0.7 * stream.normal(size=(2000, 256))
    column = pa.FixedSizeListArray.from_arrays(vectors.astype(np.float32).ravel(), 256)
    pq.write_table(pa.table({"id": np.arange(2000), "embedding": column}), path)


def main(path: str = "embeddings.parquet", column: str = "embedding", count: str = "20") -> None:
    """Label every row, and name the rows that are nearest to each center."""
    if not Path(path).exists():
        make_example(path)
    source = open_rows(path, columns=[column])
    model = ProjectedKMeans(int(count), metric="cosine", random_state=0, memory_limit="2GB")
    model.fit(source)
    nearest = model.transform(source).argmin(axis=0)
    sizes = np.bincount(model.labels_, minlength=int(count))
    for cluster in sizes.argsort()[::-1][:5]:
        print(f"cluster {cluster}: {sizes[cluster]} rows, most typical is row {nearest[cluster]}")
    pq.write_table(pa.table({"label": model.labels_}), "labels.parquet")


if __name__ == "__main__":
    main(*sys.argv[1:])

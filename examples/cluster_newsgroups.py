"""Cluster 20,000 texts of newsgroups by direction; name each cluster by its words.

python examples/cluster_newsgroups.py newsgroups.npz 20
"""

import os
import sys
from pathlib import Path

from projected_kmeans import ProjectedKMeans, clustering_accuracy, open_rows

shared = os.environ.get("PROJECTED_KMEANS_DATA", Path(__file__).parents[2] / "shared" / "data")
path, count = [*sys.argv[1:], *[Path(shared, "newsgroups.npz"), 20][len(sys.argv) - 1 :]][:2]
if not Path(path).exists():
    sys.exit(f"{path} is missing; name a .npz file with sparse rows and their vocabulary")

source = open_rows(path)  # sparse rows, the vocabulary and the true groups
model = ProjectedKMeans(int(count), metric="cosine", random_state=0).fit(source)
for one in model.describe_clusters(source, n_representatives=2).itertuples():
    print(f"cluster {one.cluster}: {one.rows} texts on {', '.join(one.columns)}")
    print(f"    such as texts {one.representatives}")
print(f"accuracy {clustering_accuracy(source.labels, model.labels_):.3f}")
model.to_html(source, "newsgroups.html", name="newsgroups")

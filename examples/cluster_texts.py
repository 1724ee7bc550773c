"""Cluster texts by their words (TF-IDF), and name each cluster by its heaviest words.

python examples/cluster_texts.py folder_of_txt_files 10
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from projected_kmeans import ProjectedKMeans


def read_texts(folder: str | None) -> list[str]:
    """Return the texts of a folder; without one, the docstrings of NumPy's functions."""
    if folder is not None:
        return [file.read_text(errors="replace") for file in sorted(Path(folder).rglob("*.txt"))]
    parts = (np.linalg, np.fft, np.polynomial.polynomial, np.char)
    found = (getattr(part, name).__doc__ for part in parts for name in part.__all__)
    return [text for text in found if text]


def main(folder: str | None = None, count: str = "6") -> None:
    """Print the size and the words of every cluster."""
    words = TfidfVectorizer(stop_words="english", min_df=2, token_pattern="[a-z]{3,}")
    rows = words.fit_transform(read_texts(folder))  # sparse rows
    model = ProjectedKMeans(int(count), metric="cosine", random_state=0).fit(rows)
    names = words.get_feature_names_out()
    for cluster, center in enumerate(model.cluster_centers_):
        heaviest = names[center.argsort()[::-1][:6]]
        print(f"cluster {cluster}: {np.sum(model.labels_ == cluster)} texts on", *heaviest)


if __name__ == "__main__":
    main(*sys.argv[1:])

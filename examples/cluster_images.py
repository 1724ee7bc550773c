"""Cluster a folder of images by their pixels, and draw the mean image of every cluster.

python examples/cluster_images.py folder_of_images 10
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from projected_kmeans import ProjectedKMeans, open_rows

SIDE = 24


def make_example(folder: Path) -> None:
    """Write scikit-learn's digits as images."""
    folder.mkdir()
    for number, pixels in enumerate(load_digits().images[:600]):
        Image.fromarray((pixels * 15).astype(np.uint8)).save(folder / f"{number:04}.png")


def main(folder: str = "digits", count: str = "10") -> None:
    """Print the size of every cluster and its first image; write the means side by side."""
    if not Path(folder).exists():
        make_example(Path(folder))
    source = open_rows(folder, image_size=(SIDE, SIDE))
    model = ProjectedKMeans(int(count), random_state=0).fit(source)
    for cluster in range(int(count)):
        members = np.flatnonzero(model.labels_ == cluster)
        print(f"cluster {cluster}: {len(members)} images, such as {source.files[members[0]].name}")
    means = np.hstack(list(model.cluster_centers_.reshape(int(count), SIDE, SIDE, -1)))
    Image.fromarray(means.squeeze().round().astype(np.uint8)).save("means.png")


if __name__ == "__main__":
    main(*sys.argv[1:])

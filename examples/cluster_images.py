"""Cluster a folder of colour images; name each cluster by its folders and its most typical image.

python examples/cluster_images.py folder_of_images 10
"""

import sys
from collections import Counter
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_sample_images

from projected_kmeans import ProjectedKMeans, open_rows

folder, count = [*sys.argv[1:], *["tiles", "6"][len(sys.argv) - 1 :]][:2]
if not Path(folder).exists():  # tiles of the two photographs that scikit-learn ships
    for name, photo in zip(("temple", "flower"), load_sample_images().images, strict=True):
        Path(folder, name).mkdir(parents=True)
        for place in [(left, top) for left in range(0, 640, 32) for top in range(0, 416, 32)]:
            tile = Image.fromarray(photo).crop((*place, place[0] + 32, place[1] + 32))
            tile.save(Path(folder, name, "{:03}-{:03}.png".format(*place)))

source = open_rows(folder, image_size=(32, 32), folder_labels=True)
model = ProjectedKMeans(int(count), random_state=0).fit(source)
for cluster, file in enumerate(model.representatives(source).ids[:, 0]):
    groups = Counter(source.labels[model.labels_ == cluster].tolist())
    print(f"cluster {cluster}: such as {file};", *(f"{n} {name}" for name, n in groups.items()))
model.to_html(source, "images.html", name=folder)  # with pictures and the names of files

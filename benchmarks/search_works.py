"""The rows on which the search is measured, the numbers of clusters, and the goals of each fit.

Makes or reads rows; it fits nothing.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np
from bench_many_clusters import make_noise, make_tails, make_tree
from data_sets import NoData, Rows, find_file, make_digits, make_mixture, make_texts, read_matrix
from search_goals import BEFORE, NOW, Goal, compare_with_before
from sklearn import datasets

SUPERKMEANS, SKLEARN = "superkmeans flat", "scikit-learn"
SKLEARN_TEN = "scikit-learn, n_init=10"

# Where Debian's package dataset-fashion-mnist puts its images, and the bytes before them.
FASHION = Path("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")
FASHION_HEADER, FASHION_COLUMNS = 16, 784

N_KEYS, N_SMALL_KEYS = 3, 20


@dataclass(frozen=True)
class Work:
    """Rows by their name in `ROWS`, a number of clusters, and what a fit of them should reach.

    ``small`` rows are not shrunk by a quick run, and have more keys.
    """

    group: str
    rows: str
    n_clusters: int
    goals: tuple[Goal, ...]
    small: bool = False

    @property
    def name(self) -> str:
        """What tells the work from others."""
        return f"{self.rows}, k = {self.n_clusters:,}"

    @property
    def systems(self) -> tuple[str, ...]:
        """Both builds, and the peers that the goals name."""
        named = (goal.system for goal in self.goals if goal.system is not None)
        return tuple(dict.fromkeys((NOW, BEFORE, *named)))


def read_embeddings(shrink: int) -> Rows:
    """Return the embeddings of sentences, 30,000 x 384."""
    with np.load(find_file("embeddings.npz"), allow_pickle=False) as stored:
        return stored["x"][::shrink].astype(np.float32)


def read_fashion(shrink: int) -> Rows:
    """Return the images of Fashion-MNIST, 60,000 x 784."""
    if not FASHION.is_file():
        raise NoData("it needs Debian's package dataset-fashion-mnist")
    with gzip.open(FASHION) as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=FASHION_HEADER)
    return pixels.reshape(-1, FASHION_COLUMNS)[::shrink].astype(np.float32)


def make_lognormal(shrink: int, n: int, d: int, sigma: float) -> Rows:
    """Return independent lognormal columns."""
    rows = np.random.default_rng(0).lognormal(0.0, sigma, (n // shrink, d))
    return rows.astype(np.float32)


def make_half_pareto(shrink: int, n: int, d: int, key: int) -> Rows:
    """Return rows whose even columns are Pareto and whose odd columns are normal."""
    stream = np.random.default_rng(key)
    rows = stream.standard_normal((n // shrink, d))
    rows[:, ::2] = stream.pareto(1.5, rows[:, ::2].shape)
    return rows.astype(np.float32)


def read_instance(name: str, shrink: int) -> Rows:
    """Return one of the classic instances of exact clustering."""
    with np.load(find_file("small_instances.npz"), allow_pickle=False) as stored:
        return stored[name].astype(np.float64)


def load_bundled(name: str, shrink: int) -> Rows:
    """Return rows that are part of scikit-learn."""
    return np.ascontiguousarray(getattr(datasets, f"load_{name}")().data, dtype=np.float64)


EMBEDDINGS, FASHION_ROWS = "embeddings 30,000 x 384", "Fashion-MNIST 60,000 x 784"
DIGITS = "shifted digits 90,000 x 784"
TREE, LARGE_TREE = "tree 200,000 x 256", "tree 500,000 x 384"
PARETO = tuple(f"half Pareto 10,000 x 200, generator {key}" for key in range(6))

# Rows that come in few rows, with their numbers of clusters: first those of scikit-learn.
BUNDLED = {"digits": 10, "iris": 3, "wine": 7, "breast_cancer": 2, "diabetes": 5}
INSTANCES = {
    "ruspini": 4, "seeds": 3, "accent": 2, "real_estate": 3, "ECG5000": 2, "abalone": 10,
    "vehicle_silhouettes": 10,
}  # fmt: skip

ROWS: Mapping[str, Callable[[int], Rows]] = MappingProxyType(
    {
        EMBEDDINGS: read_embeddings,
        FASHION_ROWS: read_fashion,
        DIGITS: make_digits,
        "mixture 60,000 x 2,048": make_mixture,
        "noise 50,000 x 512": lambda shrink: make_noise(50_000 // shrink, 512),
        "texts 50,000 x 100,000 CSR": make_texts,
        TREE: lambda shrink: make_tree(200_000 // shrink, 256, 64),
        "t(2) 50,000 x 300": lambda shrink: make_tails(50_000 // shrink, 300),
        "lognormal(1.3) 30,000 x 800": partial(make_lognormal, n=30_000, d=800, sigma=1.3),
        **{
            name: partial(make_half_pareto, n=10_000, d=200, key=key)
            for key, name in enumerate(PARETO)
        },
        "lognormal(2) 10,000 x 200": partial(make_lognormal, n=10_000, d=200, sigma=2.0),
        **{f"load_{name}": partial(load_bundled, name) for name in BUNDLED},
        "ORL": partial(read_matrix, "ORL_64x64.mat", "fea", False),
        **{name: partial(read_instance, name) for name in INSTANCES},
        LARGE_TREE: lambda shrink: make_tree(500_000 // shrink, 384, 128),
    }
)

# Beside superkmeans: its inertia in half of its time, or in an eighth.
HALF_SUPER = (Goal("inertia", SUPERKMEANS, 1.0), Goal("seconds", SUPERKMEANS, 0.5))
EIGHTH_SUPER = (Goal("seconds", SUPERKMEANS, 1 / 8),)
# Beside the best of three runs of scikit-learn, and beside its best of ten with every key.
BEST_SKLEARN = (Goal("inertia", SKLEARN, 1.01, "best"),)
TEN_SKLEARN = (
    Goal("inertia", SKLEARN_TEN, 1.0),
    Goal("inertia", SKLEARN_TEN, 1.0, "highest"),
    Goal("seconds", SKLEARN_TEN, 1.0),
)
GROWTH = (Goal("seconds", NOW, 2.5, n_clusters=1000),)

SMALL = {
    **{f"load_{name}": k for name, k in BUNDLED.items()},
    "ORL": 40,
    **INSTANCES,
}

WORKS = (
    *(
        Work("embeddings", EMBEDDINGS, k, (*compare_with_before(inertia, seconds), *HALF_SUPER))
        for k, inertia, seconds in (
            (30, 1.0005, 1.3), (100, 0.998, 1.5), (300, 0.99, 1.8), (1000, 0.97, 2.2),
        )
    ),
    Work(
        "fashion", FASHION_ROWS, 979,
        (Goal("inertia", None, 5.667e10), Goal("seconds", BEFORE, 1.2), *EIGHTH_SUPER),
    ),
    *(
        Work("digits", DIGITS, k, compare_with_before(0.999 if k >= 500 else 1.0005, 1.0))
        for k in (10, 64, 100, 500, 1000)
    ),
    Work("mixed", "mixture 60,000 x 2,048", 50, compare_with_before(1.0005, 1.0)),
    Work("mixed", "noise 50,000 x 512", 100, compare_with_before(1.0005, 1.0)),
    Work("mixed", "texts 50,000 x 100,000 CSR", 50, compare_with_before(1.0005, 1.0)),
    Work("tree", TREE, 256, compare_with_before(0.985, 0.8)),
    Work("tree", TREE, 4096, compare_with_before(1.0, 1.0)),
    Work("tails", "t(2) 50,000 x 300", 50, compare_with_before(0.99, 1.0)),
    Work("tails", "lognormal(1.3) 30,000 x 800", 40, compare_with_before(1.0, 0.6)),
    *(Work("far rows", name, 8, BEST_SKLEARN) for name in PARETO),
    Work("far rows", "lognormal(2) 10,000 x 200", 3, BEST_SKLEARN),
    *(Work("small", name, k, TEN_SKLEARN, small=True) for name, k in SMALL.items()),
    *(
        Work(
            "large tree", LARGE_TREE, k,
            (*compare_with_before(1.0, 1.0), *(GROWTH if k == 16_384 else ())),
        )
        for k in (1000, 4096, 16_384, 65_536)
    ),
)  # fmt: skip

# The fits whose memory is measured: much of it is the sketch, or the centers.
MEMORY_WORKS = (f"{DIGITS}, k = 100", f"{TREE}, k = 4,096")

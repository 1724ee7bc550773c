"""The data sets of whole fits: digits, faces, objects, texts, and two that are generated.

Makes rows, stores them for the processes that fit, and measures partitions; it times nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.fft
import scipy.io
import scipy.sparse
from fit_process import Rows
from numpy.typing import NDArray
from sketches import DIGITS, shift_digits

# A quick run divides the sizes of generated data by this.
QUICK_SHRINK = 20

N_GROUPS = 50
# Shares of the mixture's sum of squares that are noise, and the mean of all groups.
NOISE_SHARE = 0.847
COMMON_SHARE = 0.123
DECAY = 0.75
WORDS_PER_TEXT = 100
# Words drawn for a text, of which enough differ.
DRAWS_PER_TEXT = 600
# Share of a text's words that come from its topic; the rest come from an order common to all.
TOPIC_SHARE = 0.5

# Rows that are generated, or judged, at a time.
PART = 5000


class NoData(Exception):
    """A data file is missing; the message says which one."""


@dataclass(frozen=True)
class DataSet:
    """A title, the name of the source of the rows, and the number of clusters."""

    title: str
    source: str
    n_clusters: int


def find_file(name: str) -> Path:
    """Return the path of a file of real data."""
    default = Path(__file__).parents[2] / "shared" / "data"
    path = Path(os.environ.get("PROJECTED_KMEANS_DATA", default)) / name
    if not path.is_file():
        raise NoData(f"it needs {name}; set PROJECTED_KMEANS_DATA to its folder")
    return path


def make_digits(shrink: int) -> Rows:
    """Return the digits, shifted by at most one pixel in each direction."""
    return shift_digits(find_file(DIGITS), 9, 10_000 // shrink)


def read_matrix(file: str, variable: str, sparse: bool, shrink: int) -> Rows:
    """Return a matrix of a MatLab file; these files are small and not shrunk."""
    rows = scipy.io.loadmat(find_file(file))[variable].astype(np.float32)
    return scipy.sparse.csr_matrix(rows) if sparse else np.ascontiguousarray(rows)


def make_mixture(shrink: int, n: int = 60_000, d: int = 2048, key: int = 0) -> Rows:
    """Return overlapping Gaussian groups of unequal sizes around a point that is not the origin.

    The variances of the noise and of the means of groups decay along the cosine basis, in a random
    order, so that every column has a part of each. The best partitions have an F~ of about 0.805.
    """
    n //= shrink
    stream = np.random.default_rng(key)
    decay = stream.permutation(np.arange(1.0, d + 1) ** -DECAY)
    decay = np.sqrt(decay / decay.sum()).astype(np.float32)
    common = stream.standard_normal(d, dtype=np.float32) * np.float32(np.sqrt(COMMON_SHARE / d))
    means = stream.standard_normal((N_GROUPS, d), dtype=np.float32)
    means = common + means * decay * np.float32(np.sqrt(1 - NOISE_SHARE - COMMON_SHARE))
    spread = decay * np.float32(np.sqrt(NOISE_SHARE))
    groups = stream.choice(N_GROUPS, n, p=stream.dirichlet(np.full(N_GROUPS, 5.0)))
    rows = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, PART):
        part = rows[start : start + PART]
        stream.standard_normal(out=part, dtype=np.float32)
        part *= spread
        part += means[groups[start : start + PART]]
        part[:] = scipy.fft.dct(part, norm="ortho")
    return rows


def make_texts(shrink: int, n: int = 50_000, d: int = 100_000, key: int = 0) -> Rows:
    """Return texts of 100 different words as CSR, weighted by rarity and scaled to length 1.

    A word is drawn by a power law of its rank, either in the order of the text's topic or in an
    order that is common to all texts.
    """
    n, d = n // shrink, d // shrink
    stream = np.random.default_rng(key)
    orders = np.stack([stream.permutation(d) for _ in range(N_GROUPS + 1)])
    law = np.cumsum(1 / np.arange(1, d + 1))
    topics = stream.integers(N_GROUPS, size=n)
    words = np.empty((n, WORDS_PER_TEXT), dtype=np.int32)
    for start in range(0, n, PART):
        part = topics[start : start + PART, None]
        ranks = np.searchsorted(law, stream.random((len(part), DRAWS_PER_TEXT)) * law[-1])
        own = stream.random(ranks.shape) < TOPIC_SHARE
        words[start : start + len(part)] = keep_distinct(orders[np.where(own, part, -1), ranks])
    texts = np.bincount(words.ravel(), minlength=d)
    weights = np.log(n / np.maximum(texts, 1))[words]
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    starts = np.arange(0, words.size + 1, WORDS_PER_TEXT, dtype=np.int32)
    return scipy.sparse.csr_matrix(
        (weights.ravel().astype(np.float32), words.ravel(), starts), shape=(n, d)
    )


def keep_distinct(
    drawn: NDArray[np.integer[Any]], n_words: int = WORDS_PER_TEXT
) -> NDArray[np.integer[Any]]:
    """Return the first different words of every text, in ascending order."""
    order = np.argsort(drawn, axis=1, kind="stable")
    ranked = np.take_along_axis(drawn, order, axis=1)
    again = np.zeros(drawn.shape, dtype=bool)
    again[:, 1:] = ranked[:, 1:] == ranked[:, :-1]
    # A repeated word sorts behind all first occurrences, which keep their order.
    places = np.where(again, drawn.shape[1], order)
    first = np.argsort(places, axis=1, kind="stable")[:, :n_words]
    if np.take_along_axis(again, first, axis=1).any():
        raise ValueError(f"a text has fewer than {n_words} different words; draw more")
    return np.sort(np.take_along_axis(ranked, first, axis=1), axis=1)


SOURCES: Mapping[str, Callable[[int], Rows]] = MappingProxyType(
    {
        "digits": make_digits,
        "mixture": make_mixture,
        "coil20": partial(read_matrix, "COIL20.mat", "X", False),
        "orl": partial(read_matrix, "ORL_64x64.mat", "fea", False),
        "basehock": partial(read_matrix, "BASEHOCK.mat", "X", True),
        "texts": make_texts,
    }
)

# Small data sets come first, so that a run that is stopped has results.
DATA_SETS: Mapping[str, DataSet] = MappingProxyType(
    {
        "orl": DataSet("ORL faces", "orl", 40),
        "coil20": DataSet("COIL20 objects", "coil20", 20),
        "basehock-2": DataSet("BASEHOCK texts", "basehock", 2),
        "basehock-20": DataSet("BASEHOCK texts", "basehock", 20),
        "digits-10": DataSet("shifted digits", "digits", 10),
        "digits-100": DataSet("shifted digits", "digits", 100),
        "mixture": DataSet("Gaussian mixture", "mixture", 50),
        "texts": DataSet("made texts", "texts", 50),
        "digits-1000": DataSet("shifted digits", "digits", 1000),
    }
)


def store_rows(source: str, folder: Path, shrink: int = 1) -> Path:
    """Write the rows of a source to a folder, if they are not there; return their file."""
    found = [path for path in (folder / f"{source}.npy", folder / f"{source}.npz") if path.exists()]
    if found:
        return found[0]
    rows = SOURCES[source](shrink)
    if scipy.sparse.issparse(rows):
        path = folder / f"{source}.npz"
        scipy.sparse.save_npz(path, rows, compressed=False)
    else:
        path = folder / f"{source}.npy"
        np.save(path, rows)
    return path


def measure_partition(rows: Rows, labels: NDArray[Any]) -> float:
    """Return F~ of a partition, computed in float64 for all systems.

    F~ is (sum of squares - sum of n_j |mean_j|^2) / (sum of squares), with n_j rows in cluster j.
    """
    counts = np.bincount(labels)
    total, sums = 0.0, np.zeros((len(counts), rows.shape[1]))
    for start in range(0, rows.shape[0], PART):
        part = rows[start : start + PART].astype(np.float64)
        members = labels[start : start + PART]
        places = (members, np.arange(len(members)))
        shape = (len(counts), len(members))
        sums += scipy.sparse.csr_matrix((np.ones(len(members)), places), shape=shape) @ part
        values = part.data if scipy.sparse.issparse(part) else part
        total += float(np.sum(values * values))
    explained = np.einsum("ij,ij->i", sums, sums) / np.maximum(counts, 1)
    return float((total - explained.sum()) / total)

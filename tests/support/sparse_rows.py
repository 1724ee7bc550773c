"""Sparse rows of many kinds, and the same rows dense."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray


class BothForms(NamedTuple):
    """The same rows twice."""

    sparse: Any
    dense: NDArray[Any]


def draw_sparse(
    seed: int,
    n: int,
    d: int,
    *,
    density: float = 0.1,
    dtype: str = "float64",
    wide: bool = False,
    integers: bool = False,
) -> BothForms:
    """Return sparse rows, normal or of few small integers; some rows and columns are empty.

    One column in ten is named by every row, so that its range may leave out zero.
    """
    stream = np.random.default_rng(seed)
    values = stream.integers(1, 4, size=(n, d)) if integers else stream.normal(size=(n, d))
    kept = stream.random((n, d)) < density
    kept[:, stream.random(d) < 0.1] = True
    kept[stream.random(n) < 0.1] = False
    kept[:, stream.random(d) < 0.1] = False
    return both_forms(np.where(kept, values, 0).astype(dtype), wide=wide)


def both_forms(dense: NDArray[Any], *, wide: bool = False) -> BothForms:
    """Return rows as CSR, with indices of 64 bits where they are to be wide, and as they are."""
    sparse = scipy.sparse.csr_array(dense)
    if wide:
        sparse.indices = sparse.indices.astype(np.int64)
        sparse.indptr = sparse.indptr.astype(np.int64)
    return BothForms(sparse, dense)


def draw_topics(
    seed: int, n: int, d: int, n_topics: int, n_words: int = 20, dtype: str = "float64"
) -> Any:
    """Return CSR rows of counts: words of a topic of its own, and others at random."""
    stream = np.random.default_rng(seed)
    topic = stream.integers(n_topics, size=n)
    vocabulary = stream.integers(d, size=(n_topics, max(4, n_words)))
    own = vocabulary[topic[:, None], stream.integers(vocabulary.shape[1], size=(n, n_words))]
    words = np.where(stream.random((n, n_words)) < 0.7, own, stream.integers(d, size=own.shape))
    rows = np.repeat(np.arange(n), n_words)
    counts = (np.ones(words.size), (rows, words.ravel()))
    return scipy.sparse.coo_array(counts, shape=(n, d)).tocsr().astype(dtype)


def draw_centers(rows: BothForms, k: int, seed: int, *, integers: bool = False) -> Any:
    """Return k centers near the rows; rows themselves, and equal ones, are among them."""
    stream = np.random.default_rng(seed)
    centers = rows.dense[stream.integers(len(rows.dense), size=k)].astype(np.float64)
    if not integers:
        centers[::2] += stream.normal(size=centers[::2].shape) / 4
    return centers

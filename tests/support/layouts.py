"""Rows of any element type, as they may lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

TYPES = ("float32", "float64", "float16", "uint8", "int8", "uint16", "int16")
LAYOUTS = ("plain", "wide", "second", "reversed")

types = st.sampled_from(TYPES)
layouts = st.sampled_from(LAYOUTS)
threads = st.integers(1, 4)
seeds = st.integers(0, 2**32 - 1)


def draw_rows(seed: int, n: int, d: int, dtype: str) -> NDArray[Any]:
    """Return random rows: normal floats, or integers over the whole range of the type."""
    stream = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.floating):
        return stream.normal(size=(n, d)).astype(dtype)
    limits = np.iinfo(dtype)
    return stream.integers(limits.min, limits.max, size=(n, d), dtype=dtype, endpoint=True)


def lay_out(X: NDArray[Any], layout: str) -> NDArray[Any]:
    """Return a view with the same rows and unit stride inside a row, but not between rows."""
    n, d = X.shape
    if layout == "wide":
        memory = np.full((n, d + 7), 77, dtype=X.dtype)
        memory[:, 3 : 3 + d] = X
        return memory[:, 3 : 3 + d]
    if layout == "second":
        memory = np.full((2 * n, d), 77, dtype=X.dtype)
        memory[::2] = X
        return memory[::2]
    return X[::-1].copy()[::-1] if layout == "reversed" else X


def compute_type(dtype: str) -> np.dtype[Any]:
    """Return the type that kernels compute in: float64 for float64, else float32."""
    return np.dtype("float64" if dtype == "float64" else "float32")

"""Sparse signs, the Hadamard transform and sparse rows: kernels against their twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import _native
from tests import reference
from tests.support.layouts import compute_type, draw_rows, lay_out, layouts, seeds, threads, types

KEY = 11
TALL = 2**20


def sparsify(X: NDArray[Any], seed: int, density: float) -> NDArray[Any]:
    """Return the rows with most entries replaced by zero."""
    keep = np.random.default_rng(seed).random(X.shape) < density
    return np.where(keep, X, X.dtype.type(0))


def multiply(
    name: str, X: Any, t: int, n_threads: int = 2, dtype: Any = None, **extra: Any
) -> NDArray[Any]:
    """Return what a native product makes of dense or CSR rows, unscaled."""
    out = np.full((X.shape[0], t), np.nan, dtype=dtype or compute_type(X.dtype.name))
    if isinstance(X, np.ndarray):
        getattr(_native, name)(X, KEY, 1.0, out, n_threads, **extra)
    else:
        parts = (X.data, X.indices, X.indptr, X.shape[1])
        getattr(_native, f"{name}_sparse")(*parts, KEY, 1.0, out, n_threads, **extra)
    return out


def tolerance(X: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    """Return how far rounding may take a signed sum of each row."""
    size = np.abs(X.astype(float)).sum(axis=1, keepdims=True)
    return 4 * np.finfo(out.dtype).eps * np.log2(X.shape[1] + 2) * size


def random_positions(seed: int, d: int, t: int) -> NDArray[np.int64]:
    """Return distinct entries of the padded transform, t of them or all."""
    padded = 1 << (d - 1).bit_length()
    return np.random.default_rng(seed).permutation(padded)[: min(t, padded)].astype(np.int64)


@given(
    seeds,
    st.integers(1, 40),
    st.integers(1, 200),
    st.integers(1, 90),
    st.integers(1, 12),
    types,
    layouts,
    threads,
)
def test_sparse_signs_equal_the_twin(
    seed: int, n: int, d: int, t: int, s: int, dtype: str, layout: str, n_threads: int
) -> None:
    """The sparse sign product is the product with the matrix of the twin."""
    X = draw_rows(seed, n, d, dtype)
    s = min(s, t)
    found = multiply("sparse_sign_product", lay_out(X, layout), t, n_threads, n_nonzeros=s)
    exact = X.astype(float) @ reference.sparse_sign_matrix(KEY, d, t, s)
    assert (np.abs(found - exact) <= tolerance(X, found)).all()


@given(seeds, st.integers(1, 40), st.integers(1, 130), st.integers(1, 90), types, layouts, threads)
def test_hadamard_equals_the_twin(
    seed: int, n: int, d: int, t: int, dtype: str, layout: str, n_threads: int
) -> None:
    """The Hadamard product is the product with the matrix of parities."""
    X = draw_rows(seed, n, d, dtype)
    positions = random_positions(seed, d, t)
    found = multiply(
        "hadamard_product", lay_out(X, layout), len(positions), n_threads, positions=positions
    )
    exact = X.astype(float) @ reference.hadamard_matrix(KEY, d, positions)
    assert (np.abs(found - exact) <= tolerance(X, found)).all()


@given(
    seeds,
    st.integers(1, 20),
    st.integers(1, 300),
    st.integers(1, 150) | st.sampled_from([1, 2, 301]),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from([np.int32, np.int64]),
    st.floats(0.0, 1.0),
    threads,
)
def test_sparse_rows_give_the_bits_of_dense_rows(
    seed: int, n: int, d: int, t: int, dtype: str, index: Any, density: float, n_threads: int
) -> None:
    """Stored or not, zeros do not change a bit of the sign and sparse sign products."""
    X = sparsify(draw_rows(seed, n, d, dtype), seed, density)
    rows = scipy.sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    found = multiply("sign_product", rows, t, n_threads)
    np.testing.assert_array_equal(found, multiply("sign_product", X, t))
    extra = {"n_nonzeros": min(8, t)}
    found = multiply("sparse_sign_product", rows, t, n_threads, **extra)
    np.testing.assert_array_equal(found, multiply("sparse_sign_product", X, t, **extra))


@given(seeds, st.integers(1, 15), st.integers(1, 200), st.integers(1, 60), threads)
def test_hadamard_of_sparse_rows_equals_the_twin(
    seed: int, n: int, d: int, t: int, n_threads: int
) -> None:
    """Sparse rows are not transformed, yet give the transform up to rounding."""
    X = sparsify(draw_rows(seed, n, d, "float64"), seed, 0.2)
    positions = random_positions(seed, d, t)
    rows = scipy.sparse.csr_array(X)
    found = multiply("hadamard_product", rows, len(positions), n_threads, positions=positions)
    exact = X @ reference.hadamard_matrix(KEY, d, positions)
    assert (np.abs(found - exact) <= tolerance(X, found)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize(
    ("t", "s"),
    [
        *((3, 3), (18, 3), (70, 8), (640, 8), (641, 8), (2100, 64)),
        *((9, 6), (13, 8), (21, 14)),  # the last quad of columns has one, and all lists are long
    ],
)
def test_sparse_signs_have_the_same_bits_in_large_blocks(dtype: str, t: int, s: int) -> None:
    """Many rows are summed column by column, few row by row: the bits are the same."""
    X = draw_rows(4, 131, 700, dtype)
    whole = multiply("sparse_sign_product", X, t, n_nonzeros=s)
    parts = [multiply("sparse_sign_product", part, t, n_nonzeros=s) for part in (X[:67], X[67:])]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    exact = X.astype(float) @ reference.sparse_sign_matrix(KEY, 700, t, s)
    assert (np.abs(whole - exact) <= tolerance(X, whole)).all()


@pytest.mark.parametrize(
    ("name", "extra"),
    [("sign_product", {}), ("sparse_sign_product", {"n_nonzeros": 8})],
)
@pytest.mark.parametrize("offset", [0, 1])
def test_large_sketches_have_the_bits_of_their_parts(
    name: str, extra: dict[str, int], offset: int
) -> None:
    """A sketch of more than 16 MB is written past the caches, at any address."""
    n, t = 16_001, 265
    X = draw_rows(9, n, 20, "float32")
    room = np.full(n * t + 2, np.nan, dtype=np.float32)
    out = room[offset : offset + n * t].reshape(n, t)
    assert out.nbytes > 16 << 20
    getattr(_native, name)(X, KEY, 1.0, out, 2, **extra)
    parts = [multiply(name, X[first : first + 4000], t, **extra) for first in range(0, n, 4000)]
    np.testing.assert_array_equal(out, np.concatenate(parts))
    assert np.isnan(room[:offset]).all()
    assert np.isnan(room[offset + n * t :]).all()


@pytest.mark.parametrize("s", [1, 5, 8])
@pytest.mark.parametrize("t", [32_768, 32_769])
def test_sparse_signs_of_sparse_rows_take_any_number_of_columns(t: int, s: int) -> None:
    """Up to 32,768 columns a nonzero's place has 16 bits, beyond 32; kept or not."""
    X = sparsify(draw_rows(5, 30, 11, "float64"), 5, 0.5)
    for rows in (X, X[:1]):
        found = multiply("sparse_sign_product", scipy.sparse.csr_array(rows), t, n_nonzeros=s)
        np.testing.assert_array_equal(found, multiply("sparse_sign_product", rows, t, n_nonzeros=s))


@pytest.mark.parametrize("name", ["sparse_sign_product", "hadamard_product"])
def test_a_row_does_not_depend_on_its_block(name: str) -> None:
    """A row has the same bits alone, among others, beside NaN, and on any number of threads."""
    X = draw_rows(3, 50, 333, "float32")
    extra: dict[str, Any] = {"n_nonzeros": 8, "positions": random_positions(1, 333, 70)}
    whole = multiply(name, X, 70, **extra)
    spoilt = X.copy()
    spoilt[::2] = np.nan
    beside = multiply(name, spoilt, 70, **extra)
    np.testing.assert_array_equal(beside[1::2], whole[1::2])
    assert np.isnan(beside[::2]).any(axis=1).all()
    for row in (0, 7, 31, 49):
        np.testing.assert_array_equal(
            multiply(name, X[row : row + 1], 70, 1, **extra)[0], whole[row]
        )
    for n_threads in (1, 3):
        np.testing.assert_array_equal(multiply(name, X, 70, n_threads, **extra), whole)


@pytest.mark.parametrize("name", ["sign_product", "sparse_sign_product", "hadamard_product"])
def test_a_million_columns(name: str) -> None:
    """At d = 2^20 dense rows give the exact integers that their few nonzeros give by themselves."""
    stream = np.random.default_rng(0)
    X = np.zeros((2, TALL), dtype=np.float32)
    columns = stream.choice(TALL, 40, replace=False)
    X[:, columns] = stream.integers(-9, 9, (2, 40))
    positions = stream.choice(TALL, 33, replace=False).astype(np.int64)
    extra: dict[str, Any] = {"n_nonzeros": 8, "positions": positions}
    found = multiply(name, X, 33, **extra)
    np.testing.assert_array_equal(multiply(name, scipy.sparse.csr_array(X), 33, **extra), found)
    if name == "sign_product":
        matrix = reference.signs(KEY, columns, range(33))
        np.testing.assert_array_equal(found, X[:, columns] @ matrix)


def test_panels_do_not_show() -> None:
    """A product whose codes need several panels has the bits of the sparse one, which has none."""
    X = sparsify(draw_rows(5, 20, 150_000, "float32"), 5, 0.01)
    rows = scipy.sparse.csr_array(X)
    np.testing.assert_array_equal(
        multiply("sign_product", X, 200), multiply("sign_product", rows, 200)
    )
    np.testing.assert_array_equal(
        multiply("sparse_sign_product", X, 9, n_nonzeros=9),
        multiply("sparse_sign_product", rows, 9, n_nonzeros=9),
    )
    block = np.random.default_rng(5).integers(0, 9, (130, 150_000)).astype(np.uint8)
    np.testing.assert_array_equal(
        multiply("sparse_sign_product", block, 9, n_nonzeros=9)[:20],
        multiply("sparse_sign_product", block[:20], 9, n_nonzeros=9),
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"indices": np.array([1, 0, 2], np.int32)}, "indices ascend"),
        ({"indices": np.array([0, 0, 2], np.int32)}, "indices ascend"),
        ({"indices": np.array([0, 1, 9], np.int32)}, "indices ascend"),
        ({"indices": np.array([-1, 1, 2], np.int32)}, "indices ascend"),
        ({"starts": np.array([0, 3, 2, 3], np.int32)}, "starts ascend"),
        ({"starts": np.array([1, 2, 3], np.int32)}, "starts begin"),
        ({"starts": np.array([0, 2, 2], np.int32)}, "starts end"),
    ],
)
def test_bad_sparse_rows_are_refused(change: dict[str, Any], sentence: str) -> None:
    """Indices that would lead a kernel astray never reach it."""
    arguments = {
        "values": np.ones(3, np.float32),
        "indices": np.array([0, 1, 2], np.int32),
        "starts": np.array([0, 2, 3], np.int32),
    } | change
    out = np.empty((len(arguments["starts"]) - 1, 4), np.float32)
    with pytest.raises(ValueError, match=sentence):
        _native.sign_product_sparse(
            arguments["values"], arguments["indices"], arguments["starts"], 9, KEY, 1.0, out, 1
        )


@pytest.mark.parametrize(
    ("name", "extra", "sentence"),
    [
        ("sparse_sign_product", {"n_nonzeros": 0}, "nonzeros"),
        ("sparse_sign_product", {"n_nonzeros": 5}, "nonzeros"),
        ("hadamard_product", {}, "positions"),
        ("hadamard_product", {"positions": np.array([0, 1, 2], np.int64)}, "positions"),
        ("hadamard_product", {"positions": np.array([0, 1, 2, 16], np.int64)}, "positions"),
        ("hadamard_product", {"positions": np.array([0, 1, 2, -1], np.int64)}, "positions"),
    ],
)
def test_bad_maps_are_refused(name: str, extra: dict[str, Any], sentence: str) -> None:
    """A map that is not one gives a sentence."""
    with pytest.raises(ValueError, match=sentence):
        multiply(name, np.ones((2, 9), np.float32), 4, **extra)

"""Kernels on CSR blocks: the twins' results, and the bits of the kernels for dense blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import as_native_sparse
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, SparseBlocks, open_blocks
from projected_kmeans.passes.assignment import assign_rows, measure_rows, own_distances
from projected_kmeans.passes.candidate_search import CandidateSearch
from projected_kmeans.passes.cluster_sums import ClusterSums, Moments
from projected_kmeans.passes.problem import Problem
from tests import reference
from tests.support.layouts import seeds, threads
from tests.support.sparse_rows import BothForms, both_forms, draw_sparse

floats = st.sampled_from(["float32", "float64"])
sizes = st.integers(1, 40)
widths = st.integers(1, 30) | st.sampled_from([511, 1030])


def draw_centers(rows: BothForms, k: int, seed: int, *, integers: bool = False) -> Any:
    """Return k centers near the rows; rows themselves, and equal ones, are among them."""
    stream = np.random.default_rng(seed)
    centers = rows.dense[stream.integers(len(rows.dense), size=k)].astype(np.float64)
    if not integers:
        centers[::2] += stream.normal(size=centers[::2].shape) / 4
    return centers


def assign(rows: Any, centers: NDArray[Any], labels: NDArray[Any] | None, **options: Any) -> Any:
    """Return labels and both distances."""
    found = np.zeros(rows.shape[0], np.int32) if labels is None else labels.astype(np.int32)
    source = options.pop("source", open_blocks(rows))
    near = assign_rows(source, centers, found, keep_ties=labels is not None, **options)
    return found, near.nearest, near.second


@settings(max_examples=60)
@given(
    seed=seeds,
    n=sizes,
    d=widths,
    k=st.integers(1, 40),
    dtype=floats,
    wide=st.booleans(),
    n_threads=threads,
    keep=st.booleans(),
    integers=st.booleans(),
)
def test_labels_are_those_of_dense_rows(
    seed: int,
    n: int,
    d: int,
    k: int,
    dtype: str,
    wide: bool,
    n_threads: int,
    keep: bool,
    integers: bool,
) -> None:
    """Labels are equal, ties and equal centers included; distances up to rounding."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide, integers=integers)
    centers = draw_centers(rows, k, seed + 1, integers=integers)
    present = np.random.default_rng(seed).integers(k, size=n) if keep else None
    dense = assign(rows.dense, centers, present)
    sparse = assign(rows.sparse, centers, present, n_threads=n_threads)
    np.testing.assert_array_equal(sparse[0], dense[0])
    if integers:
        np.testing.assert_array_equal(
            sparse[0], reference.nearest_center(rows.dense, centers, present)
        )
    reach = 4 * (np.abs(rows.dense).max(initial=1) + np.abs(centers).max(initial=1)) ** 2 * d
    tolerance = (8 + d) * np.finfo(dtype).eps * reach
    for one, other in zip(sparse[1:], dense[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


@settings(max_examples=40)
@given(
    seed=seeds,
    n=sizes,
    d=widths,
    k=st.integers(2, 30),
    m=st.integers(1, 12),
    dtype=floats,
    wide=st.booleans(),
    n_threads=threads,
    integers=st.booleans(),
)
def test_chosen_candidates_are_those_of_dense_rows(
    seed: int,
    n: int,
    d: int,
    k: int,
    m: int,
    dtype: str,
    wide: bool,
    n_threads: int,
    integers: bool,
) -> None:
    """The nearest candidate is the same for both forms, also where candidates repeat."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide, integers=integers)
    centers = draw_centers(rows, k, seed + 1, integers=integers)
    stream = np.random.default_rng(seed)
    lists = stream.integers(k, size=(n, m)).astype(np.uint16)
    labels = stream.integers(k, size=n).astype(np.int32)
    lists[:, -1] = labels
    found = []
    for form in (rows.dense, rows.sparse):
        chosen = labels.copy()
        source = open_blocks(form)
        problem = Problem(source, scan_columns(source), None, n_threads)
        CandidateSearch(problem, lists.copy()).assign(centers, chosen, keep_ties=True)
        found.append(chosen)
    np.testing.assert_array_equal(found[0], found[1])
    if integers:
        expected = reference.nearest_candidate(rows.dense, centers, lists.astype(int), labels)
        np.testing.assert_array_equal(found[1], expected)


def test_rows_equally_far_are_settled_alike() -> None:
    """Rows on the border of two centers, far from zero, go where the dense kernel sends them."""
    stream = np.random.default_rng(0)
    centers = 1e3 + stream.normal(size=(6, 50))
    middles = (centers[:, None] + centers[None])[np.triu_indices(6, 1)] / 2
    for dtype in ("float32", "float64"):
        rows = both_forms(np.concatenate([middles, np.zeros((3, 50))]).astype(dtype))
        for present in (None, np.full(len(rows.dense), 5)):
            dense = assign(rows.dense, centers, present)[0]
            np.testing.assert_array_equal(assign(rows.sparse, centers, present)[0], dense)
        assert (dense[-3:] == dense[-1]).all()


@given(seed=seeds, n=sizes, d=widths, k=st.integers(1, 9), dtype=floats, wide=st.booleans())
def test_distances_equal_the_twin(
    seed: int, n: int, d: int, k: int, dtype: str, wide: bool
) -> None:
    """Distances to all centers and to the own center are right to the last digits of their size."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide)
    centers = draw_centers(rows, k, seed + 1)
    centers = centers.astype(dtype).astype(float)
    exact = reference.squared_distances(rows.dense, centers).astype(float)
    size = float(np.max(np.sum(rows.dense.astype(float) ** 2, axis=1), initial=0.0))
    size += float(np.max(np.sum(centers**2, axis=1)))
    labels = np.random.default_rng(seed).integers(k, size=n).astype(np.int32)
    own = own_distances(SparseBlocks(rows.sparse), centers, labels)
    np.testing.assert_allclose(own, exact[labels, np.arange(n)], rtol=0, atol=1e-13 * size)
    source = SparseBlocks(rows.sparse)
    from_dense = measure_rows(ArrayBlocks(rows.dense), centers)
    found = measure_rows(source, centers, n_threads=2)
    assert found.dtype == dtype
    largest = np.abs(from_dense).max()
    np.testing.assert_allclose(
        found, from_dense, rtol=0, atol=(d + 8) * np.finfo(dtype).eps * largest
    )


@given(seed=seeds, n=sizes, d=widths, dtype=floats, wide=st.booleans(), n_threads=threads)
def test_ranges_are_those_of_dense_rows(
    seed: int, n: int, d: int, dtype: str, wide: bool, n_threads: int
) -> None:
    """Ranges include zero where a row does not name a column, and only there."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide)
    for block_rows in (None, 1, 7):
        found = scan_columns(SparseBlocks(rows.sparse, block_rows), n_threads)
        np.testing.assert_array_equal(found.minimum, rows.dense.min(axis=0))
        np.testing.assert_array_equal(found.maximum, rows.dense.max(axis=0))
        assert found.squared_norm == scan_columns(ArrayBlocks(rows.dense)).squared_norm


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_not_finite_is_named(value: float, dtype: str) -> None:
    """The first such entry by rows is named, whatever the threads and blocks."""
    rows = draw_sparse(1, 60, 9, density=0.5, dtype=dtype).sparse
    for bad in (190, 150):
        rows.data[bad] = value
        row = int(np.searchsorted(rows.indptr, bad, side="right")) - 1
        for block_rows, n_threads in ((None, 1), (None, 3), (11, 2)):
            with pytest.raises(ValueError, match=f"row {row}, column {rows.indices[bad]};"):
                scan_columns(SparseBlocks(rows, block_rows), n_threads)


def sum_rows(rows: Any, labels: Any, references: Any, weights: Any = None, **how: Any) -> Moments:
    """Return the moments of rows in either form."""
    block_rows, n_threads = how.get("block_rows"), how.get("n_threads", 1)
    kind = SparseBlocks if scipy.sparse.issparse(rows) else ArrayBlocks
    source = kind(rows, block_rows)
    return ClusterSums(source, references, weights, scan_columns(source), n_threads).update(
        labels.astype(np.int32)
    )


def assert_same_sums(one: Moments, other: Moments) -> None:
    """Compare all fields, bit by bit."""
    for name in ("mass", "offsets", "squares"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name


@settings(max_examples=50)
@given(
    seed=seeds,
    n=st.integers(1, 60),
    d=widths,
    k=st.integers(1, 12),
    dtype=floats,
    wide=st.booleans(),
    block_rows=st.integers(1, 61),
    n_threads=threads,
)
def test_sums_have_the_bits_of_dense_rows(
    seed: int, n: int, d: int, k: int, dtype: str, wide: bool, block_rows: int, n_threads: int
) -> None:
    """Without weights the sums of both forms are equal in every bit, in any blocks and threads."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide)
    references = draw_centers(rows, k, seed + 1)
    labels = np.random.default_rng(seed).integers(k, size=n)
    dense = sum_rows(rows.dense, labels, references)
    how = {"block_rows": block_rows, "n_threads": n_threads}
    assert_same_sums(sum_rows(rows.sparse, labels, references, **how), dense)


@pytest.mark.parametrize("k", [1, 40])
def test_sums_of_wide_rows(k: int) -> None:
    """A hundred thousand columns, shared by several threads, have the bits of dense rows."""
    rows = draw_sparse(k, 30, 100_000, density=0.001)
    references = draw_centers(rows, k, 1)
    labels = np.random.default_rng(k).integers(k, size=30)
    dense = sum_rows(rows.dense, labels, references)
    for n_threads in (1, 2, 5):
        assert_same_sums(sum_rows(rows.sparse, labels, references, n_threads=n_threads), dense)
    found = assign(rows.sparse, references, None, n_threads=3)
    np.testing.assert_array_equal(found[0], assign(rows.dense, references, None)[0])


@settings(max_examples=20)
@given(seed=seeds, n=st.integers(1, 25), d=st.integers(1, 12), k=st.integers(1, 5), dtype=floats)
def test_weighted_sums_equal_exact_fractions(seed: int, n: int, d: int, k: int, dtype: str) -> None:
    """With weights, sums are right up to the rounding of a few terms, and blocks do not matter."""
    rows = draw_sparse(seed, n, d, density=0.3, dtype=dtype)
    references = draw_centers(rows, k, seed + 1)
    stream = np.random.default_rng(seed)
    labels, weights = stream.integers(k, size=n), np.exp(stream.normal(scale=3, size=n))
    found = sum_rows(rows.sparse, labels, references, weights)
    mass, offsets, squares = reference.cluster_moments(rows.dense, labels, weights, references)
    np.testing.assert_allclose(found.mass, mass.astype(float), rtol=1e-15)
    size = (np.abs(rows.dense).max(initial=0) + np.abs(references).max() + 1) * weights.sum()
    assert np.abs(found.offsets - offsets.astype(float)).max() <= 1e-14 * size
    largest = (np.abs(rows.dense).max(initial=0) + np.abs(references).max() + 1) ** 2
    error = np.abs(found.squares - squares.astype(float)).max()
    assert error <= 1e-14 * largest * weights.sum() * d
    other = sum_rows(rows.sparse, labels, references, weights, block_rows=3, n_threads=3)
    assert_same_sums(found, other)


@given(seed=seeds, n=st.integers(1, 60), d=st.integers(1, 20), dtype=floats)
def test_sums_follow_labels_to_the_bit(seed: int, n: int, d: int, dtype: str) -> None:
    """Moving rows between clusters gives the bits of sums made anew, and of dense rows."""
    stream = np.random.default_rng(seed)
    rows = draw_sparse(seed, n, d, density=0.3, dtype=dtype)
    references = draw_centers(rows, 5, seed + 1)
    source = SparseBlocks(rows.sparse, 17)
    sums = ClusterSums(source, references, None, scan_columns(source), 3)
    before = stream.integers(5, size=n).astype(np.int32)
    sums.update(before)
    for _ in range(3):
        moved = stream.random(n) < 0.3
        after = np.where(moved, stream.integers(5, size=n), before).astype(np.int32)
        assert_same_sums(sums.update(after, before), sum_rows(rows.dense, after, references))
        before = after


@given(
    seed=seeds,
    n=sizes,
    d=widths,
    t=st.integers(1, 40),
    dtype=floats,
    wide=st.booleans(),
    n_threads=threads,
)
def test_products_with_tables(
    seed: int, n: int, d: int, t: int, dtype: str, wide: bool, n_threads: int
) -> None:
    """Both products are those of the dense matrices; the number of threads changes no bit."""
    rows = draw_sparse(seed, n, d, dtype=dtype, wide=wide)
    stream = np.random.default_rng(seed)
    table = stream.normal(size=(d, t)).astype(dtype)
    out = np.empty((n, t), dtype)
    _native.table_product(rows.sparse, table, out, n_threads)
    size = np.abs(rows.dense.astype(float)) @ np.abs(table.astype(float))
    eps = np.finfo(dtype).eps
    assert (np.abs(out - rows.dense.astype(float) @ table) <= (d + 2) * eps * size).all()
    left, total = stream.normal(size=(n, t)), np.ones((d, t))
    _native.transposed_product(rows.sparse, left, total, n_threads)
    exact = rows.dense.astype(float).T @ left + 1
    size = np.abs(rows.dense.astype(float)).T @ np.abs(left) + 1
    assert (np.abs(total - exact) <= (n + 2) * np.finfo(float).eps * size).all()
    again, alone = np.empty_like(out), np.ones((d, t))
    _native.table_product(rows.sparse, table, again, 1)
    _native.transposed_product(rows.sparse, left, alone, 1)
    assert (again.tobytes(), alone.tobytes()) == (out.tobytes(), total.tobytes())


def test_blocks_are_views_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks follow one another, share memory with the rows and hold about as many bytes each."""
    rows = draw_sparse(0, 400, 50, density=0.3, wide=True).sparse
    monkeypatch.setattr("projected_kmeans.blocks.memory_blocks.BLOCK_BYTES", 16 * 500)
    source = SparseBlocks(rows)
    blocks = list(source)
    assert len(blocks) == len(source) > 5
    assert [block.start for block in blocks[1:]] == [block.span.stop for block in blocks[:-1]]
    assert max(block.rows.nnz for block in blocks) <= 500 + 50
    for block in blocks:
        assert np.shares_memory(block.rows.data, rows.data)
        assert np.shares_memory(block.rows.indices, rows.indices)
        np.testing.assert_array_equal(block.rows.toarray(), rows[block.span].toarray())
    taken = source.take(np.array([5, 399, 5]))
    np.testing.assert_array_equal(taken, rows.toarray()[[5, 399, 5]])


def test_rows_are_brought_to_one_form() -> None:
    """Duplicates are added, indices sorted, small types widened; the caller's rows stay."""
    given_rows = scipy.sparse.csr_matrix(
        (np.array([1, 2, 3], np.int8), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 4)
    )
    found = as_native_sparse(given_rows)
    assert isinstance(found, scipy.sparse.csr_array)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.indices, [0, 2])
    np.testing.assert_array_equal(found.data, [2, 4])
    assert given_rows.nnz == 3
    given_rows.indptr = given_rows.indptr.astype(np.int64)
    assert as_native_sparse(given_rows).indices.dtype == np.int64


def call_nearest_center(block: Any, **changes: Any) -> None:
    """Call the assignment of sparse rows with right arguments but for the changes."""
    arguments = {
        "origin": np.zeros(3),
        "scale": 1.0,
        "centers": np.eye(2, 3),
        "exact_centers": np.eye(2, 3),
        "keep_ties": False,
        "labels": np.zeros(4, np.int32),
        "nearest": np.empty(4),
        "second": np.empty(4),
        "n_threads": 1,
    }
    _native.nearest_center(block, **(arguments | changes))


class Parts:
    """What a CSR array consists of, right or wrong."""

    def __init__(self, **changes: Any) -> None:
        rows = both_forms(np.arange(12.0).reshape(4, 3)).sparse
        parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": (4, 3)}
        for name, value in (parts | changes).items():
            setattr(self, name, value)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"indices": np.array([1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 3], np.int32)}, ValueError),
        ({"indices": np.array([1, 1, 0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)}, ValueError),
        ({"indices": np.array([-1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)}, ValueError),
        ({"indptr": np.array([0, 2, 5, 8, 10], np.int32)}, ValueError),
        ({"indptr": np.array([0, 5, 2, 8, 11], np.int32)}, ValueError),
        ({"shape": (5, 3)}, ValueError),
        ({"shape": (4, 2)}, ValueError),
        ({"data": np.arange(1, 12)}, TypeError),
        ({"data": np.arange(1, 12, dtype=np.float32)}, TypeError),
        ({"indices": np.arange(11.0)}, TypeError),
        ({"indptr": np.array([0, 2, 5, 8, 11])}, TypeError),
        ({"shape": None}, TypeError),
    ],
)
def test_broken_sparse_rows_are_refused(changes: dict[str, Any], error: type) -> None:
    """Parts that do not fit together are refused before any pass."""
    call_nearest_center(Parts())
    with pytest.raises(error):
        call_nearest_center(Parts(**changes))

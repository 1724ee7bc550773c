"""Sizes and numbers at the edges: kernels refuse them or give a result, and touch no other memory.

Python checks rows and centers before any kernel. These tests call the kernels without it.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans import _native
from tests.native.bindings import test_arguments as right

NAN = np.full((4, 3), np.nan)


def test_there_is_at_least_one_center_and_column() -> None:
    """An assignment to no centers or without columns is refused."""
    none = np.empty((0, 3))
    sparse = scipy.sparse.csr_array(right.X)
    for block in (right.X, sparse):
        with pytest.raises(ValueError, match="at least one column and center"):
            right.call_nearest_center(block=block, centers=none, exact_centers=none)
    wide, empty = np.zeros((4, 300)), np.empty((0, 300))  # more columns than are packed at once
    with pytest.raises(ValueError, match="at least one column and center"):
        right.call_nearest_center(
            block=wide, origin=np.zeros(300), centers=empty, exact_centers=empty
        )
    flat = np.empty((2, 0))
    with pytest.raises(ValueError, match="at least one column and center"):
        right.call_nearest_center(
            block=np.empty((4, 0)), origin=np.zeros(0), centers=flat, exact_centers=flat
        )
    with pytest.raises(ValueError, match="at least one column and center"):
        right.call_bounded_assignment(
            centers=none,
            exact_centers=none,
            groups=np.full((1, 4), -1, np.int32),
            drifts=np.zeros(0, np.uint16),
        )


@pytest.mark.parametrize("kernel", ["dense", "sparse", "bounds"])
@pytest.mark.parametrize("spoilt", ["block", "centers", "exact_centers"])
@pytest.mark.parametrize("keep_ties", [True, False])
def test_labels_name_centers_also_if_scores_are_not_numbers(
    kernel: str, spoilt: str, keep_ties: bool
) -> None:
    """NaN in rows or in either form of the centers gives labels of existing centers."""
    equal = np.repeat(right.CENTERS[:1], 2, axis=0)
    changes: dict[str, Any] = {"centers": equal, "exact_centers": equal, "block": right.X}
    changes[spoilt] = NAN[: len(changes[spoilt])]
    if kernel == "sparse":
        changes["block"] = scipy.sparse.csr_array(changes["block"])
    labels = np.array([1, 0, 1, 0], np.int32)
    call = right.call_bounded_assignment if kernel == "bounds" else right.call_nearest_center
    call(labels=labels, keep_ties=keep_ties, **changes)
    assert set(labels.tolist()) <= {0, 1}


def test_a_candidate_is_chosen_also_if_scores_are_not_numbers() -> None:
    """If exact centers are NaN, a row stays with its center."""
    equal = np.repeat(right.CENTERS[:1], 2, axis=0)
    labels = np.array([1, 0, 1, 0], np.int32)
    candidates = np.tile(np.array([1, 0], np.int32), (4, 1))
    block = scipy.sparse.csr_array(right.X)
    _native.nearest_candidate(block, np.zeros(3), 1.0, equal, NAN[:2], candidates, labels, 1)
    assert labels.tolist() == [1, 0, 1, 0]


def test_a_product_without_columns_is_zero() -> None:
    """Rows without columns have a sketch of zeros, whatever was in the output."""
    for n_rows in (2, 40):
        for kernel in (_native.sign_product, _native.on_the_fly_product):
            out = np.full((n_rows, 5), 7.0)
            kernel(np.empty((n_rows, 0)), 1, 1.0, out, 1)
            assert not out.any()


def test_the_transform_of_very_wide_rows_uses_all_bits_of_an_index() -> None:
    """Indices and positions may share bits beyond the 32nd, which count in the sign."""
    place, positions = 2**40 + 2**33 + 5, np.array([2**40, 2**40 + 2**33, 2**33 + 1, 1, 2])
    starts, indices = np.array([0, 1]), np.array([place])
    out = np.empty((1, 5))
    _native.hadamard_product_sparse(
        np.ones(1), indices, starts, 2**41, 7, 1.0, out, 1, positions=positions
    )
    parity = np.array([(place & int(position)).bit_count() % 2 for position in positions])
    np.testing.assert_array_equal(out[0] * np.sign(out[0, 3]) * -1, 1 - 2 * parity)


@pytest.mark.parametrize("n_columns", [-1, 2**48 + 1, 2**62, 2**63 - 1])
def test_the_number_of_sparse_columns_has_a_limit(n_columns: int) -> None:
    """Products of sizes cannot overflow, because a number of columns above 2^48 is refused."""
    parts = (np.empty(0), np.empty(0, np.int64), np.zeros(2, np.int64), n_columns)
    out = np.empty((1, 3))
    for kernel in (_native.sign_product_sparse, _native.hadamard_product_sparse):
        with pytest.raises(ValueError, match=r"number of columns is from 0 to 2\^48"):
            kernel(*parts, 1, 1.0, out, 1, positions=np.zeros(3, np.int64))


def test_a_negative_quantum_is_refused() -> None:
    """Bounds are counted in quanta of a positive size."""
    for quantum in (-1.0, np.nan):
        with pytest.raises(ValueError, match="quantum is not negative"):
            right.call_bounded_assignment(quantum=quantum)


def test_memory_that_nobody_has_is_a_sentence() -> None:
    """A kernel that asks for terabytes gets a MemoryError that says so."""
    rows = scipy.sparse.csr_array((np.ones(1), np.zeros(1, np.int64), np.array([0, 1])), (1, 2**44))
    with pytest.raises(MemoryError, match=r"^a kernel asked for 140737488\.4 MB .* got none; free"):
        _native.transposed_product(rows, np.empty((1, 0)), np.empty((2**44, 0)), 1)


MANY_CENTERS = """
import resource
import numpy as np
from projected_kmeans import _native

n_centers = 1_000_000
X, centers = np.ones((40, 1), np.float32), np.arange(n_centers, dtype=np.float32)[:, None]
exact, labels = centers.astype(np.float64), np.zeros(40, np.int32)
nearest, second = np.empty(40, np.float32), np.empty(40, np.float32)
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 150_000_000,) * 2)
origin = np.zeros(1, np.float32)
_native.nearest_center(X, origin, 1.0, centers, exact, False, labels, nearest, second, 1)
print(set(labels.tolist()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_narrow_rows_keep_no_products_with_all_centers() -> None:
    """A million centers of one column need a few megabytes, not 128 numbers for each center."""
    command = [sys.executable, "-c", MANY_CENTERS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("{1}\n", 0), done.stderr

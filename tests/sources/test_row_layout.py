"""The layout of rows that are handed on, and damaged sparse matrices of all formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.row_layout import (
    FAULTS,
    check_sparse,
    find_pieces,
    plain_dtype,
    plain_rows,
    turn_columns,
)
from tests.support.sparse_rows import draw_sparse


def test_types_are_native_and_booleans_are_bytes() -> None:
    """Only booleans and foreign byte orders change their type."""
    assert plain_dtype(np.dtype(bool)) == np.uint8
    assert plain_dtype(np.dtype(">f4")) == np.float32
    assert plain_dtype(np.dtype(">f4")).isnative
    assert plain_dtype(np.dtype(np.int16)) == np.int16


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (300, 2), (1000, 7), (40, 5000), (2000, 64)])
def test_columns_are_turned(shape: tuple[int, int]) -> None:
    """Columns become rows, whatever the numbers of both, and may change their type."""
    rows = np.random.default_rng(0).integers(-99, 99, size=shape)
    turned = np.empty(shape, np.float32)
    turn_columns(rows.T, turned)
    np.testing.assert_array_equal(turned, rows)
    found = plain_rows(np.asfortranarray(rows), np.dtype(np.float64))
    assert isinstance(found, np.ndarray)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, rows)


def test_pieces_of_a_range() -> None:
    """A range has the pieces that it touches; an empty one has the piece in which it lies."""
    starts = np.array([0, 3, 3, 5])
    assert find_pieces(starts, 0, 3) == range(1)
    assert find_pieces(starts, 2, 4) == range(3)
    assert find_pieces(starts, 3, 5) == range(2, 3)
    assert find_pieces(starts, 1, 1) == range(1)
    assert find_pieces(starts, 5, 5) == range(2, 3)


def test_rows_that_are_plain_are_not_copied() -> None:
    """Contiguous rows of the right type, and CSR, share their memory with what was given."""
    rows = np.ones((4, 3))
    assert np.shares_memory(plain_rows(rows[1:3], rows.dtype), rows)
    sparse = scipy.sparse.csr_array(rows)
    assert np.shares_memory(plain_rows(sparse, rows.dtype).data, sparse.data)


def test_other_sparse_layouts_become_csr() -> None:
    """Any sparse matrix is handed on as CSR of the wanted type."""
    found = plain_rows(scipy.sparse.coo_matrix(np.eye(3)), np.dtype(np.float32))
    assert (found.format, found.dtype) == ("csr", np.float32)


DENSE = draw_sparse(0, 12, 8, density=0.3).dense


def set_part(name: str, place: Any, value: Any) -> Callable[[Any], None]:
    """Return a function that overwrites entries of one array of a matrix."""

    def damage(rows: Any) -> None:
        getattr(rows, name)[place] = value

    return damage


def replace_part(name: str, make: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Return a function that puts another array in the place of one."""
    return lambda rows: setattr(rows, name, make(getattr(rows, name)))


def add_pair(rows: Any) -> None:
    """Add an entry outside to a dictionary of keys; before SciPy 1.13 the matrix was one itself."""
    dict.update(getattr(rows, "_dict", rows), {(0, 99): 1.0})


COMPRESSED = {
    "far": (set_part("indptr", 5, 10**6), "does not ascend"),
    "back": (set_part("indptr", 5, 0), "does not ascend"),
    "first": (set_part("indptr", 0, 1), "starts at 1"),
    "negative": (set_part("indptr", 0, -1), "starts at -1"),
    "last": (set_part("indptr", -1, 10**6), "only"),
    "index": (set_part("indices", 3, 1000), "the index 1000"),
    "sign": (set_part("indices", 3, -1), "the index -1"),
    "short indptr": (replace_part("indptr", lambda part: part[:-1]), "entries and not"),
    "short indices": (replace_part("indices", lambda part: part[:-1]), "are stored"),
    "short data": (replace_part("data", lambda part: part[:-1]), "are stored"),
    "fractions": (replace_part("indices", lambda part: part.astype(float)), "vector of integers"),
    "matrix": (replace_part("indptr", lambda part: part[np.newaxis]), "vector of integers"),
}
CASES = {(kind, name): case for kind in ("csr", "csc", "bsr") for name, case in COMPRESSED.items()}
CASES |= {
    ("csr", "flat data"): (replace_part("data", lambda part: part[:, None]), "2 dimensions"),
    ("bsr", "tiles"): (replace_part("data", lambda part: np.ones((len(part), 5, 3))), "tile"),
    ("bsr", "flat data"): (replace_part("data", np.ravel), "tile"),
    ("coo", "row"): (set_part("row", 3, 12), "the index 12"),
    ("coo", "column"): (set_part("col", 3, -2), "the index -2"),
    ("coo", "short data"): (replace_part("data", lambda part: part[:-1]), "coordinates"),
    ("dia", "offsets"): (replace_part("offsets", lambda part: part[:-1]), "offsets"),
    ("dia", "far"): (
        replace_part("offsets", lambda part: part.astype(np.int64) + 2**40),
        "exceeds 2147483647",
    ),
    ("lil", "index"): (lambda rows: rows.rows[2].append(99) or rows.data[2].append(1), "row 2"),
    ("lil", "lengths"): (lambda rows: rows.rows[2].append(3), "row 2"),
    ("lil", "rows"): (replace_part("rows", lambda part: part[:-1]), "lists"),
    ("dok", "key"): (add_pair, "outside"),
}


@pytest.mark.parametrize(("kind", "damage"), CASES)
def test_damage_is_told_in_one_sentence(kind: str, damage: str) -> None:
    """The message names the data, says what is wrong and what to do."""
    rows = scipy.sparse.csr_array(DENSE).asformat(kind)
    change, words = CASES[kind, damage]
    change(rows)
    with pytest.raises(UnreadableFile, match=f"^X is a damaged {kind} .*{words}.*; build it again"):
        check_sparse(rows, "X")


@pytest.mark.parametrize("kind", FAULTS)
def test_whole_matrices_pass(kind: str) -> None:
    """Matrices of all formats pass, with 64-bit indices, unsorted ones and spare room too."""
    rows = scipy.sparse.csr_array(DENSE)
    check_sparse(rows.asformat(kind), "X")
    check_sparse(scipy.sparse.csr_array((3, 2)).asformat(kind), "X")
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    check_sparse(rows.asformat(kind), "X")


def test_spare_room_and_any_order_are_allowed() -> None:
    """Entries behind the last row are not looked at; duplicates and descending indices are fine."""
    rows = scipy.sparse.csr_array((np.ones(3), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    rows.indices = np.append(rows.indices, 77)
    check_sparse(rows, "X")


def test_a_vector_is_refused() -> None:
    """A sparse array of one dimension has no rows."""
    vector = scipy.sparse.coo_array(np.ones(3))
    if vector.ndim == 2:
        pytest.skip("SciPy has sparse arrays of one dimension from 1.13 on")
    with pytest.raises(UnreadableFile, match=r"shape \(3,\)"):
        check_sparse(vector, "X")

"""Checks of parameters: what is allowed passes, and all else gets one plain sentence."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from projected_kmeans.checks import (
    check_choice,
    check_count,
    check_init,
    check_not_negative,
    check_threads,
    squares_overflow,
)


def test_what_is_allowed_passes() -> None:
    """Integers of any kind, numbers from 0 on, known words and known choices raise nothing."""
    check_count("n_clusters", np.int64(3))
    check_count("n_init", "auto", word="auto")
    check_count("counts", 2, minimum=2)
    check_not_negative("tol", np.float32(0))
    check_choice("solver", None, ["lloyd", None])
    check_count("n_components", 7, most=("n_features", 7))
    check_count("n_components", "auto", most=("n_features", 1), word="auto")
    check_threads(None)
    check_threads(2**31 - 1)


@pytest.mark.parametrize(
    ("check", "arguments", "error", "sentence"),
    [
        (check_count, ("k", 2.0), TypeError, "k=2.0 is not an integer; use an integer of at least"),
        (check_count, ("k", True), TypeError, "k=True is not an integer; use an integer of at"),
        (check_count, ("k", 0), ValueError, "k=0 is too small; use an integer of at least 1"),
        (check_threads, (2**31,), ValueError, "n_threads=2147483648 is too large; use at most"),
        (check_threads, (-1,), ValueError, "n_threads=-1 is too small; use an integer of at least"),
        (check_not_negative, ("tol", "0"), TypeError, "tol='0' is not a number; use a finite num"),
        (check_not_negative, ("tol", True), TypeError, "tol=True is not a number; use a finite"),
        (check_not_negative, ("tol", -1), ValueError, "tol=-1 is out of range; use a finite numb"),
        (check_not_negative, ("tol", np.nan), ValueError, "tol=nan is out of range; use a finite"),
        (
            check_choice,
            ("init", "x", ["a", "b"]),
            ValueError,
            "'x' is not known; use one of 'a', 'b",
        ),
        (
            partial(check_count, most=("n_features", 64), word="auto"),
            ("n_components", 200),
            ValueError,
            "exceeds n_features=64; use at most 64 or 'auto'",
        ),
        (check_init, ([0, 9], 2, (5, 3)), ValueError, "init names rows 0 to 9 of n_samples=5; use"),
        (check_init, ([[0.0]], 2, (5, 3)), ValueError, r"init has shape \(1, 1\); pass centers of"),
        (
            check_init,
            ([[0, 0, np.inf]], 1, (5, 3)),
            ValueError,
            "init contains inf at row 0, column 2; use finite centers",
        ),
        (
            check_init,
            ([[0, 0, 1e300]], 1, (5, 3)),
            ValueError,
            r"init reaches 1e\+300, so that sums of squares overflow float64; use centers in the",
        ),
        (
            check_init,
            ([[0, 0, 1j]], 1, (5, 3)),
            ValueError,
            "init has entries of type complex128; use integers or real numbers",
        ),
        (
            check_init,
            ([["0", "1", "2"]], 1, (5, 3)),
            ValueError,
            "init has entries of type <U1; use integers or real numbers",
        ),
        (
            check_init,
            ([[0, 1], [2]], 2, (5, 2)),
            ValueError,
            r"init is not an array of numbers \(.*\); pass centers of shape \(2, 2\) or 2 row",
        ),
        (
            check_init,
            ([[0, 1, None]], 1, (5, 3)),
            ValueError,
            "init is not an array of numbers|init contains nan at row 0, column 2; use finite",
        ),
    ],
)
def test_all_else_is_one_sentence(
    check: Any, arguments: tuple[Any, ...], error: type[Exception], sentence: str
) -> None:
    """The sentence says what is wrong, what was passed and what to use."""
    with pytest.raises(error, match=sentence):
        check(*arguments)


def test_first_centers_are_centers_or_row_indices() -> None:
    """Centers become float64, row indices int64, whatever they were before."""
    rows = check_init(np.array([4, 0], np.uint8), 2, (5, 3))
    np.testing.assert_array_equal(rows, [4, 0])
    assert rows.dtype == np.int64
    centers = check_init([[1, 2, 3]], 1, (5, 3))
    np.testing.assert_array_equal(centers, [[1.0, 2.0, 3.0]])
    assert centers.dtype == np.float64


def test_squares_overflow_from_some_size_on() -> None:
    """Sums of squares of a million differences fit into float64 up to about 1e147."""
    assert not squares_overflow(1e140, (1000, 1000))
    assert squares_overflow(1e150, (1000, 1000))
    assert squares_overflow(1e200, (1, 1))

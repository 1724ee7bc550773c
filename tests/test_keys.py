"""Keys and the streams of random numbers that they open."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.keys import draw_signs, open_stream, resolve_key


def test_a_stream_repeats() -> None:
    """The same key and path give the same draws."""
    draws = [open_stream(7, 1, 2).random(5) for _ in range(2)]
    np.testing.assert_array_equal(*draws)


@pytest.mark.parametrize(
    "names",
    [
        [(7,), (8,), (7, 1), (7, 2), (7, 1, 2), (7, 2, 1)],
        [(7,), (7, 0), (7, 0, 0)],  # a path that ends in zero is not the shorter path
        [(5, 1, 1), (5 + 2**32, 1), (5 + 2**32, 1, 1)],  # nor does a long key run into its path
    ],
)
def test_streams_are_independent(names: list[tuple[int, ...]]) -> None:
    """Different keys or paths give different draws, whatever their lengths."""
    draws = {open_stream(*name).integers(2**63) for name in names}
    assert len(draws) == len(names)


@pytest.mark.parametrize("key", [0, 7, 2**63, 2**64 - 1, np.int64(3), np.uint64(2**64 - 1)])
def test_an_integer_is_its_own_key(key: int) -> None:
    """An integer from 0 to 2**64 - 1 of any integer type is the key itself."""
    resolved = resolve_key(key)
    assert resolved == int(key)
    assert type(resolved) is int


def test_a_random_state_gives_keys_in_turn() -> None:
    """A RandomState gives a new key at each call and the same ones when it starts over."""
    runs = []
    for _ in range(2):
        state = np.random.RandomState(3)
        runs.append([resolve_key(state) for _ in range(4)])
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 4


def test_none_gives_keys_below_two_to_the_64() -> None:
    """None draws a key that `resolve_key` takes back unchanged."""
    key = resolve_key(None)
    assert resolve_key(key) == key


@pytest.mark.parametrize("bad", [-1, 2**64])
def test_an_integer_out_of_range_is_refused(bad: int) -> None:
    """An integer out of range is named, with the range."""
    with pytest.raises(ValueError, match=rf"random_state={bad} is out of range.*0 to 2\*\*64 - 1"):
        resolve_key(bad)


def test_the_global_generator_is_left_alone() -> None:
    """Drawing signs and opening streams does not touch NumPy's global state."""
    before = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    draw_signs(resolve_key(3), (4, 4))
    open_stream(3, 1).random()
    after = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    assert before["pos"] == after["pos"]
    np.testing.assert_array_equal(before["key"], after["key"])

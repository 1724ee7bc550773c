"""Keys, streams and the random numbers that are functions of their coordinates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans.keys import draw_signs, draw_words, open_stream, resolve_key
from tests import reference

KEYS = st.integers(0, 2**64 - 1)
ROWS = st.integers(0, 2**64 - 1000) | st.integers(2**32 - 5, 2**32 + 5) | st.integers(0, 100)
COLUMNS = st.integers(0, 2**32) | st.integers(0, 300)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((2**32 - 1,) * 4, 2**64 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            0x299F31D0A4093822,
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_known_answers(counter: tuple[int, ...], key: int, expected: str) -> None:
    """The twin gives the known answers of the Random123 library."""
    assert " ".join(f"{int(word):08x}" for word in reference.philox(counter, key)) == expected


@given(key=KEYS, row=ROWS, column=COLUMNS, n=st.integers(1, 6), t=st.integers(1, 200))
def test_signs_equal_the_twin(key: int, row: int, column: int, n: int, t: int) -> None:
    """Native signs are those of the twin at any coordinates, rows above 2**32 included."""
    expected = reference.signs(key, range(row, row + n), range(column, column + t))
    np.testing.assert_array_equal(draw_signs(key, (n, t), row=row, column=column), expected)


@given(key=KEYS, row=ROWS, column=COLUMNS, n=st.integers(1, 6), t=st.integers(1, 50))
def test_words_equal_the_twin(key: int, row: int, column: int, n: int, t: int) -> None:
    """Native words are those of the twin at any coordinates, rows above 2**32 included."""
    expected = reference.random_words(key, range(row, row + n), range(column, column + t))
    np.testing.assert_array_equal(draw_words(key, (n, t), row=row, column=column), expected)


@given(key=KEYS, row=st.integers(0, 40), column=st.integers(0, 300), data=st.data())
def test_any_rectangle_is_part_of_a_larger_one(
    key: int, row: int, column: int, data: st.DataObject
) -> None:
    """A rectangle drawn alone equals the same part of a larger one, for signs and for words."""
    shape = (data.draw(st.integers(1, 50 - row)), data.draw(st.integers(1, 350 - column)))
    part = np.s_[row : row + shape[0], column : column + shape[1]]
    for draw in (draw_signs, draw_words):
        alone = draw(key, shape, row=row, column=column)
        np.testing.assert_array_equal(alone, draw(key, (50, 350))[part])


@pytest.mark.parametrize("t", [1, 31, 32, 127, 128, 129, 200])
def test_columns_are_nested(t: int) -> None:
    """The first t columns of a wider matrix are the matrix of width t."""
    np.testing.assert_array_equal(draw_signs(3, (20, 300))[:, :t], draw_signs(3, (20, t)))


def test_entries_are_signs() -> None:
    """Every entry is -1 or +1, in one byte."""
    signs = draw_signs(11, (100, 300))
    assert signs.dtype == np.int8
    assert set(np.unique(signs)) == {-1, 1}


@pytest.mark.parametrize("key", [0, 1, 2**32, 2**64 - 1])
def test_signs_are_balanced(key: int) -> None:
    """The sum of all signs, of each row's and of each column's is that of fair coins."""
    # |z| < 5 for 1 + 1024 + 512 sums: fails for 1537 * 5.7e-7 < 0.1 % of keys; these are fixed.
    signs = draw_signs(key, (1024, 512)).astype(np.int64)
    assert abs(signs.sum()) < 5 * np.sqrt(signs.size)
    assert np.abs(signs.sum(axis=0)).max() < 5 * np.sqrt(1024)
    assert np.abs(signs.sum(axis=1)).max() < 5 * np.sqrt(512)


def test_signs_are_pairwise_independent() -> None:
    """Any two columns, and any two rows, agree as often as they differ."""
    # 2 * 300 * 299 / 2 pairs with |z| < 6: fails for 89,700 * 2e-9 < 0.02 % of keys; this is fixed.
    signs = draw_signs(5, (4096, 300)).astype(np.float64)
    for matrix in (signs, draw_signs(5, (300, 4096)).astype(np.float64).T):
        products = matrix.T @ matrix / np.sqrt(4096)
        np.fill_diagonal(products, 0)
        assert np.abs(products).max() < 6


def test_triples_of_columns_are_independent() -> None:
    """The product of any three columns is balanced."""
    # 4060 triples with |z| < 5.5: fails for 4060 * 3.8e-8 < 0.02 % of keys; this is fixed.
    signs = draw_signs(6, (4096, 30)).astype(np.int64)
    triples = [signs[:, list(three)].prod(axis=1).sum() for three in _threes(30)]
    assert np.abs(triples).max() < 5.5 * np.sqrt(4096)


def _threes(n: int) -> itertools.combinations[tuple[int, int, int]]:
    return itertools.combinations(range(n), 3)


@pytest.mark.parametrize("other", [1, 2**32, 2**63])
def test_keys_give_unrelated_matrices(other: int) -> None:
    """Two keys that differ in one bit agree in half of all signs."""
    # |z| < 5: fails for 5.7e-7 of keys; these are fixed.
    agreement = np.sum(draw_signs(0, (512, 512)).astype(int) * draw_signs(other, (512, 512)))
    assert abs(agreement) < 5 * 512


def test_each_bit_of_words_is_balanced() -> None:
    """Each of the 64 bits of the words is set in half of all places."""
    # 64 bits with |z| < 5: fails for 64 * 5.7e-7 < 0.004 % of keys; this is fixed.
    words = draw_words(9, (256, 256)).ravel()
    ones = np.array([int(np.sum(words >> np.uint64(bit) & np.uint64(1))) for bit in range(64)])
    assert np.abs(ones - words.size / 2).max() < 5 * np.sqrt(words.size) / 2


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

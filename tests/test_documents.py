"""Values as JSON documents: what comes back is what went in, and nothing damaged gets through."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.documents import (
    Count,
    Finite,
    NotNegative,
    ParameterName,
    Seconds,
    Shape,
    Share,
    Size,
    Sizes,
    decode_json,
    from_document,
    join_arrays,
    quote,
    read_document,
    split_arrays,
    to_document,
)
from projected_kmeans.results import Clustering, Floats


@dataclass(frozen=True)
class Leaf:
    """A value with a default."""

    name: str
    size: float | None = None


@dataclass(frozen=True)
class Tree:
    """A value that holds others, and an array."""

    leaves: tuple[Leaf, ...]
    sums: Floats
    counts: dict[str, int]


TREE = Tree((Leaf("a", 1.5), Leaf("b")), np.array([1.0, np.nan]), {"x": 3})


def test_values_come_back() -> None:
    """A value survives the way through JSON; arrays keep their bits, not-a-number included."""
    found = split_arrays(TREE)
    document = json.loads(json.dumps(found.document))
    again = join_arrays(Tree, document, found.arrays, "the tree")
    assert (again.leaves, again.counts) == (TREE.leaves, TREE.counts)
    np.testing.assert_array_equal(again.sums, TREE.sums)


def test_numbers_of_numpy_become_plain() -> None:
    """NumPy's scalars are written as Python's numbers."""
    assert json.dumps(to_document(Leaf("a", np.float32(0.5)))) == '{"name": "a", "size": 0.5}'


def test_defaults_are_written() -> None:
    """A field that was absent in a document has its default, and is written with it."""
    leaf = from_document(Leaf, {"name": "a"}, "the leaf")
    assert to_document(leaf) == {"name": "a", "size": None}


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"size": 1.0}, "missing required field `name`"),
        ({"name": 3}, "Expected `str`, got `int` - at `name`"),
        ({"name": "a", "size": "1"}, "got `str` - at `size`"),
        ({"name": "a", "size": True}, "got `bool` - at `size`"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_a_document_of_another_shape_is_refused(document: Any, problem: str) -> None:
    """Each wrong type gets one sentence that says where it stands and what to do."""
    with pytest.raises(ValueError, match=r"^the leaf is damaged \(.*\); fit again$") as caught:
        from_document(Leaf, document, "the leaf")
    assert problem in str(caught.value)


@pytest.mark.parametrize("name", ["array-7", 3, None])
def test_a_missing_array_is_refused(name: Any) -> None:
    """A document that names an array that is not there is damaged."""
    document = {"leaves": [], "sums": name, "counts": {}}
    with pytest.raises(ValueError, match="the tree is damaged"):
        join_arrays(Tree, document, {"array-0": np.zeros(1)}, "the tree")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "is not valid JSON"),
        (b'{"format": NaN}', "is not valid JSON"),
        (b'{"size": 1e999}', "is not a mine"),
        (b'{"format": "mine", "format_version": 1, "size": 1e999}', "is not valid JSON"),
        (b'{"format": "mine", "format_version": 1, "size": ' + b"9" * 5000 + b"}", "out of range"),
        (b'{"format": "mine", "format_version": 1, "a": "\\ud800"}', "is not valid JSON"),
        (b'{"format": "mine", "format_version": 1, "a": ' + b"[" * 10**5, "nested too deeply"),
        (b'\xef\xbb\xbf{"format": "mine", "format_version": 1}', "is not valid JSON"),
        (b'{"format": "mine", "format_version": 1}}', "is not valid JSON"),
        (b"", "is not valid JSON"),
        (b'{"format": "\xff"}', "is not valid JSON"),
        (b"[" * 100_000, "is not a mine"),
        (b"[]", "is not a mine"),
        (b'{"format": "other"}', "is not a mine"),
        (b'{"format": "mine", "format_version": 2}', "has format version 2"),
        (b'{"format": "mine"}', "has format version None"),
        (b'{"format": "mine", "format_version": true}', "is not a mine"),
        (b'{"format": "mine", "format_version": "%s"}' % (b"1" * 9999), r"version '1+\.\.\. and"),
    ],
)
def test_a_bad_file_gets_one_sentence(tmp_path: Path, content: bytes, problem: str) -> None:
    """Whatever a file holds, reading it ends in a value or in one sentence."""
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=problem) as caught:
        read_document(path, ["mine"], 1)
    assert ";" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"[" * 10**5 + b"]" * 10**5, b'{"a":' * 10**5, b"1e999"])
def test_bytes_that_are_no_document_get_one_sentence(content: bytes) -> None:
    """JSON from elsewhere than a file is refused like that of a file, however deep it is nested."""
    with pytest.raises(ValueError, match=r"^the list is not valid JSON \(.*\); fit again$"):
        decode_json(content, "the list")


def test_a_good_file_is_read(tmp_path: Path) -> None:
    """A document of the right format and version comes back whole."""
    path = tmp_path / "file.json"
    path.write_text('{"format": "mine", "format_version": 1, "size": 2.5}')
    assert read_document(path, ["other", "mine"], 1)["size"] == 2.5


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    """A file of another size class is refused by its size alone."""
    path = tmp_path / "file.json"
    with path.open("wb") as handle:
        handle.truncate(2**40)  # a hole, which takes no space
    with pytest.raises(ValueError, match="has 1099511627776 bytes, more than any"):
        read_document(path, ["mine"], 1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    """A named pipe, which would wait for a writer for ever, is refused."""
    os.mkfifo(tmp_path / "file.json")
    with pytest.raises(ValueError, match="is not a file; name"):
        read_document(tmp_path / "file.json", ["mine"], 1)


@dataclass(frozen=True)
class Limits:
    """A field of every range."""

    count: Count = 0
    size: Size = 1
    finite: Finite = 0.0
    amount: NotNegative = 0.0
    share: Share = 0.0
    seconds: Seconds = 0.0
    names: dict[ParameterName, int] = field(default_factory=dict)
    sizes: tuple[Size, ...] = ()


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("count", -1, "`int` >= 0 - at `count`, got -1"),
        ("count", 2**63, "`int` <= 9223372036854775807 - at `count`, got 9223372036854775808"),
        ("count", 10**400, r"at `count`, got 1000000000000000000000000000000000000000..."),
        ("count", True, "got `bool` - at `count`"),
        ("count", 1.0, "got `float` - at `count`"),
        ("size", 0, "`int` >= 1 - at `size`, got 0"),
        ("finite", 10**400, "out of range - at `finite`, got 1000"),
        ("finite", math.inf, "at `finite`, got inf"),
        ("finite", math.nan, "at `finite`, got nan"),
        ("amount", -0.5, "at `amount`, got -0.5"),
        ("share", 1.5, "at `share`, got 1.5"),
        ("seconds", 1e300, "at `seconds`, got 1e+300"),
        ("names", {"a b": 1}, "matching regex"),
        ("sizes", [1, 2, 0], "at `sizes[2]`, got 0"),
    ],
)
def test_ranges(name: str, value: Any, problem: str) -> None:
    """A value outside the range of its field is refused, with the field and what it got."""
    with pytest.raises(ValueError, match=r"^the limits is damaged \(.*\); fit again$") as caught:
        from_document(Limits, {name: value}, "the limits")
    assert problem in str(caught.value)


def test_an_array_of_another_type_is_refused() -> None:
    """An array must have the element type that its field names."""
    with pytest.raises(ValueError, match="array-0 has type int64, not float64"):
        join_arrays(
            Tree,
            {"leaves": [], "sums": "array-0", "counts": {}},
            {"array-0": np.zeros(1, np.int64)},
            "the tree",
        )


def test_an_array_of_any_type_is_taken() -> None:
    """A field that names no element type takes any array."""
    found = join_arrays(NDArray[Any], "array-0", {"array-0": np.arange(3)}, "the numbers")
    assert found.tolist() == [0, 1, 2]


def test_a_long_value_is_cut() -> None:
    """An error quotes the first 40 characters of a value."""
    assert (quote("x"), quote(10**50)) == ("'x'", f"1{'0' * 39}...")


# --- the shapes of arrays ------------------------------------------------------------------------

PARTITION = Clustering(
    np.array([0, 1, 1], np.int32), np.zeros((2, 4)), np.ones(2), 1.5, 9.0, 1, True
)
SIZES: Sizes = {"rows": 3, "columns": 4, "clusters": 2}


def join(value: Any, sizes: Sizes = SIZES) -> Any:
    """Take a value apart and read it with these sizes."""
    parts = split_arrays(value)
    return join_arrays(type(value), parts.document, parts.arrays, "the part", sizes)


def test_a_partition_of_the_rows_is_taken() -> None:
    """A partition with the right shapes and ranges is usable, also with no rows at all."""
    assert join(PARTITION).inertia == 1.5
    empty = replace(PARTITION, labels=np.empty(0, np.int32))
    assert len(join(empty, {**SIZES, "rows": 0}).labels) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"labels": np.array([0, 1, 2], np.int32)},
        {"labels": np.array([0, -1, 1], np.int32)},
        {"labels": np.array([0, 1], np.int32)},
        {"labels": np.array([[0, 1, 1]], np.int32)},
        {"labels": np.array(1, np.int32)},
        {"labels": np.empty(0, np.int32)},
        {"centers": np.zeros((2, 3))},
        {"centers": np.full((2, 4), np.nan)},
        {"mass": np.ones(3)},
        {"center_weights": np.ones(3)},
        {"center_weights": np.full(2, np.inf)},
        {"inertia": -1.0},
        {"inertia": np.inf},
        {"sum_of_squares": np.nan},
        {"n_iter": -1},
        {"history": (1.0, np.nan)},
    ],
    ids=str,
)
def test_any_other_partition_is_refused(change: dict[str, Any]) -> None:
    """Each wrong shape, number or label is noticed."""
    with pytest.raises(ValueError, match="the part is damaged"):
        join(replace(PARTITION, **change))


@dataclass(frozen=True)
class Lists:
    """Which clusters are near to each; or nothing."""

    near: Annotated[
        NDArray[np.int64],
        Shape(("clusters", "any"), below="clusters", distinct=True, may_be_empty=True),
    ]


@dataclass(frozen=True)
class Search:
    """A partition of another space, and lists or none."""

    inside: Annotated[Clustering, {"rows": 3, "columns": None}]
    lists: Lists | None = None


@pytest.mark.parametrize(
    ("near", "is_taken"),
    [
        (np.empty((0, 0), np.int64), True),
        (np.array([[0, 1], [1, 0]]), True),
        (np.array([[0], [0]]), True),
        (np.array([[0, 0], [1, 0]]), False),
        (np.array([[0, 1]]), False),
        (np.array([[0, 2], [1, 0]]), False),
        (np.array([0, 1]), False),
    ],
    ids=str,
)
def test_lists_name_different_clusters(near: NDArray[np.int64], is_taken: bool) -> None:
    """A cluster lists no cluster twice, and there may be no lists at all."""
    search = Search(PARTITION, Lists(near))
    if is_taken:
        np.testing.assert_array_equal(join(search).lists.near, near)
    else:
        with pytest.raises(ValueError, match="near has shape"):
            join(search)


def test_a_field_may_have_other_sizes() -> None:
    """What a field holds has the sizes that its annotation says, and any where that is None."""
    sizes = {"rows": 9, "columns": 9, "clusters": 2}
    assert join(Search(PARTITION), sizes).lists is None
    with pytest.raises(ValueError, match="labels has shape"):
        join(Search(replace(PARTITION, labels=np.zeros(9, np.int32))), sizes)


def test_a_shape_needs_its_sizes() -> None:
    """To read a value without the sizes of its arrays is a mistake that is noticed."""
    with pytest.raises(KeyError, match="rows"):
        join(PARTITION, {})

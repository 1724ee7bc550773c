"""Values as JSON documents: what comes back is what went in, and nothing damaged gets through."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans.documents import (
    from_document,
    join_arrays,
    read_document,
    split_arrays,
    to_document,
)
from projected_kmeans.results import Floats


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
        (b'{"size": 1e999}', "is not valid JSON"),
        (b'{"format": "\xff"}', "is not valid JSON"),
        (b"[" * 100_000, "is not valid JSON"),
        (b"[]", "is not a mine"),
        (b'{"format": "other"}', "is not a mine"),
        (b'{"format": "mine", "format_version": 2}', "has format version 2"),
        (b'{"format": "mine"}', "has format version None"),
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


def test_a_good_file_is_read(tmp_path: Path) -> None:
    """A document of the right format and version comes back whole."""
    path = tmp_path / "file.json"
    path.write_text('{"format": "mine", "format_version": 1, "size": 2.5}')
    assert read_document(path, ["other", "mine"], 1)["size"] == 2.5

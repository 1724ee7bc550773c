"""The parts of a checkpoint as files: whatever they hold, they are read or told to be damaged."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.running.part_files import (
    FORMAT_VERSION,
    DamagedPart,
    Part,
    read_part,
    write_part,
)


def forge(path: Path, content: bytes) -> None:
    """Write any content with the checksum that it must have."""
    path.write_bytes(content + hashlib.sha256(content).digest())


def make_header(**changes: Any) -> bytes:
    """Return the first line of a part, with changes."""
    header = {"format_version": FORMAT_VERSION, "run": "x", "document": {}, "arrays": ["a"]}
    return json.dumps(header | changes).encode() + b"\n"


def make_array(header: str) -> bytes:
    """Return a ``.npy`` file with a header of one's own and 8 bytes of content."""
    text = header.encode().ljust(118 - 10 + 9) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)


def test_a_part_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The hash of the run, the document and the arrays come back."""
    write_part(tmp_path / "a.part", "run", Part({"x": 1}, {"a": np.arange(3)}))
    run, part = read_part(tmp_path / "a.part")
    assert (run, part.document, part.arrays["a"].tolist()) == ("run", {"x": 1}, [0, 1, 2])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"{\n",
        b"[1]\n",
        b"3\n",
        b"{}\n",
        b"[" * 100_000 + b"\n",
        b"\xff\xfe\n",
        make_header(document=[]),
        make_header(arrays=3),
        make_header(),
        make_header() + b"text",
        make_header() + make_array("{'descr': '<f8', 'fortran_order': False, 'shape': (1,),"),
        make_header() + make_array("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"),
        make_header() + make_array("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"),
        make_header() + make_array("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
        make_header() + make_array("{'descr': '<f8', 'shape': (1,), }"),
        make_header()
        + make_array("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"),
    ],
)
def test_forged_parts_are_damaged(content: bytes, tmp_path: Path) -> None:
    """A part that is none is damaged, though its checksum is right, and asks for no memory."""
    forge(tmp_path / "a.part", content)
    with pytest.raises(DamagedPart):
        read_part(tmp_path / "a.part")


# --- values in parts ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inner:
    """A value within another."""

    rows: NDArray[np.float64]
    history: tuple[float, ...]


@dataclass(frozen=True)
class Outer:
    """Fields of every kind that steps store."""

    count: int
    name: str
    inner: Inner
    maybe: Inner | None
    done: bool


@pytest.mark.parametrize("maybe", [None, Inner(np.zeros(0), ())])
def test_nested_values_come_back(maybe: Inner | None) -> None:
    """Arrays, tuples, optional values and plain ones are as they were, after JSON too."""
    value = Outer(3, "x", Inner(np.array([0.1, -0.0]), (0.1, 1e300)), maybe, True)
    part = Part.of(value)
    stored = Part(json.loads(json.dumps(part.document)), part.arrays)
    found = stored.value(Outer)
    assert (found.count, found.name, found.done) == (3, "x", True)
    assert found.inner.history == (0.1, 1e300)
    assert found.inner.rows.tobytes() == value.inner.rows.tobytes()
    assert (found.maybe is None) == (maybe is None)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(float, np.float64(0.1)), (int, 7), (str, "word"), (type(None), None), (tuple, (1, 2))],
)
def test_plain_values_come_back(kind: type[Any], value: Any) -> None:
    """A number, a text, nothing and a tuple need no dataclass around them."""
    part = Part.of(value)
    stored = Part(json.loads(json.dumps(part.document)), part.arrays)
    assert stored.value(kind) == value


def test_an_array_comes_back() -> None:
    """An array needs no dataclass either; further entries of the document do not disturb it."""
    part = Part.of(np.arange(4), "restart-0")
    assert part.document == {"value": "array-0", "owner": "restart-0"}
    np.testing.assert_array_equal(part.value(np.ndarray), np.arange(4))

"""The parts of a checkpoint as files: whatever they hold, they are read or told to be damaged."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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

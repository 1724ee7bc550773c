"""Writing files: completely or not at all, in a folder that is known to be writable."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from projected_kmeans.output_files import (
    open_output_folder,
    write_array,
    write_atomically,
    write_json,
)


def test_a_file_is_replaced(tmp_path: Path) -> None:
    """The new content takes the place of the old, and nothing else appears."""
    path = tmp_path / "file.txt"
    write_atomically(path, lambda handle: handle.write(b"old"))
    write_atomically(path, lambda handle: handle.write(b"new"))
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failure", [RuntimeError("stop"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file(failure: BaseException, tmp_path: Path) -> None:
    """Whatever interrupts the writing, the old content stays and no temporary file is left."""
    path = tmp_path / "file.txt"
    path.write_bytes(b"old")

    def fail(handle: BinaryIO) -> None:
        handle.write(b"half")
        raise failure

    with pytest.raises(type(failure)):
        write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    """A written file is as readable as one that open() creates."""
    (tmp_path / "plain").write_bytes(b"")
    write_atomically(tmp_path / "file", lambda handle: handle.write(b""))
    modes = {stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in ("plain", "file")}
    assert len(modes) == 1


def test_json_and_arrays_come_back(tmp_path: Path) -> None:
    """What write_json and write_array write, json and numpy read."""
    write_json(tmp_path / "a.json", {"name": "größe", "sizes": [1, 2]})
    assert json.loads((tmp_path / "a.json").read_bytes()) == {"name": "größe", "sizes": [1, 2]}
    write_array(tmp_path / "a.npy", np.arange(3))
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), [0, 1, 2])


def test_values_that_a_format_cannot_hold_are_refused(tmp_path: Path) -> None:
    """NaN in JSON and Python objects in arrays are refused before a file exists."""
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"inertia": float("nan")})
    with pytest.raises(ValueError, match="Object arrays"):
        write_array(tmp_path / "a.npy", np.array([{}], dtype=object))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    """A path without its folder, and a path that is a folder, give one sentence each."""
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "none" / "file.txt", tmp_path / "folder"):
        with pytest.raises(ValueError, match=r"cannot be written \(.*\); choose another place"):
            write_atomically(path, lambda handle: handle.write(b"text"))
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_folder_is_created(tmp_path: Path) -> None:
    """A folder is created with its parents, empty, and may exist already."""
    for _ in range(2):
        with open_output_folder(tmp_path / "a" / "b") as folder:
            assert folder == tmp_path / "a" / "b"
            assert list(folder.iterdir()) == []


def test_a_folder_under_a_file(tmp_path: Path) -> None:
    """A path under a regular file, or the file itself, is refused and nothing is created."""
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file", tmp_path / "file" / "a" / "b"):
        with (
            pytest.raises(ValueError, match=r"cannot be written \(.*\); choose another place"),
            open_output_folder(path),
        ):
            pytest.fail("the work must not start")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_failed_work_leaves_no_empty_folder(tmp_path: Path) -> None:
    """If the work fails, the empty folders that were created for it are removed."""
    with pytest.raises(RuntimeError), open_output_folder(tmp_path / "a" / "b"):
        raise RuntimeError("the work failed")
    assert list(tmp_path.iterdir()) == []


def test_failed_work_keeps_what_was_there(tmp_path: Path) -> None:
    """If the work fails, folders that existed or that hold a file stay."""
    (tmp_path / "a").mkdir()
    with pytest.raises(RuntimeError), open_output_folder(tmp_path / "a"):
        raise RuntimeError("the work failed")
    assert (tmp_path / "a").is_dir()

    def fail_half_way() -> None:
        with open_output_folder(tmp_path / "b" / "c") as folder:
            (folder / "file").touch()
            raise RuntimeError("the work failed")

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert (tmp_path / "b" / "c" / "file").exists()

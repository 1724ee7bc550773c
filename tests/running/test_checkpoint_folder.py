"""The folder of a checkpoint: parts come back whole, damaged ones do not, one run at a time."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.output_files import Locked
from projected_kmeans.running import checkpoint_folder
from projected_kmeans.running.checkpoint_folder import CheckpointFolder, open_checkpoint_folder
from projected_kmeans.running.part_files import Part

RUN = {"data": "mine", "n_clusters": 3}


def test_a_part_comes_back(tmp_path: Path) -> None:
    """Documents and arrays of any type and shape come back as they were, to the bit."""
    arrays = {
        "floats": np.array([[0.1, np.inf], [-0.0, np.nan]]),
        "labels": np.arange(5, dtype=np.uint8),
        "none": np.empty((0, 3), np.float32),
        "turned": np.arange(6).reshape(2, 3).T,
    }
    CheckpointFolder(tmp_path, RUN).write("some", Part({"x": [1, 0.1, None]}, arrays))
    found = CheckpointFolder(tmp_path, RUN).read("some")
    assert found is not None
    assert found.document == {"x": [1, 0.1, None]}
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].tobytes() == array.tobytes()


def test_a_part_of_another_run_is_absent(tmp_path: Path) -> None:
    """A part of another run is never read."""
    CheckpointFolder(tmp_path, RUN).write("some", Part({}))
    assert CheckpointFolder(tmp_path, {**RUN, "n_clusters": 4}).read("some") is None


@pytest.mark.parametrize("cut", [0, 1, 40, 200, 331])
def test_a_torn_part_is_ignored(cut: int, tmp_path: Path) -> None:
    """A part that ends early, at any byte, is ignored with a warning."""
    folder = CheckpointFolder(tmp_path, RUN)
    folder.write("some", Part({"x": 1}, {"a": np.arange(9.0)}))
    path = tmp_path / "some.part"
    content = path.read_bytes()
    path.write_bytes(content[: min(cut, len(content) - 1)])
    with pytest.warns(UserWarning, match=r"some\.part is damaged and is ignored"):
        assert folder.read("some") is None


def test_any_other_byte_is_noticed(tmp_path: Path) -> None:
    """No byte of a part can change without being noticed."""
    folder = CheckpointFolder(tmp_path, RUN)
    folder.write("some", Part({"x": 1}, {"a": np.arange(3.0)}))
    path = tmp_path / "some.part"
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.warns(UserWarning, match="damaged"):
            assert folder.read("some") is None


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    """A second run in the same folder is refused while the first goes on, and not after it."""
    with open_checkpoint_folder(tmp_path / "a", RUN) as folder:
        folder.write("some", Part({}))
        with (
            pytest.raises(ValueError, match=r"in use by another process; wait"),
            open_checkpoint_folder(tmp_path / "a", RUN),
        ):
            pass
    with open_checkpoint_folder(tmp_path / "a", RUN) as folder:
        assert folder.read("some") is not None


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no locks, as on some NFS, a checkpoint works and warns; it is not in use."""

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        pytest.warns(UserWarning, match="has no locks: let only one process at a time"),
        open_checkpoint_folder(tmp_path / "a", RUN) as folder,
    ):
        folder.write("some", Part({}))
    assert (tmp_path / "a" / "some.part").exists()


def test_a_lock_that_its_holder_removes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock file that loses its name before it is locked holds nobody off, so it is not used."""
    plain, removed = checkpoint_folder.try_lock, list[Path]()

    def lock(descriptor: int) -> Locked:
        if not removed:
            removed.append(tmp_path / "a" / "lock")
            removed[0].unlink()  # as the process before does at its end
        return plain(descriptor)

    monkeypatch.setattr(checkpoint_folder, "try_lock", lock)
    with (
        open_checkpoint_folder(tmp_path / "a", RUN),
        pytest.raises(ValueError, match="in use by another process"),
        open_checkpoint_folder(tmp_path / "a", RUN),
    ):
        pass


def test_nothing_stays_of_nothing(tmp_path: Path) -> None:
    """A run that fails before it has stored anything leaves no folder."""
    with pytest.raises(KeyError), open_checkpoint_folder(tmp_path / "a" / "b", RUN):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_safe(tmp_path: Path) -> None:
    """A folder that holds something else is not taken, and what comes later is not removed."""
    (tmp_path / "mine.txt").write_text("x")
    with (
        pytest.raises(ValueError, match=r"holds mine\.txt and no checkpoint; use a new"),
        open_checkpoint_folder(tmp_path, RUN),
    ):
        pass
    with open_checkpoint_folder(tmp_path / "new", RUN) as folder:
        folder.write("some", Part({}))
        (tmp_path / "new" / "mine.npy").write_text("x")
        folder.clear()
    names = sorted(file.name for file in (tmp_path / "new").iterdir())
    assert names == ["lock", "mine.npy", "run.part"]

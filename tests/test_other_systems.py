"""Systems without Linux's calls and files: macOS has neither `posix_fallocate` nor /proc.

What such a system lacks is taken away here, so that the ways around it are tested on Linux.
"""

from __future__ import annotations

import errno
import mmap
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans, open_rows
from projected_kmeans.blocks.stored_blocks import StoredBlocks, release
from projected_kmeans.commands import data
from projected_kmeans.output_files import Locked, sync_folder, try_lock
from projected_kmeans.paper import experiment
from projected_kmeans.search import memory_plan
from projected_kmeans.search import storage as sketch_file
from projected_kmeans.search.storage import new_array_file, new_unnamed_array
from projected_kmeans.sources import memory, reader_child, reader_messages
from projected_kmeans.sources.isolated_source import IsolatedRows
from projected_kmeans.sources.memory import available_memory, machine_memory
from tests.support.row_files import ROWS, save_mat

Patch = pytest.MonkeyPatch
MISSING = Path("/no/such/folder/of/linux")


def without_fallocate(patch: Patch) -> None:
    """No space can be reserved in a file."""
    patch.delattr(os, "posix_fallocate", raising=False)


def without_shared_memory(patch: Patch) -> None:
    """No file lies in memory alone, and no mapping is filled at once."""
    patch.delattr(os, "memfd_create", raising=False)
    patch.setattr(reader_messages, "MAP_POPULATE", 0)


def without_madvise(patch: Patch) -> None:
    """No page can be given back."""
    patch.delattr(mmap, "MADV_DONTNEED", raising=False)


def without_proc(patch: Patch) -> None:
    """No file tells of memory and processors."""
    patch.setattr(memory, "MEMORY_INFO", MISSING)
    patch.setattr(memory, "CONTAINER", MISSING)
    for module in (memory, reader_child):
        patch.setattr(module, "PROCESS_PAGES", MISSING)
    patch.setattr(experiment, "PROCESSORS", MISSING)


def without_locks(patch: Patch) -> None:
    """Python has no `fcntl`."""
    patch.setitem(sys.modules, "fcntl", None)


LACKS: list[Callable[[Patch], None]] = [
    without_fallocate,
    without_shared_memory,
    without_madvise,
    without_proc,
    without_locks,
]


@pytest.mark.filterwarnings("ignore:the file system of .* has no locks")
@pytest.mark.parametrize("lack", LACKS, ids=lambda lack: lack.__name__)
def test_a_fit_of_files_is_the_same(lack: Callable[[Patch], None], tmp_path: Path) -> None:
    """A fit with little memory, a checkpoint and a file of another process keeps its bits."""
    X = np.random.default_rng(0).normal(size=(8000, 60)) + 9 * np.eye(5, 60).repeat(1600, axis=0)
    np.save(tmp_path / "rows.npy", X)
    options: dict[str, Any] = {"n_clusters": 5, "n_components": 20, "random_state": 0}
    expected = ProjectedKMeans(**options).fit(X)
    with pytest.MonkeyPatch.context() as patch:
        lack(patch)
        patch.setattr(memory_plan, "MIN_BLOCK_BYTES", 2**12)
        rows = open_rows(tmp_path / "rows.npy")
        model = ProjectedKMeans(**options, memory_limit="4MB", checkpoint=tmp_path / "kept")
        model.fit(rows)
        source = open_rows(save_mat(tmp_path, ROWS))
        assert isinstance(source, IsolatedRows)
        with source:
            np.testing.assert_array_equal(source.read(0, len(ROWS)), ROWS)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.inertia_ == expected.inertia_


@pytest.mark.parametrize("named", [True, False])
def test_zeros_take_the_space_of_a_sketch(named: bool, tmp_path: Path, monkeypatch: Patch) -> None:
    """Without `posix_fallocate`, all blocks of a file are on the disk, and its header is kept."""
    without_fallocate(monkeypatch)
    monkeypatch.setattr(sketch_file, "ZEROS", bytes(1000))  # of another size than the file
    path = tmp_path / "sketch.npy"
    shape, dtype = (1000, 8), np.dtype(float)
    array = new_array_file(path, shape, dtype) if named else new_unnamed_array(shape, dtype)
    assert array.shape == shape
    assert not array.any()
    if named:
        assert path.stat().st_blocks * 512 >= array.nbytes
        array[:] = 7
        np.testing.assert_array_equal(np.load(path), np.full(shape, 7.0))


def test_a_full_disk_is_told_before_the_first_row(tmp_path: Path, monkeypatch: Patch) -> None:
    """Without `posix_fallocate`, a sketch without room gives a sentence and leaves no file."""
    without_fallocate(monkeypatch)

    def fail(descriptor: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", fail)
    with pytest.raises(ValueError, match="No space left on device"):
        new_array_file(tmp_path / "sketch.npy", (10, 8), np.dtype(float))
    assert list(tmp_path.iterdir()) == []


def test_memory_is_that_of_the_machine(monkeypatch: Patch) -> None:
    """Without /proc, as much is at hand as the machine has; without an answer, there is no end."""
    before = available_memory()
    without_proc(monkeypatch)
    assert before <= available_memory() == machine_memory() < float("inf")
    assert memory.memory_left() == machine_memory()
    monkeypatch.delattr(os, "sysconf")
    assert available_memory() == float("inf")
    assert data.find_machine_memory() == data.ASSUMED_MEMORY


def test_memory_of_a_reader_is_not_limited(monkeypatch: Patch) -> None:
    """Without /proc, nobody knows how much a reader uses; its time is still limited."""
    program = (
        "from pathlib import Path\n"
        "import numpy as np\n"
        "from projected_kmeans.sources import reader_child\n"
        f"reader_child.PROCESS_PAGES = Path({str(MISSING)!r})\n"
        "with reader_child.Limits().hold(0, 0):\n"
        "    print(np.zeros(2**28).nbytes)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [str(2**31)], done.stderr
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] != 0


def test_processors_have_a_name(monkeypatch: Patch) -> None:
    """Without /proc, the platform names the processor."""
    without_proc(monkeypatch)
    assert experiment.name_processor()


def test_locks_that_python_lacks_are_not_in_use(tmp_path: Path, monkeypatch: Patch) -> None:
    """Without `fcntl`, no file counts as locked by another process."""
    without_locks(monkeypatch)
    with open(tmp_path / "file", "wb") as handle:
        assert try_lock(handle.fileno()) is Locked.UNSUPPORTED


def test_folders_that_cannot_be_opened_are_not_synchronized(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    """Without O_DIRECTORY, a folder stays as it is."""
    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.setattr(os, "fsync", lambda descriptor: pytest.fail("synchronized"))
    sync_folder(tmp_path)


def test_pages_that_cannot_be_given_back_stay(tmp_path: Path, monkeypatch: Patch) -> None:
    """Without MADV_DONTNEED, a mapped file is walked, and nothing is given back."""
    without_madvise(monkeypatch)
    np.save(tmp_path / "rows.npy", np.arange(20_000.0).reshape(200, 100))
    release(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    walked = [np.array(block.rows) for block in StoredBlocks(open_rows(tmp_path / "rows.npy"), 64)]
    np.testing.assert_array_equal(np.concatenate(walked).ravel(), np.arange(20_000.0))

"""Where the sketch lies during a fit, and what is left of it afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.running.checkpoint import Checkpoint, Run
from projected_kmeans.running.checkpoint_folder import CheckpointFolder
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.search.memory_plan import MemoryPlan
from projected_kmeans.search.storage import SketchFile, Storage, open_storage
from projected_kmeans.sources.array_source import as_row_source

SHAPE, TYPE = (6, 2), np.dtype(np.float32)
NO_ROWS = ArrayBlocks(np.empty((0, 3)))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which temporary files are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_sketch_in_memory() -> None:
    """Without a limit a sketch is an array in memory."""
    storage = Storage(NO_ROWS, MemoryPlan())
    sketch = storage.new_sketch(SHAPE, TYPE)
    assert isinstance(sketch, np.ndarray)
    assert not isinstance(sketch, np.memmap)
    assert isinstance(storage.open_sketch(sketch), ArrayBlocks)


def test_a_sketch_in_a_temporary_file(temporary: Path) -> None:
    """A sketch that is too large lies in a file without a name, which no kill can leave behind."""
    with open_storage(NO_ROWS, MemoryPlan(sketch_in_memory=False)) as storage:
        sketch = storage.new_sketch(SHAPE, TYPE)
        assert isinstance(sketch, np.memmap)
        sketch[:] = np.arange(12).reshape(SHAPE)
        assert list(temporary.iterdir()) == []
        opened = storage.open_sketch(sketch)
        assert isinstance(opened, StoredBlocks)
        np.testing.assert_array_equal(opened.select(), np.arange(12).reshape(SHAPE))
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_sketch_in_a_checkpoint(in_memory: bool, temporary: Path, tmp_path: Path) -> None:
    """With a checkpoint, the file of the sketch lies in its folder and nothing is temporary."""
    steps = tmp_path / "steps"
    steps.mkdir()
    run = Run(Monitor(), Checkpoint(CheckpointFolder(steps, {"data": "mine"})))
    with open_storage(NO_ROWS, MemoryPlan(sketch_in_memory=in_memory), run) as storage:
        sketch = storage.new_sketch(SHAPE, TYPE)
        assert isinstance(sketch, np.memmap) != in_memory
        assert list(temporary.iterdir()) == []
    assert (steps / "sketch.part.npy").exists() != in_memory


def test_blocks_are_as_large_as_the_plan_allows() -> None:
    """Stored rows are read in blocks of the planned size."""
    rows = StoredBlocks(as_row_source(np.zeros((100, 4))))
    with open_storage(rows, MemoryPlan(block_bytes=10 * 4 * 8)) as storage:
        assert [len(block.rows) for block in storage.rows] == [10] * 10


# --- the sketch in the folder of a checkpoint ----------------------------------------------------

ROWS = np.random.default_rng(0).normal(size=(10, 3))
RANGES = ColumnRanges(np.zeros(5), np.ones(5))


def open_file(folder: Path, *, in_memory: bool = True) -> tuple[SketchFile, Run]:
    """Open the sketch of a run in a folder."""
    run = Run(Monitor(), Checkpoint(CheckpointFolder(folder, {"data": "mine"})))
    return SketchFile(run, ROWS.shape, ROWS.dtype, 5, in_memory=in_memory), run


def store(folder: Path, *stops: int, in_memory: bool = True) -> None:
    """Store rows of the sketch in some stretches."""
    file, run = open_file(folder, in_memory=in_memory)
    file.array[:] = ROWS
    for stop in stops:
        file.keep(stop, RANGES)
        run.checkpoint.flush()


@pytest.mark.parametrize("in_memory", [True, False])
def test_stored_rows_come_back(in_memory: bool, tmp_path: Path) -> None:
    """Rows that were stored are there again, whether the array is in memory or in the file."""
    store(tmp_path, 4, 7, in_memory=in_memory)
    file, _ = open_file(tmp_path, in_memory=not in_memory)
    assert file.n_rows == 7
    np.testing.assert_array_equal(file.array[:7], ROWS[:7])
    assert file.ranges is not None
    np.testing.assert_array_equal(file.ranges.maximum, RANGES.maximum)


def test_nothing_is_known_at_first(tmp_path: Path) -> None:
    """A new sketch has no rows and no ranges, and no file until something is stored."""
    file, _ = open_file(tmp_path)
    assert (file.n_rows, file.ranges) == (0, None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("row", "n_left"), [(1, 0), (5, 4)])
def test_rows_before_the_damage_are_used(row: int, n_left: int, tmp_path: Path) -> None:
    """Stretches up to the first damaged one are used; the others are computed again."""
    store(tmp_path, 4, 7, 10)
    path = tmp_path / "sketch.part.npy"
    damaged = np.load(path, mmap_mode="r+")
    damaged[row, 2] += 1.0
    damaged.flush()
    with pytest.warns(UserWarning, match=r"sketch\.part\.npy is damaged and is ignored"):
        file, _ = open_file(tmp_path)
    assert file.n_rows == n_left
    assert (file.ranges is None) == (n_left == 0)


@pytest.mark.parametrize("place", range(0, 128, 3))
def test_a_damaged_header_is_only_damage(place: int, tmp_path: Path) -> None:
    """Any byte of the header may be blanked: the rows are computed again, and nothing raises."""
    store(tmp_path, 10)
    path = tmp_path / "sketch.part.npy"
    content = bytearray(path.read_bytes())
    content[place] = 0 if content[place] == ord(" ") else ord(" ")
    path.write_bytes(content)
    with pytest.warns(UserWarning, match=r"sketch\.part\.npy is damaged and is ignored"):
        assert open_file(tmp_path)[0].n_rows == 0


@pytest.mark.parametrize("n_bytes", [0, 5, 100, 200])
def test_a_cut_file_is_only_damage(n_bytes: int, tmp_path: Path) -> None:
    """A file that ends early is computed again."""
    store(tmp_path, 10)
    with open(tmp_path / "sketch.part.npy", "r+b") as handle:
        handle.truncate(n_bytes)
    with pytest.warns(UserWarning, match=r"sketch\.part\.npy is damaged and is ignored"):
        assert open_file(tmp_path)[0].n_rows == 0


def test_a_file_of_another_shape_is_not_used(tmp_path: Path) -> None:
    """A file that does not fit its description is damaged."""
    store(tmp_path, 10)
    np.save(tmp_path / "sketch.part.npy", ROWS[:, :2])
    with pytest.warns(UserWarning, match="is damaged and is ignored"):
        assert open_file(tmp_path)[0].n_rows == 0


@pytest.mark.parametrize("named", [True, False])
def test_a_sketch_without_room(named: bool, tmp_path: Path) -> None:
    """A sketch whose file finds no space on the disk raises one sentence and kills no process."""
    program = (
        "import resource, sys, tempfile\n"
        "from pathlib import Path\n"
        "import numpy as np\n"
        "from projected_kmeans.search.storage import new_array_file, new_unnamed_array\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "path = Path(sys.argv[1])\n"
        "tempfile.tempdir = str(path.parent)\n"
        "try:\n"
        "    if int(sys.argv[2]):\n"
        "        new_array_file(path, (1000, 8), np.dtype(float))\n"
        "    else:\n"
        "        new_unnamed_array((1000, 8), np.dtype(float))\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    path = tmp_path / "sketch.npy"
    run = subprocess.run(
        [sys.executable, "-c", program, str(path), str(int(named))],
        capture_output=True,
        text=True,
        check=False,
    )
    place = path if named else tmp_path
    assert run.stdout.strip() == f"{place} cannot be written (File too large); choose another place"
    assert list(tmp_path.iterdir()) == []

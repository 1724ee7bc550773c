"""A mapped file that is shortened while it is read ends in a sentence, not in SIGBUS."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans import ProjectedKMeans, _native, open_rows
from projected_kmeans.sources.mapped_files import check_file, map_file, mapping_of, watch
from tests.support.shortened_files import CASES

ROOT = Path(__file__).parents[2]

# Watches one file, and then breaks what is not watched.
UNWATCHED = """
import mmap, os, sys
from projected_kmeans.sources.mapped_files import map_file
watched = map_file(sys.argv[1])
with open(sys.argv[1], "rb") as handle:
    other = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
os.truncate(sys.argv[1], 0)
other[8192]
"""

SENT = """
import os, signal, sys
from projected_kmeans.sources.mapped_files import map_file
watched = map_file(sys.argv[1])
os.kill(os.getpid(), signal.SIGBUS)
"""

# A file is shortened before a prediction, and the parts that are left are still those of the file.
PREDICTED = """
import os, sys
import numpy as np
from projected_kmeans import ProjectedKMeans, open_rows
rows = np.random.default_rng(0).normal(size=(20000, 8))
np.save(sys.argv[1], rows)
model = ProjectedKMeans(3, random_state=0).fit(rows)
for source in (open_rows(sys.argv[1]), np.load(sys.argv[1], mmap_mode="r")):
    np.save(sys.argv[1] + ".new", rows)
    os.truncate(sys.argv[1], 8192)
    for work in (model.predict, model.transform, model.score):
        try:
            work(source)
        except ValueError as error:
            print(type(error).__name__, error)
    os.replace(sys.argv[1] + ".new.npy", sys.argv[1])
"""


def call_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter, which a signal may end."""
    command = [sys.executable, *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file of four pages."""
    path = tmp_path / "rows.npy"
    np.save(path, np.arange(2032.0).reshape(-1, 2))
    return path


def test_fits_of_shortened_files_say_so(tmp_path: Path) -> None:
    """A fit whose file is shortened raises; the process lives, and its next fit is right."""
    done = call_python("-m", "tests.support.shortened_files", str(tmp_path))
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [case for case, _, _ in told] == list(CASES), (done.returncode, done.stderr)
    for case, error, same_afterwards in told:
        assert error.startswith("UnreadableFile "), case
        assert "was shortened from " in error, case
        assert "to 10000 bytes while it was read; write it again" in error, case
        assert same_afterwards, case


def test_predictions_of_a_shortened_file_say_so(tmp_path: Path) -> None:
    """Labels, distances and scores of a shortened file are refused, however it was mapped."""
    done = call_python("-c", PREDICTED, str(tmp_path / "rows.npy"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 6
    assert all("was shortened from 1280128 to 8192 bytes" in line for line in lines)


@pytest.mark.parametrize("program", [UNWATCHED, SENT], ids=["another mapping", "a sent signal"])
def test_other_bus_errors_end_the_process(program: str, file: Path) -> None:
    """The watch hides no SIGBUS of anything else: the process ends as it would without it."""
    assert call_python("-c", program, str(file)).returncode == -signal.SIGBUS


def test_a_watch_ends_with_its_array(file: Path) -> None:
    """The numbers of an address are known as long as an array or a view of it lives."""
    content = map_file(file)
    view, address = content[100:], content.__array_interface__["data"][0]
    number = mapping_of(view)
    assert number > 0
    assert _native.mapping_at(address) == number
    del content
    assert mapping_of(view) == number
    del view
    assert _native.mapping_at(address) == 0


def test_an_array_is_watched_once(file: Path) -> None:
    """Watching views of one memory map again gives the same number."""
    mapped = np.load(file, mmap_mode="r")
    number = mapping_of(watch(mapped)[3:])
    assert number == mapping_of(watch(mapped[5:])) == mapping_of(watch(np.asarray(mapped)))


def test_a_whole_file_passes(file: Path) -> None:
    """Rows of a file that is whole, and rows that lie in no file, are not refused."""
    with open_rows(file) as source:
        rows = source.read(0, 1016)
        assert mapping_of(rows) > 0
        check_file(rows)
    check_file(np.zeros((3, 2)))
    assert mapping_of(np.zeros((3, 2))[1:]) == 0


@pytest.mark.parametrize("format", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_sparse_rows_are_fitted_while_a_file_is_mapped(format: str, file: Path) -> None:
    """Rows of every sparse format lie in no file, also those of a dictionary."""
    watched = map_file(file)
    rows = scipy.sparse.csr_array(np.eye(6)).asformat(format)
    assert mapping_of(rows) == 0
    assert len(ProjectedKMeans(2, random_state=0).fit(rows).labels_) == 6
    assert mapping_of(watched)

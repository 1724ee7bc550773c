"""What a reading process answers, and how much memory and time a request may use."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from projected_kmeans.sources.file_format import Choice
from projected_kmeans.sources.memory import available_memory
from projected_kmeans.sources.reader_child import (
    LARGE_STORE,
    MEASURED_FILES,
    SMALLEST_FILE,
    OpenFiles,
    measure_files,
    serve_channel,
)
from projected_kmeans.sources.reader_messages import receive_message, send_message
from projected_kmeans.sources.reader_process import allowed_bytes
from tests.support.row_files import NAMES, SINGLES, as_table, save_parquet


def ask_open(path: Path, format: str) -> dict[str, Any]:
    """Return the request that opens a file."""
    choice = asdict(Choice())
    return {"do": "open", "files": [str(path)], "format": format, "choice": choice, "name": "it"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a Parquet file."""
    return save_parquet(tmp_path, as_table(SINGLES))


def test_a_file_is_opened_read_and_closed(path: Path) -> None:
    """What is known of the rows comes first, then the rows; a closed file is not known."""
    files = OpenFiles()
    facts, labels = files.answer(ask_open(path, ".parquet"))
    assert facts["shape"] == SINGLES.shape
    assert facts["feature_names"] == NAMES
    assert list(labels) == []
    read = {"do": "read", "source": facts["source"], "start": 3, "stop": 8}
    np.testing.assert_array_equal(files.answer(read)[1][0], SINGLES[3:8])
    assert not files.is_idle
    files.answer({"do": "close", "source": facts["source"]})
    assert files.answer(read)[0]["error"] == "other"


def test_errors_have_a_kind(tmp_path: Path, path: Path) -> None:
    """A damaged file, and a request that is not understood."""
    files = OpenFiles()
    path.write_bytes(b"PAR1")
    answer, _ = files.answer(ask_open(path, ".parquet"))
    assert answer["error"] == "unreadable"
    assert "cannot be read as .parquet" in answer["message"]
    assert files.answer({"do": "nothing"})[0]["error"] == "other"


def test_an_unforeseen_error_is_answered_by_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is raised outside a parser, its message is one short line of printable text."""
    files = OpenFiles()
    text = "bad \x1b[2J\u2028" * 10**5

    def fail(request: dict[str, Any]) -> Any:
        raise RuntimeError(text)

    monkeypatch.setitem(files._requests, "read", fail)
    answer, _ = files.answer({"do": "read"})
    assert answer["error"] == "other"
    assert answer["message"] == "RuntimeError: bad \\x1b[2J"


def test_memory_is_an_error_of_its_kind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An allocation that fails is answered too."""
    files = OpenFiles()

    def fail(files: object) -> int:
        raise MemoryError

    monkeypatch.setattr("projected_kmeans.sources.reader_child.measure_files", fail)
    assert files.answer(ask_open(path, ".parquet"))[0]["error"] == "memory"


def test_named_columns_come_as_arrow(path: Path) -> None:
    """First the type, then the cells, then an empty answer."""
    files = OpenFiles()
    request = {"file": str(path), "format": ".parquet", "name": "a"}
    assert files.answer({"do": "names", **request})[0]["names"] == list(NAMES)
    opened, (packed,) = files.answer({"do": "column", **request})
    assert pa.ipc.open_stream(pa.py_buffer(packed)).schema.types == [pa.float32()]
    walk = {"do": "cells", "column": opened["column"], "format": ".parquet"}
    assert files.answer(walk)[0]["n_cells"] == len(SINGLES)
    assert files.answer(walk)[0]["n_cells"] == 0


def test_a_channel_is_served_until_it_is_closed(path: Path) -> None:
    """Request, answer, request, answer, end."""
    ours, theirs = socket.socketpair()
    served = threading.Thread(target=serve_channel, args=(theirs, OpenFiles()))
    served.start()
    with ours:
        for _ in range(2):
            send_message(ours, {**ask_open(path, ".parquet"), "gone": []})
            answer = receive_message(ours)
            assert answer is not None
            assert tuple(answer.document["shape"]) == SINGLES.shape
    served.join()


MEMORY = """
import numpy as np
from projected_kmeans.sources.reader_child import Limits
limits = Limits()
with limits.hold(0, 0):
    try:
        np.empty(2**28)
    except MemoryError:
        print("refused")
np.empty(2**27)
"""
TIME = """
from projected_kmeans.sources import reader_child, reader_process
reader_process.BASE_SECONDS = 0.1
limits = reader_child.Limits()
with limits.hold(0, 0):
    pass
sum(range(10**7))
print("alive", flush=True)
with limits.hold(0, 0):
    while True:
        pass
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script by another interpreter."""
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )


def test_memory_beyond_the_limit_is_refused() -> None:
    """A small file may not ask for 2 GB; afterwards 1 GB is given."""
    done = run(MEMORY)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


def test_an_endless_loop_is_ended_by_the_system() -> None:
    """Time counts inside requests only."""
    done = run(TIME)
    assert (done.returncode, done.stdout) == (-signal.SIGPROF, "alive\n")


def test_files_are_measured(tmp_path: Path) -> None:
    """Small files count as 64 KB, and folders as what lies in them, if that is not too much."""
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "large").write_bytes(bytes(2**20))
    assert measure_files([tmp_path / "small", tmp_path / "large"]) == SMALLEST_FILE + 2**20
    assert measure_files([tmp_path]) == SMALLEST_FILE + 2**20
    many = tmp_path / "many"
    many.mkdir()
    for number in range(MEASURED_FILES + 1):
        (many / str(number)).touch()
    assert measure_files([many]) == LARGE_STORE


def test_no_more_than_there_is() -> None:
    """A large file may use the memory at hand and no more."""
    assert allowed_bytes(2**50, 0) <= available_memory() * 1.5

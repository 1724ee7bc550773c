"""What a reading process answers: rows, labels, named columns, and errors by their kind."""

from __future__ import annotations

import socket
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from projected_kmeans.sources.file_format import Choice
from projected_kmeans.sources.reader_child import OpenFiles, serve_channel
from projected_kmeans.sources.reader_messages import receive_message, send_message
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

"""What a process does that reads files for another one: it answers requests until it is left.

`reader_process` starts it. The first channel hands over further channels, one for each thread of
the other side that reads at the same time. A thread serves each of them: request, answer, request.

A damaged file can ask its parser for any amount of memory, or send it into an endless loop. So a
request that needs much more than a sound file would is ended by the operating system.
"""

from __future__ import annotations

import importlib
import itertools
import os
import signal
import socket
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.messages import first_line
from projected_kmeans.sources.file_format import Choice
from projected_kmeans.sources.file_rows import MissingReader, explain_errors
from projected_kmeans.sources.format_table import FORMATS
from projected_kmeans.sources.memory import PROCESS_PAGES
from projected_kmeans.sources.open_rows import check_labels
from projected_kmeans.sources.protocol import RowSource, UnreadableFile
from projected_kmeans.sources.reader_messages import (
    Message,
    SharedBuffer,
    receive_message,
    send_message,
)
from projected_kmeans.sources.reader_process import allowed_bytes, allowed_seconds

try:
    import resource
except ImportError:  # not a POSIX system, where no such process is started
    resource = None  # type: ignore[assignment]

# The process looks every second whether the one that it reads for still lives, and ends after a
# minute without an open file.
LOOK_SECONDS, IDLE_SECONDS = 1.0, 60.0
FAULT_CODE = 70
# Cells of a named column are sent 65,536 at a time.
CELLS_SENT = 2**16
# A file counts as 64 KB at least, so that a folder of many small ones has its time. A store of more
# than 1,000 files is not measured: it is taken for 10 GB.
SMALLEST_FILE = 2**16
MEASURED_FILES, LARGE_STORE = 1000, 10 * 2**30

Answer = tuple[dict[str, Any], Sequence[NDArray[Any]]]


class Limits:
    """The limits of this process, set while requests are at work.

    Several requests may be at work at once; they share the largest limits of them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active = 0

    @contextmanager
    def hold(self, file_bytes: int, row_bytes: int) -> Iterator[None]:
        """Limit what the ``with`` block uses: beyond it, memory is refused and the process ends."""
        with self._lock:
            self._active += 1
            seconds = allowed_seconds(file_bytes, row_bytes)
            left = signal.getitimer(signal.ITIMER_PROF)[0]
            # Without a handler, the signal of this timer ends the process, also in native code.
            signal.setitimer(signal.ITIMER_PROF, max(left, 0.0) + seconds)
            _limit_memory(allowed_bytes(file_bytes, row_bytes))
        try:
            yield
        finally:
            with self._lock:
                self._active -= 1
                if not self._active:
                    signal.setitimer(signal.ITIMER_PROF, 0)
                    _limit_memory(None)


def _limit_memory(more: int | None) -> None:
    """Allow this many bytes beside those in use; None lifts the limit.

    The limit counts memory of this process alone, and not mapped files or shared rows.
    """
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    in_use = _data_bytes()
    if more is None or in_use is None:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        return
    wanted = in_use + more
    capped = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (capped, hard))


def _data_bytes() -> int | None:
    """Return the private memory of this process, or None if the system does not tell."""
    try:
        pages = PROCESS_PAGES.read_text().split()
    except OSError:
        return None
    return int(pages[5]) * os.sysconf("SC_PAGE_SIZE")


def measure_files(files: Sequence[Path]) -> int:
    """Return the bytes of files, and of all that lies in folders; of large stores a guess."""
    total = 0
    for file in files:
        if not file.is_dir():
            total += max(file.stat().st_size, SMALLEST_FILE)
            continue
        inside = list(islice(file.rglob("*"), MEASURED_FILES + 1))
        if len(inside) > MEASURED_FILES:
            return LARGE_STORE
        total += sum(max(part.lstat().st_size, SMALLEST_FILE) for part in inside)
    return total


class OpenFiles:
    """The sources that are open here, and the requests that they answer."""

    def __init__(self) -> None:
        self.limits = Limits()
        self.last_use = time.monotonic()
        self._sources: dict[int, tuple[RowSource, int]] = {}
        self._columns: dict[int, Any] = {}
        self._buffers: dict[int, SharedBuffer] = {}
        self._numbers = itertools.count(1)
        self._requests: dict[str, Callable[[dict[str, Any]], Answer]] = {
            "open": self._open,
            "read": self._read,
            "identity": self._identity,
            "close": self._close,
            "labels": self._labels,
            "names": self._names,
            "column": self._column,
            "cells": self._cells,
        }

    @property
    def is_idle(self) -> bool:
        """Whether nothing is open and nothing was asked for a minute."""
        return not self._sources and time.monotonic() - self.last_use > IDLE_SECONDS

    def find_buffer(self, request: Message) -> SharedBuffer | None:
        """Return the buffer that an answer is to be written into; forget those that are gone."""
        number, known = request.document.get("buffer"), self._buffers
        for other in request.document["gone"]:
            known.pop(other, None)
        if number is not None and request.attached is not None:
            known[number] = SharedBuffer(number, request.attached, request.document["capacity"])
            known[number].close_descriptor()
        return None if number is None else known[number]

    def answer(self, request: dict[str, Any]) -> Answer:
        """Return what a request asks for, or its error."""
        self.last_use = time.monotonic()
        try:
            return self._requests[request["do"]](request)
        except MemoryError:
            return {"error": "memory", "message": ""}, ()
        except MissingReader as error:
            return {"error": "missing", "message": str(error)}, ()
        except UnreadableFile as error:
            return {"error": "unreadable", "message": str(error)}, ()
        except Exception as error:
            return {"error": "other", "message": f"{type(error).__name__}: {first_line(error)}"}, ()
        finally:
            self.last_use = time.monotonic()

    def _open(self, request: dict[str, Any]) -> Answer:
        files = [Path(file) for file in request["files"]]
        choice = Choice(**request["choice"])
        if choice.image_size is not None:
            choice = Choice(**{**request["choice"], "image_size": tuple(choice.image_size)})
        with self._reading(files, request["format"], request["name"]) as size:
            source = FORMATS[request["format"]].open(files, request["format"], choice)
        number = next(self._numbers)
        self._sources[number] = source, size
        facts = {
            "source": number,
            "shape": source.shape,
            "dtype": source.dtype.str,
            "sparse": source.sparse,
            "forward_only": source.forward_only,
            "feature_names": source.feature_names,
            "image_shape": source.image_shape,
            "file_bytes": size,
        }
        return facts, [] if source.labels is None else [np.asarray(source.labels)]

    def _read(self, request: dict[str, Any]) -> Answer:
        source, size = self._sources[request["source"]]
        start, stop = request["start"], request["stop"]
        width = 1 if source.sparse else source.shape[1]
        with self.limits.hold(size, (stop - start) * width * source.dtype.itemsize):
            rows: Any = source.read(start, stop)
        if source.sparse:
            return {}, (rows.data, rows.indices, rows.indptr)
        return {}, (rows,)

    def _identity(self, request: dict[str, Any]) -> Answer:
        return {"identity": self._sources[request["source"]][0].identity()}, ()

    def _close(self, request: dict[str, Any]) -> Answer:
        self._sources.pop(request["source"])[0].close()
        return {}, ()

    def _labels(self, request: dict[str, Any]) -> Answer:
        path, load = Path(request["file"]), FORMATS[request["format"]].load_labels
        assert load is not None
        with self._reading([path], request["format"], path):
            return {}, [check_labels(load(path), path)]

    def _names(self, request: dict[str, Any]) -> Answer:
        path, columns = Path(request["file"]), FORMATS[request["format"]].named_columns
        assert columns is not None
        with self._reading([path], request["format"], path):
            return {"names": list(columns.names(path))}, ()

    def _column(self, request: dict[str, Any]) -> Answer:
        """Open a named column, and return its type: a table of Arrow without rows."""
        path, columns = Path(request["file"]), FORMATS[request["format"]].named_columns
        assert columns is not None
        with self._reading([path], request["format"], path) as size:
            kind = columns.arrow_type(path, request["name"])
            cells = columns.walk(path, request["name"])
        number = next(self._numbers)
        self._columns[number] = (path, size, kind, cells)
        return {"column": number}, [_pack_cells([], kind)]

    def _cells(self, request: dict[str, Any]) -> Answer:
        """Return the next cells of an open column, which is closed after the last of them."""
        path, size, kind, cells = self._columns[request["column"]]
        with self.limits.hold(size, 0), explain_errors(path, request["format"]):
            sent = list(islice(cells, CELLS_SENT))
            packed = _pack_cells(sent, kind)
        if not sent:
            del self._columns[request["column"]]
        return {"n_cells": len(sent)}, [packed]

    @contextmanager
    def _reading(self, files: Sequence[Path], format: str, name: str | Path) -> Iterator[int]:
        """Limit and explain what opens files; their size is the value of the ``with`` block.

        The packages of the format are imported before, because that time is not that of a file.
        """
        for module in FORMATS[format].modules:
            try:
                importlib.import_module(module)
            except ImportError:  # the reader says which package it misses, if it needs it
                continue
        size = measure_files(files)
        with self.limits.hold(size, 0), explain_errors(name, format):
            yield size


def _pack_cells(cells: Sequence[Any], kind: Any) -> NDArray[np.uint8]:
    arrow: Any = importlib.import_module("pyarrow")
    sink = arrow.BufferOutputStream()
    table = arrow.table({"cells": arrow.array(cells, kind)})
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def serve_channel(channel: socket.socket, files: OpenFiles) -> None:
    """Answer the requests of one channel until the other side closes it."""
    with channel:
        while True:
            try:
                request = receive_message(channel)
                if request is None:
                    return
                buffer = files.find_buffer(request)
                answer, arrays = files.answer(request.document)
                send_message(channel, answer, arrays, into=buffer)
            except OSError:  # the other side has left in the middle of a message
                return
            except BaseException:  # a fault of this module, which must not leave the other waiting
                traceback.print_exc()
                os._exit(FAULT_CODE)


def main(descriptor: int, parent: int) -> None:
    """Serve until the first channel is closed, or the process that started this one is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    files = OpenFiles()
    control = socket.socket(fileno=descriptor)
    control.settimeout(LOOK_SECONDS)
    while True:
        try:
            mark, channels, _, _ = socket.recv_fds(control, 1, 1)
        except TimeoutError:
            if os.getppid() != parent or files.is_idle:
                break
            continue
        if not mark:
            break
        channel = socket.socket(fileno=channels[0])
        threading.Thread(target=serve_channel, args=(channel, files), daemon=True).start()
    os._exit(0)  # threads may be inside a native library

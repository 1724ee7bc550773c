"""What a process does that reads files for another one: it answers requests until it is left.

`reader_process` starts it. The first channel hands over further channels, one for each thread of
the other side that reads at the same time. A thread serves each of them: request, answer, request.
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.messages import first_line
from projected_kmeans.sources.file_format import Choice
from projected_kmeans.sources.file_reader import MissingReader, explain_errors
from projected_kmeans.sources.format_table import FORMATS
from projected_kmeans.sources.label_formats import check_labels
from projected_kmeans.sources.protocol import RowSource, UnreadableFile
from projected_kmeans.sources.reader_buffers import SharedBuffer
from projected_kmeans.sources.reader_limits import Limits, measure_files
from projected_kmeans.sources.reader_messages import Message, receive_message, send_message

# The process looks every second whether the one that it reads for still lives, and ends after a
# minute without an open file.
LOOK_SECONDS, IDLE_SECONDS = 1.0, 60.0
FAULT_CODE = 70
# Cells of a named column are sent 65,536 at a time.
CELLS_SENT = 2**16

Answer = tuple[dict[str, Any], Sequence[NDArray[Any]]]


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
        size = self._prepare(request["format"], files)
        with self.limits.hold(size, 0), explain_errors(request["name"], request["format"]):
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
            return {"shape": rows.shape}, (rows.data, rows.indices, rows.indptr)
        return {"shape": rows.shape}, (rows,)

    def _identity(self, request: dict[str, Any]) -> Answer:
        return {"identity": self._sources[request["source"]][0].identity()}, ()

    def _close(self, request: dict[str, Any]) -> Answer:
        self._sources.pop(request["source"])[0].close()
        return {}, ()

    def _labels(self, request: dict[str, Any]) -> Answer:
        path, load = Path(request["file"]), FORMATS[request["format"]].load_labels
        assert load is not None
        size = self._prepare(request["format"], [path])
        with self.limits.hold(size, 0), explain_errors(path, request["format"]):
            return {}, [check_labels(load(path), path)]

    def _names(self, request: dict[str, Any]) -> Answer:
        path, columns = Path(request["file"]), FORMATS[request["format"]].named_columns
        assert columns is not None
        size = self._prepare(request["format"], [path])
        with self.limits.hold(size, 0), explain_errors(path, request["format"]):
            return {"names": list(columns.names(path))}, ()

    def _column(self, request: dict[str, Any]) -> Answer:
        """Open a named column, and return its type: a table of Arrow without rows."""
        path, columns = Path(request["file"]), FORMATS[request["format"]].named_columns
        assert columns is not None
        size = self._prepare(request["format"], [path])
        with self.limits.hold(size, 0), explain_errors(path, request["format"]):
            kind = columns.arrow_type(path, request["name"])
            cells = columns.walk(path, request["name"])
        number = next(self._numbers)
        self._columns[number] = (path, size, kind, cells)
        return {"column": number}, [_pack_cells([], kind)]

    def _cells(self, request: dict[str, Any]) -> Answer:
        """Return the next cells of an open column, which is closed after the last of them."""
        path, size, kind, cells = self._columns[request["column"]]
        with self.limits.hold(size, 0), explain_errors(path, request["format"]):
            some = list(itertools.islice(cells, CELLS_SENT))
            packed = _pack_cells(some, kind)
        if not some:
            del self._columns[request["column"]]
        return {"n_cells": len(some)}, [packed]

    def _prepare(self, format: str, files: Sequence[Path]) -> int:
        """Import the packages of a format, whose time is not that of a file; return file sizes."""
        for module in FORMATS[format].modules:
            try:
                importlib.import_module(module)
            except ImportError:  # the reader says which package it misses, if it needs it
                continue
        return measure_files(files)


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

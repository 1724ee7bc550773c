"""A process that reads files for this one, so that a damaged file cannot end this one.

Formats that are parsed by native libraries (HDF5, Arrow, SciPy's MatLab reader, Zarr's codecs,
Pillow's decoders) are opened in a process of their own: `reader_child` is what it does. If a parser
crashes, loops or asks for too much memory, that process ends, and here it is one sentence. What a
sound file needs is bounded by its size and by the rows that are asked for.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections import deque
from typing import Any

from projected_kmeans.sources.file_rows import MissingReader
from projected_kmeans.sources.memory import BYTES_PER_FILE_BYTE, available_memory, show_size
from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.reader_messages import (
    BufferPool,
    Message,
    SharedBuffer,
    receive_message,
    send_message,
)

# The process finds its modules where this one finds them.
START = (
    "import sys; sys.path[:] = sys.argv[3:]; "
    "from projected_kmeans.sources.reader_child import main; "
    "main(int(sys.argv[1]), int(sys.argv[2]))"
)
# It computes nothing, so BLAS needs no threads; HDF5 loads no filters from other files.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "HDF5_PLUGIN_PRELOAD": "::",
}
# An answer is awaited for 60 s longer than four times the processor time that a request may take.
# Only a process that waits for something, such as a network drive, takes so long.
WAITED_SECONDS, WAITED_FACTOR = 60.0, 4.0
# Processes without open files are kept for the next files, because starting takes time.
KEPT_PROCESSES = 2

# Memory of a request: 512 MB, 24 MB a processor for the stacks of threads, 1,100 bytes for each
# byte of the file, and 6 for each byte of rows asked for.
BASE_BYTES, PROCESSOR_BYTES = 2**29, 24 * 2**20
BYTES_PER_ROW_BYTE = 6
# Processor time of a request: 4 s, 1 s for each MB of the file, and 1 s for each 16 MB of rows.
BASE_SECONDS, FILE_BYTES_A_SECOND, ROW_BYTES_A_SECOND = 4.0, 2**20, 2**24


class ReaderDied(UnreadableFile):
    """A file whose reading ended the process that read it."""


def allowed_seconds(file_bytes: int, row_bytes: int) -> float:
    """Return the processor time that a request may take."""
    return BASE_SECONDS + file_bytes / FILE_BYTES_A_SECOND + row_bytes / ROW_BYTES_A_SECOND


def allowed_bytes(file_bytes: int, row_bytes: int) -> int:
    """Return the memory that a request may take beside what the process has already."""
    base = BASE_BYTES + PROCESSOR_BYTES * (os.cpu_count() or 1)
    wanted = base + BYTES_PER_FILE_BYTE * file_bytes + BYTES_PER_ROW_BYTE * row_bytes
    return int(min(wanted, available_memory()))


def can_isolate() -> bool:
    """Return whether files can be read by another process: on POSIX, with an interpreter."""
    return os.name == "posix" and hasattr(socket, "send_fds") and bool(sys.executable)


class ReaderProcess:
    """One such process. Several threads may ask at once; each gets a channel of its own.

    It ends when the last reference to it is dropped, and when this process ends.
    """

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-W", "ignore", "-c", START),
                    *(str(theirs.fileno()), str(os.getpid()), *sys.path),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **ENVIRONMENT},
                start_new_session=True,  # so that Ctrl-C in a terminal does not reach it
            )
        self.owner = os.getpid()
        self._control = ours
        self._channels: deque[socket.socket] = deque()
        self._pool = BufferPool()
        self._lock = threading.Lock()
        self._n_asking = 0
        self.has_answered = False
        weakref.finalize(self, _end, self.owner, self._process, ours, self._channels)

    @property
    def is_free(self) -> bool:
        """Whether it lives and no thread waits for an answer."""
        return self.owner == os.getpid() and not self._n_asking and self._process.poll() is None

    def ask(
        self, request: dict[str, Any], name: str, file_bytes: int = 0, row_bytes: int = 0
    ) -> Message:
        """Return the answer to a request that `reader_child` understands.

        Raise what is wrong with the file, which errors call by `name`. The sizes of the file and of
        the rows that are asked for bound memory and time.
        """
        seconds = allowed_seconds(file_bytes, row_bytes)
        with self._lock:
            self._n_asking += 1
        try:
            waited = WAITED_SECONDS + WAITED_FACTOR * seconds
            answer = self._exchange(request, waited, self._pool.take(row_bytes))
        except TimeoutError as error:
            self._process.kill()
            raise ReaderDied(
                f"{name} cannot be read: no answer came for "
                f"{WAITED_SECONDS + WAITED_FACTOR * seconds:.0f} s; check the file and the drive"
            ) from error
        except (OSError, ValueError) as error:
            raise ReaderDied(self._tell_end(name, seconds)) from error
        finally:
            with self._lock:
                self._n_asking -= 1
        _raise_error(answer.document, name, allowed_bytes(file_bytes, row_bytes))
        return answer

    def _exchange(
        self, request: dict[str, Any], seconds: float, buffer: SharedBuffer | None
    ) -> Message:
        channel = self._channels.pop() if self._channels else self._connect()
        try:
            channel.settimeout(seconds)
            memory = None
            request["gone"] = self._pool.take_gone()
            if buffer is not None:
                memory = self._pool.lend(buffer)
                request.update(buffer=buffer.number, capacity=buffer.n_bytes)
            attached = None if buffer is None else buffer.descriptor
            send_message(channel, request, attached=attached)
            answer = receive_message(channel, memory)
            if answer is None:
                raise ConnectionError("no answer")
        except BaseException:
            channel.close()  # an answer may be on its way, which the next request must not get
            raise
        if buffer is not None:
            buffer.close_descriptor()
        self._channels.append(channel)
        self.has_answered = True
        return answer

    def forget_buffers(self) -> None:
        """Free the shared memory that no array uses; the other side does so at the next request."""
        self._pool.clear()

    def _connect(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [b"+"], [theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        return ours

    def _tell_end(self, name: str, seconds: float) -> str:
        try:
            code = self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if code == -signal.SIGPROF:
            why = f"its reader used more than {seconds:.0f} s of processor time"
        elif code == -signal.SIGKILL:
            why = "its reader was killed, perhaps because the memory is too small"
        elif code < 0:
            why = f"its reader ended by signal {-code} ({signal.strsignal(-code)})"
        else:
            why = f"its reader ended with exit code {code}"
        return (
            f"{name} cannot be read, it is probably damaged: {why}; check that it is complete, or "
            "write it again"
        )


def ask_first(request: dict[str, Any], name: str) -> tuple[ReaderProcess, Message]:
    """Ask the process that is kept, or a new one, about a file.

    If a process dies that has read other files, one of those may be the culprit, so a new one is
    asked again. A process that has refused a file is kept.
    """
    process = take_process()
    try:
        return process, process.ask(request, name)
    except ReaderDied:
        if not process.has_answered:
            raise
    except UnreadableFile:
        keep_process(process)
        raise
    process = ReaderProcess()
    return process, process.ask(request, name)


_kept: deque[ReaderProcess] = deque(maxlen=KEPT_PROCESSES)


def take_process() -> ReaderProcess:
    """Return a process without open files: the one that is kept, or a new one."""
    while _kept:
        process = _kept.pop()
        if process.is_free:
            return process
    return ReaderProcess()


def keep_process(process: ReaderProcess) -> None:
    """Keep a process whose files are closed for the next file."""
    if process.is_free:
        _kept.append(process)


def _end(
    owner: int,
    process: subprocess.Popen[bytes],
    control: socket.socket,
    channels: deque[socket.socket],
) -> None:
    for channel in (control, *channels):
        channel.close()
    if owner == os.getpid():  # a forked process must not end the reader of the original
        process.kill()
        process.wait()


def _raise_error(answer: dict[str, Any], name: str, n_bytes: int) -> None:
    kind = answer.get("error")
    if kind is None:
        return
    if kind == "memory":
        raise UnreadableFile(
            f"{name} asks for more memory than the {show_size(n_bytes)} that are allowed for its "
            "size and at hand; check that it is complete, or free some memory"
        )
    if kind == "missing":
        raise MissingReader(answer["message"])
    if kind == "unreadable":
        raise UnreadableFile(answer["message"])
    raise UnreadableFile(f"{name} cannot be read ({answer['message']}); check that it is complete")

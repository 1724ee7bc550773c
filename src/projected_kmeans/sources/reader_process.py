"""A process that reads files for this one, so that a damaged file cannot end this one.

Formats that are parsed by native libraries (HDF5, Arrow, SciPy's MatLab reader, Zarr's codecs,
Pillow's decoders) are opened in a process of their own: `reader_child` is what it does. If a parser
crashes, loops or asks for too much memory, that process ends, and here it is one sentence.
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
from typing import Any, NamedTuple

from numpy.typing import NDArray

from projected_kmeans.sources.file_reader import MissingReader
from projected_kmeans.sources.memory_at_hand import show_size
from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.reader_buffers import BufferPool, SharedBuffer
from projected_kmeans.sources.reader_limits import allowed_bytes, allowed_seconds
from projected_kmeans.sources.reader_messages import Message, receive_message, send_message

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


class ReaderDied(UnreadableFile):
    """A file whose reading ended the process that read it."""


class Answer(NamedTuple):
    """What was asked for: a document, and arrays that are read-only views of shared memory."""

    document: dict[str, Any]
    arrays: list[NDArray[Any]]


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
    ) -> Answer:
        """Return the answer to a request; raise what is wrong with the file.

        Parameters
        ----------
        request : dict
            As `reader_child` understands it.
        name : str
            What errors call the file.
        file_bytes, row_bytes : int
            The size of the file and of the rows that are asked for, which bound memory and time.
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
        return Answer(answer.document, answer.arrays)

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


class FirstAnswer(NamedTuple):
    """The answer to the first request about a file, and the process that gave it."""

    process: ReaderProcess
    document: dict[str, Any]
    arrays: list[NDArray[Any]]


def ask_first(request: dict[str, Any], name: str) -> FirstAnswer:
    """Ask the process that is kept, or a new one, about a file.

    If a process dies that has read other files, one of those may be the culprit, so a new one is
    asked again. A process that has refused a file is kept.
    """
    process = take_process()
    try:
        return FirstAnswer(process, *process.ask(request, name))
    except ReaderDied:
        if not process.has_answered:
            raise
    except UnreadableFile:
        keep_process(process)
        raise
    process = ReaderProcess()
    return FirstAnswer(process, *process.ask(request, name))


_kept: deque[ReaderProcess] = deque(maxlen=KEPT_PROCESSES)


def take_process() -> ReaderProcess:
    """Return a process without open files: the one that is kept, or a new one."""
    while _kept:
        found = _kept.pop()
        if found.is_free:
            return found
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

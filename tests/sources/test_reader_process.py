"""A process that reads files: what ends it ends nothing else, and it ends with its parent."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans.sources import reader_process
from projected_kmeans.sources.isolated_source import IsolatedRows
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.reader_process import ReaderProcess, take_process
from tests.support.row_files import ROWS, save_mat

ENDS = {
    signal.SIGSEGV: "its reader ended by signal 11",
    signal.SIGABRT: "its reader ended by signal 6",
    signal.SIGPROF: "more than 4 s of processor time",
    signal.SIGKILL: "perhaps because the memory is too small",
}


@pytest.fixture
def source(tmp_path: Path) -> Any:
    """Return an open file that another process reads."""
    with open_rows(save_mat(tmp_path, ROWS)) as opened:
        yield opened


def pid_of(source: Any) -> int:
    """Return the process that reads a source."""
    found: int = source._handle.get()._process._process.pid
    return found


def wait_for_end(pid: int) -> None:
    """Wait until a process that is not a child of this one has ended; fail after a minute."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 60)[0], f"process {pid} still runs"
    finally:
        os.close(handle)


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_is_told_in_one_sentence(source: IsolatedRows, number: signal.Signals) -> None:
    """If the reader dies, this process lives, says why, and reads again by another process."""
    before = pid_of(source)
    os.kill(before, number)
    wait_for_end(before)  # else a thread of it may still answer
    with pytest.raises(UnreadableFile, match=f"rows.mat cannot be read.*{ENDS[number]}.*; check"):
        source.read(0, 4)
    np.testing.assert_array_equal(source.read(0, 4), ROWS)
    assert pid_of(source) != before


def test_an_interrupt_does_not_reach_the_reader(source: IsolatedRows) -> None:
    """The reader has a session of its own, and ignores the signal of Ctrl-C."""
    assert os.getsid(pid_of(source)) == pid_of(source)
    os.kill(pid_of(source), signal.SIGINT)
    np.testing.assert_array_equal(source.read(0, 4), ROWS)


def test_no_answer_is_told(source: IsolatedRows, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that waits for something is killed after a stated time."""
    monkeypatch.setattr(reader_process, "WAITED_SECONDS", 0.01)
    monkeypatch.setattr(reader_process, "WAITED_FACTOR", 0.0)
    os.kill(pid_of(source), signal.SIGSTOP)
    os.waitid(os.P_PID, pid_of(source), os.WSTOPPED | os.WNOWAIT)  # else it may still answer
    with pytest.raises(UnreadableFile, match="no answer came for 0 s; check the file"):
        source.read(0, 4)


def test_a_reader_starts_without_what_few_formats_need() -> None:
    """What takes long to import waits for a file that needs it, because many are started."""
    program = (
        "import sys, projected_kmeans.sources.reader_child; "
        "print(*{'scipy.sparse', 'scipy.io', 'sklearn', 'pyarrow', 'h5py', 'PIL'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == []


def test_a_process_is_kept_for_the_next_file(source: IsolatedRows) -> None:
    """Its start takes half a second; while a file is open, another file gets another process."""
    pid = pid_of(source)
    with open_rows(source.name) as other:
        assert pid_of(other) != pid
    source.close()
    process = take_process()
    assert process._process.pid == pid
    reader_process.keep_process(process)
    assert pid_of(source) == pid


def test_a_file_is_not_blamed_for_another(
    source: IsolatedRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a kept process dies while the next file is opened, a new one opens it."""
    process = source._handle.get()._process
    source.read(0, 4)
    source.close()
    os.kill(process._process.pid, signal.SIGSEGV)
    process._process.wait()
    monkeypatch.setattr(ReaderProcess, "is_free", True)  # as if it had died a moment later
    with open_rows(source.name) as other:
        np.testing.assert_array_equal(other.read(0, 4), ROWS)
        assert pid_of(other) != process._process.pid


def test_a_refused_file_keeps_the_process(tmp_path: Path) -> None:
    """Many bad files do not start many processes."""
    (tmp_path / "bad.mat").write_bytes(b"nothing")
    pids = set()
    for _ in range(2):
        with pytest.raises(UnreadableFile):
            open_rows(tmp_path / "bad.mat")
        pids.add(reader_process._kept[0]._process.pid)
    assert len(pids) == 1


def test_a_dropped_process_ends() -> None:
    """Without references, the process is ended and reaped."""
    process = ReaderProcess()
    popen = process._process
    del process
    assert popen.returncode == -signal.SIGKILL


def test_a_forked_process_reads_by_itself(source: IsolatedRows) -> None:
    """It starts a reader of its own and leaves that of the original alone."""
    pid = os.fork()
    if not pid:
        os._exit(0 if np.array_equal(source.read(0, 4), ROWS) else 1)  # type: ignore[arg-type]
    assert os.waitpid(pid, 0)[1] == 0
    before = pid_of(source)
    np.testing.assert_array_equal(source.read(0, 4), ROWS)
    assert pid_of(source) == before


SCRIPT = """
import sys
from projected_kmeans import open_rows
source = open_rows(sys.argv[1])
print(source._handle.get()._process._process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, None])
def test_a_reader_does_not_outlive_its_parent(tmp_path: Path, number: int | None) -> None:
    """It ends if the program that started it ends or is killed, which needs no main guard."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, str(script), str(save_mat(tmp_path, ROWS))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        if number is not None:
            program.send_signal(number)
        program.stdin.close()
        assert program.wait() == (0 if number is None else -number)
        wait_for_end(pid)

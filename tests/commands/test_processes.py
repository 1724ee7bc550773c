"""The command line as a real process: pipes, terminals, readers that leave, Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import COMMAND, GENERATOR, ROWS

# Seconds after which a process that says nothing hangs. A busy machine needs more than a minute.
PATIENCE = 300.0


def test_process_in_a_pipe(data: Path) -> None:
    """As a process in a pipe, fit prints JSON to stdout, nothing to stderr, and leaves with 0."""
    command = [*COMMAND, "fit", str(data), "-k", "3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["results"]["cluster_sizes"] == [20, 20, 20]


def test_process_with_bad_input() -> None:
    """As a process, a word that is missing is one sentence on stderr and exit code 2."""
    done = subprocess.run([*COMMAND, "predict"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "projected-kmeans: error: Missing argument 'MODEL'.\n"


def test_process_whose_reader_leaves(model: Path, tmp_path: Path) -> None:
    """A reader that leaves early, as head does, causes exit code 1 and no traceback."""
    np.save(tmp_path / "many.npy", np.repeat(ROWS, 2000, axis=0))
    command = [*COMMAND, "predict", str(model), str(tmp_path / "many.npy")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


@contextmanager
def start_long_fit(
    tmp_path: Path, k: int, *options: str, terminal: int, scratch: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a fit that takes minutes, with its progress on a terminal; end it with the test."""
    np.save(tmp_path / "rows.npy", GENERATOR.normal(size=(20000, 200)).astype(np.float32))
    command = [*COMMAND, "fit", str(tmp_path / "rows.npy"), "-k", str(k), "--n-init", "1000"]
    with subprocess.Popen(
        [*command, *options, "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env=os.environ
        | {"TERM": "xterm", "COLUMNS": "100"}
        | ({} if scratch is None else {"TMPDIR": str(scratch)}),
    ) as process:
        try:
            yield process
        finally:
            process.kill()  # a test that fails does not wait for it


def read_until(word: bytes, terminal: int) -> None:
    """Read what a process draws until a word appears."""
    seen = b""
    deadline = time.monotonic() + PATIENCE
    while word not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"{word!r} did not appear in {seen!r}"
        seen += os.read(terminal, 4096)


def test_process_interrupted_keeps_its_result(tmp_path: Path) -> None:
    """On a terminal the steps are drawn; Ctrl-C writes the best result so far and leaves 130."""
    ours, theirs = pty.openpty()
    with start_long_fit(tmp_path, 200, "--json", terminal=theirs) as process:
        os.close(theirs)
        read_until(b"restart 2", ours)
        process.send_signal(signal.SIGINT)
        read_until(b"The fit was interrupted", ours)  # "warning" before it is in colour
        assert process.stdout is not None
        document = json.loads(process.stdout.read())
        assert process.wait(timeout=PATIENCE) == 130
    os.close(ours)
    assert document["results"]["stopped"] == "interrupted"
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == document
    assert len(np.load(tmp_path / "out" / "labels.npy")) == 20000


def test_process_interrupted_before_a_result(tmp_path: Path) -> None:
    """Ctrl-C during the first seeding ends the process with 130 and leaves no folder."""
    ours, theirs = pty.openpty()
    with start_long_fit(tmp_path, 5000, terminal=theirs) as process:
        os.close(theirs)
        read_until(b"seed", ours)
        process.send_signal(signal.SIGINT)
        read_until(b"projected-kmeans: interrupted", ours)
        assert process.wait(timeout=PATIENCE) == 130
    os.close(ours)
    assert not (tmp_path / "out").exists()


def open_children(process: int) -> list[int]:
    """Return descriptors of the processes that a process has started, to wait for their end."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    children = [child for task in tasks for child in (task / "children").read_text().split()]
    return [os.pidfd_open(int(child)) for child in children]


SPILLED = ("--memory-limit=22MB", "--projection=sign", "--components=150", "--solver=lloyd")


@pytest.mark.parametrize("options", [SPILLED, ("--dask-workers", "1")])
def test_process_that_is_terminated(options: tuple[str, ...], tmp_path: Path) -> None:
    """SIGTERM ends a fit with 143: no folder, no temporary file and no child process is left."""
    ours, theirs = pty.openpty()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with start_long_fit(tmp_path, 200, *options, terminal=theirs, scratch=scratch) as process:
        os.close(theirs)
        read_until(b"cluster", ours)
        children = open_children(process.pid)
        if options == SPILLED:
            assert str(scratch) in Path(f"/proc/{process.pid}/maps").read_text()
        else:
            assert children
        process.send_signal(signal.SIGTERM)
        read_until(b"projected-kmeans: terminated", ours)
        assert process.wait(timeout=PATIENCE) == 143
    os.close(ours)
    for child in children:
        assert select.select([child], [], [], 60)[0], "a child process has not ended"
        os.close(child)
    assert not (tmp_path / "out").exists()
    # Dask keeps two empty lock files for its next use.
    assert [file for file in scratch.rglob("*") if file.is_file() and file.stat().st_size] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_process_with_a_full_disk(data: Path) -> None:
    """Output that cannot be written is one sentence and exit code 2."""
    command = [*COMMAND, "fit", str(data), "-k", "3", "--json"]
    # Python complains at its end of output that is left in its buffer, so it must have a buffer.
    variables = {name: one for name, one in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=variables
        )
    assert done.returncode == 2
    assert done.stderr == (
        "projected-kmeans: error: the system refused an operation (No space left on device); "
        "check the disk, the network and the limits of this process\n"
    )


def test_process_whose_terminal_knows_few_letters(data: Path) -> None:
    """A name that the terminal's encoding lacks is one sentence, and never a traceback."""
    out = data.with_name("snow\u2603")
    done = subprocess.run(
        [*COMMAND, "fit", str(data), "-k", "3", "--out", str(out)],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "1"},
        check=False,
    )
    assert done.returncode == 2
    assert (out / "labels.npy").is_file()
    assert done.stderr.count(b"\n") == 1
    assert b"cannot be written in the encoding latin-1; set PYTHONIOENCODING=utf-8" in done.stderr


def test_process_without_streams(data: Path) -> None:
    """With output or error stream closed, a fit works, and an error has its exit code."""
    words = shlex.join([*COMMAND, "fit", str(data), "-k", "3"])
    for closed in (">&-", "2>&-"):
        assert subprocess.run(f"{words} {closed}", shell=True, capture_output=True).returncode == 0
    bad = shlex.join([*COMMAND, "nonsense"])
    for closed in ("2>&-", ">&- 2>&-", "2>/dev/full"):
        assert subprocess.run(f"{bad} {closed}", shell=True, capture_output=True).returncode == 2
    good = shlex.join([*COMMAND, "--help"])
    assert subprocess.run(f"{good} >&- 2>&-", shell=True, capture_output=True).returncode == 0

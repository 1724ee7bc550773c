"""Limits of a reading process: memory is refused and time ends it, and the limits are lifted."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from projected_kmeans.sources import reader_limits
from projected_kmeans.sources.memory_at_hand import available_memory
from projected_kmeans.sources.reader_limits import (
    LARGE_STORE,
    SMALLEST_FILE,
    allowed_bytes,
    measure_files,
)

MEMORY = """
import numpy as np
from projected_kmeans.sources.reader_limits import Limits
limits = Limits()
with limits.hold(0, 0):
    try:
        np.ones(2**28)
    except MemoryError:
        print("refused")
np.ones(2**27)
"""
TIME = """
from projected_kmeans.sources import reader_limits
reader_limits.BASE_SECONDS = 0.1
limits = reader_limits.Limits()
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
    for number in range(reader_limits.MEASURED_FILES + 1):
        (many / str(number)).touch()
    assert measure_files([many]) == LARGE_STORE


def test_no_more_than_there_is() -> None:
    """A large file may use the memory at hand and no more."""
    assert allowed_bytes(2**50, 0) <= available_memory() * 1.5

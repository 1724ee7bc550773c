"""The sign product of 64-byte vectors, compiled for a machine without AVX-512."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import wide_vectors

from projected_kmeans import _native


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile with")
@pytest.mark.skipif(_native.instruction_set() == "portable", reason="this machine has no AVX2")
def test_wide_vectors_equal_plain_loops(tmp_path: Path) -> None:
    """Tables in registers and products of bytes give every bit of plain loops, dense and sparse."""
    program = wide_vectors.compile_program(tmp_path, (*wide_vectors.AVX2, "-O1"))
    done = subprocess.run([program, "quick"], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) == 61  # 12 shapes of 5 types, and the sum
    assert [line for line in lines[:-1] if not line.endswith(": 0 differ")] == []
    assert (lines[-1], done.returncode) == ("0 numbers differ in all", 0)

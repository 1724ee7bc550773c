"""Scratch memory of kernels: nothing is written beside it, and no result depends on what it held.

All tests run with PROJECTED_KMEANS_FILL_BUFFERS (tests/conftest.py), so every kernel call of every
test is checked.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

VARIABLE = "PROJECTED_KMEANS_FILL_BUFFERS"
ROOT = Path(__file__).parents[3]
SOURCES = ("campaigns/planted_defects.cpp", "src/native/bindings/buffer_checks.cpp")
CALL = "import ctypes, sys; getattr(ctypes.PyDLL(sys.argv[1]), sys.argv[2])()"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the planted defects of campaigns/, compiled without a sanitizer."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no compiler for the planted defects")
    path = tmp_path_factory.mktemp("planted") / "planted.so"
    sets = ("-DPK_INSTRUCTION_SET=portable", "-DPK_VECTOR_BYTES=16")
    options = ("-std=c++20", "-O1", "-fopenmp", "-fPIC", "-shared", "-Isrc/native", "-w", *sets)
    subprocess.run([compiler, *options, *SOURCES, "-o", str(path)], check=True, cwd=ROOT)
    return path


def run_python(byte: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter in which buffers are filled with a byte; with none if it is empty."""
    environment = {**os.environ, VARIABLE: byte}
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment, capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip


def test_one_value_past_a_buffer_ends_the_process(library: Path) -> None:
    """A write of one value past the end is found, and sound code is not accused."""
    done = run_python("165", "-c", CALL, library, "write_past_scratch")
    assert done.returncode == -signal.SIGABRT
    assert "a kernel wrote beside the values of a buffer, at byte 0 of 8" in done.stderr
    for byte, function in (("165", "sound_memory"), ("", "write_past_scratch")):
        assert run_python(byte, "-c", CALL, library, function).returncode == 0


def test_results_do_not_depend_on_what_memory_held(tmp_path: Path) -> None:
    """All kernels give the same bits in memory that held zeros and in memory that held ones."""
    results = []
    for byte in ("0", "255"):
        path = tmp_path / f"{byte}.npz"
        done = run_python(byte, "-m", "tests.native.bindings.kernel_results", path)
        assert done.returncode == 0, done.stderr
        with np.load(path) as archive:
            results.append({name: archive[name].tobytes() for name in archive})
    zeros, ones = results
    assert [name for name in zeros if zeros[name] != ones[name]] == []
    assert zeros.keys() == ones.keys()


@pytest.mark.parametrize("byte", ["256", "-1", "x", "1x"])
def test_what_is_not_a_byte_is_refused(byte: str) -> None:
    """A wrong value gives an error that names the variable, the value and the choices."""
    program = (
        "import numpy as np; from projected_kmeans import ProjectedKMeans;"
        "ProjectedKMeans(2, random_state=0).fit(np.eye(9))"
    )
    done = run_python(byte, "-c", program)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert f"{VARIABLE}={byte} is not a byte; use 0 to 255, or unset it" in last

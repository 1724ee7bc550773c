"""Try an installed package: fit, predict, command line, report and demo.

Run it with the Python of the environment in which the wheel is installed, with the extra
``report``. It imports nothing from this repository, and writes to a folder that it removes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import projected_kmeans

COMPILERS = ("c++", "g++", "clang++", "cc", "gcc", "clang", "cmake", "ninja")
PROGRAM = Path(sys.executable).with_name("projected-kmeans")


def call(*words: str) -> str:
    """Run the command line of the wheel; return what it prints."""
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"projected-kmeans {' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def try_python(X: np.ndarray) -> None:
    """Fit and predict in Python: five groups far apart are found."""
    model = projected_kmeans.ProjectedKMeans(5, random_state=0).fit(X)
    assert sorted(np.bincount(model.predict(X)).tolist()) == [60] * 5
    assert np.array_equal(model.labels_, model.predict(X))


def try_commands(X: np.ndarray) -> None:
    """Fit, predict and report on the command line; the labels are those of Python."""
    np.save("rows.npy", X)
    call("fit", "rows.npy", "-k", "5", "--out", "model", "--report", "report.html")
    call("predict", "model", "rows.npy", "--out", "labels.npy")
    assert np.array_equal(np.load("labels.npy"), np.load("model/labels.npy"))
    assert "<html" in Path("report.html").read_text(encoding="utf-8")
    call("demo", "--n-samples", "2000", "--out", "demo")
    assert any(path.suffix == ".html" for path in Path("demo").iterdir())


def main() -> None:
    """Try everything; print where the package lies and how long the trial took."""
    home = Path(projected_kmeans.__file__)
    if Path(sys.prefix).resolve() not in home.resolve().parents:
        sys.exit(f"{home} is not installed in {sys.prefix}; run this with the wheel's own Python")
    if "--no-compiler" in sys.argv:
        found = [name for name in COMPILERS if shutil.which(name)]
        assert not found, f"{found} on PATH={os.environ['PATH']}"
    start = time.monotonic()
    stream = np.random.default_rng(0)
    X = stream.normal(size=(5, 400)).repeat(60, axis=0) * 9 + stream.normal(size=(300, 400))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try_python(X)
        try_commands(X)
        os.chdir(sys.prefix)
    sets = ", ".join(projected_kmeans._native.INSTRUCTION_SETS)
    version = projected_kmeans.__version__
    print(f"projected_kmeans {version} ({sets}) works: {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()

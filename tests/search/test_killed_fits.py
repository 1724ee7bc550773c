"""Fits that are killed and started again end with the bits of a fit that was left alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DRIVER = Path(__file__).parents[1] / "support" / "killed_fits.py"

# The steps whose units of work are counted, as the log tells of them.
UNIT = re.compile(r"^(reduce|cluster|polish) \d+/\d+,")


def save_rows(folder: Path, n_rows: int, n_columns: int) -> Path:
    """Write 20 clusters that overlap, so that Lloyd's method takes many passes; return the file."""
    stream = np.random.default_rng(0)
    means = 0.2 * stream.normal(size=(20, n_columns))
    X = means[stream.integers(20, size=n_rows)] + stream.normal(size=(n_rows, n_columns))
    np.save(folder / "rows.npy", X.astype(np.float32))
    return folder / "rows.npy"


RunChain = Callable[..., list[int]]


@pytest.fixture(scope="module")
def run_chain() -> Iterator[RunChain]:
    """Return a function that runs a command in processes that are killed, as `chain` does."""
    with subprocess.Popen(
        [sys.executable, str(DRIVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:

        def run(kind: str, key: int, n_kills: int, folder: Path, *words: object) -> list[int]:
            assert driver.stdin is not None
            assert driver.stdout is not None
            request = [kind, key, n_kills, str(folder), *map(str, words)]
            driver.stdin.write(json.dumps(request) + "\n")
            driver.stdin.flush()
            found = json.loads(driver.stdout.readline())
            assert "error" not in found, found["error"]
            return list(found["codes"])

        yield run


def describe_result(folder: Path) -> dict[str, Any]:
    """Return what a fit has written but for times, with the bytes of its arrays."""
    document = json.loads((folder / "result.json").read_text())
    del document["seconds"]
    arrays = {name: (folder / f"{name}.npy").read_bytes() for name in ("labels", "centers")}
    return {**document, **arrays, "model": json.loads((folder / "model.json").read_text())}


def count_units(*logs: Path) -> Counter[str]:
    """Return how many units of work the log tells of, by step."""
    lines = (line for log in logs for line in log.read_text().splitlines())
    return Counter(found[1] for line in lines if (found := UNIT.match(line)))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="default"),
        pytest.param(("--solver", "hartigan", "--n-init", 2, "--polish", 3), id="hartigan"),
        pytest.param(("--projection", "none", "--solver", "lloyd"), id="no-sketch"),
    ],
)
def test_killed_at_calls_that_write(
    options: tuple[object, ...], tmp_path: Path, run_chain: RunChain
) -> None:
    """A process that dies before or after any fsync, rename or flush changes no bit."""
    rows = save_rows(tmp_path, 700, 128)
    codes = run_chain("calls", 1, 4, tmp_path, "fit", rows, "-k", 20, *options)
    assert codes.count(0) == 1
    assert describe_result(tmp_path / "out-1") == describe_result(tmp_path / "whole")


def test_killed_at_twenty_moments(tmp_path: Path, run_chain: RunChain) -> None:
    """Nor does one that is killed from outside, at twenty random moments."""
    rows = save_rows(tmp_path, 700, 128)
    options = ("--projection", "sign", "--solver", "lloyd", "--n-init", 6)
    codes = run_chain("moments", 2, 20, tmp_path, "fit", rows, "-k", 20, *options)
    assert len(codes) - codes.count(0) >= 20
    whole = describe_result(tmp_path / "whole")
    for index in range(codes.count(0)):
        assert describe_result(tmp_path / f"out-{index + 1}") == whole


def test_work_is_not_repeated(tmp_path: Path, run_chain: RunChain) -> None:
    """Each kill costs at most the present unit of work, a block or a pass, and changes no bit."""
    rows = save_rows(tmp_path, 3000, 256)  # three blocks of 1 MB
    options = ("--projection", "sign", "--memory-limit", "9MB", "--solver", "lloyd", "--n-init", 5)
    codes = run_chain("calls", 3, 5, tmp_path, "fit", rows, "-k", 20, *options)
    assert codes.count(0) == 1
    assert describe_result(tmp_path / "out-1") == describe_result(tmp_path / "whole")
    alone = count_units(tmp_path / "whole.log")
    assert alone["reduce"] > 2
    n_kills = len(codes) - 1
    assert alone["cluster"] > n_kills
    in_all = count_units(*(tmp_path / f"run-{index}.log" for index in range(len(codes))))
    # A pass that was stored, but not reported before the kill, counts in no process.
    assert abs(in_all.total() - alone.total()) <= n_kills
    left = sorted(file.name for file in (tmp_path / "steps-1").iterdir())
    assert left == ["lock", "map.part", "result.part", "run.part"]

"""Bad files on the command line: one sentence, exit code 2, and nothing written or half-written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from projected_kmeans.commands import data as loaded_rows
from tests.support.commands import ROWS, Call, check_refusal

N = 3000
LARGE = np.tile(ROWS, (N // len(ROWS), 1))
LIMIT = ("--memory-limit", "6MB")


def cut_file(path: Path) -> None:
    """Leave out the last third of a file."""
    content = path.read_bytes()
    path.write_bytes(content[: 2 * len(content) // 3])


def cut_npy(folder: Path) -> Path:
    """Write an array that ends too early."""
    np.save(folder / "rows.npy", LARGE)
    cut_file(folder / "rows.npy")
    return folder / "rows.npy"


def cut_npz(folder: Path) -> Path:
    """Write an archive that ends too early."""
    np.savez_compressed(folder / "rows.npz", X=LARGE)
    cut_file(folder / "rows.npz")
    return folder / "rows.npz"


def cut_parquet(folder: Path) -> Path:
    """Write a table that ends too early."""
    table = pa.table({f"c{index}": column for index, column in enumerate(LARGE.T)})
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    cut_file(folder / "rows.parquet")
    return folder / "rows.parquet"


def save_ragged(folder: Path) -> Path:
    """Write text with a line that is a cell short, far from the start."""
    lines = [",".join(f"{value:g}" for value in row) for row in LARGE]
    lines[2799] = lines[2799].rpartition(",")[0]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    return folder / "rows.csv"


def save_nan(folder: Path) -> Path:
    """Write an array with a NaN near its end."""
    rows = LARGE.copy()
    rows[2900, 7] = np.nan
    np.save(folder / "rows.npy", rows)
    return folder / "rows.npy"


def save_uneven_folder(folder: Path) -> Path:
    """Write two arrays that do not have the same columns."""
    (folder / "parts").mkdir()
    np.save(folder / "parts" / "a.npy", LARGE)
    np.save(folder / "parts" / "b.npy", LARGE[:, :5])
    return folder / "parts"


BAD: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "truncated npy": (cut_npy, ("rows.npy cannot be read", "check that it is complete")),
    "truncated npz": (cut_npz, ("rows.npz cannot be read", "check that it is complete")),
    "truncated parquet": (
        cut_parquet,
        ("rows.parquet cannot be read", "check that it is complete"),
    ),
    "ragged csv": (save_ragged, ("rows.csv", "line 2800", "11", "12")),
    "NaN": (save_nan, ("NaN at row 2900, column 7",)),
    "folder": (save_uneven_folder, ("b.npy has 5 columns and ", "a.npy has 12")),
}


@pytest.fixture
def model(call: Call, tmp_path: Path) -> Path:
    """Return the folder of a model that fits the rows."""
    np.save(tmp_path / "good.npy", LARGE)
    assert call("fit", tmp_path / "good.npy", "-k", 3, "--out", tmp_path / "model").code == 0
    return tmp_path / "model"


@pytest.mark.parametrize("loaded", [False, True], ids=["by blocks", "loaded"])
@pytest.mark.parametrize("name", BAD)
def test_fit_and_predict_refuse(
    call: Call,
    model: Path,
    name: str,
    loaded: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file and the place are named; no model and no labels appear, whole or in part."""
    make, parts = BAD[name]
    path = make(tmp_path)
    limit: tuple[Any, ...] = () if loaded else LIMIT
    monkeypatch.setattr("projected_kmeans.planning.memory_plan.MIN_BLOCK_BYTES", 2**12)
    before = sorted(tmp_path.rglob("*"))
    check_refusal(call("fit", path, "-k", 3, "--out", tmp_path / "new", *limit), *parts)
    for labels in ("new.npy", "new.csv", "new.parquet"):
        check_refusal(call("predict", model, path, "--out", tmp_path / labels, *limit), *parts)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", BAD)
def test_other_commands_refuse(
    call: Call, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Choosing k and proving refuse all of them, planning what it comes to see."""
    make, parts = BAD[name]
    path = make(tmp_path)
    np.save(tmp_path / "labels.npy", np.arange(N) % 3)
    monkeypatch.setattr(loaded_rows, "LOADED_SHARE", 0)
    before = sorted(tmp_path.rglob("*"))
    check_refusal(call("choose-k", path, "--range", "2:4", "--out", tmp_path / "new.csv"), *parts)
    check_refusal(call("certify", path, tmp_path / "labels.npy"), *parts)
    check_refusal(call("plan", path, "-k", 3), *parts)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("loaded", [False, True], ids=["by blocks", "loaded"])
def test_other_commands_take_the_options_of_fit(
    call: Call, loaded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns are chosen for planning, choosing k and proving as for a fit."""
    if not loaded:
        monkeypatch.setattr(loaded_rows, "LOADED_SHARE", 0)
    words = np.array([["word"]] * len(ROWS))
    cells = np.hstack([ROWS.astype(str), words])
    header = ",".join([*"abcdefghijkl", "name"])
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([header, *map(",".join, cells)]) + "\n")
    np.save(tmp_path / "labels.npy", np.arange(60) // 20)
    for command in (
        ("plan", path, "-k", "3", "--json"),
        ("choose-k", path, "--range", "2:5", "--json"),
        ("certify", path, tmp_path / "labels.npy", "--json"),
    ):
        assert call(*command).code == 2  # a column of words
        found = call(*command, "--drop", "name")
        assert (found.code, found.err) == (0, ""), found
        check_refusal(call(*command, "--columns", "a,z"), "'z'")

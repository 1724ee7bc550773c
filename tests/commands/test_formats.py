"""The command line on files of every kind, loaded or read block by block."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse
from PIL import Image
from sklearn.datasets import dump_svmlight_file

from projected_kmeans import ProjectedKMeans
from projected_kmeans.commands import data as loaded_rows
from projected_kmeans.estimator.model_files import load_model
from tests.support.commands import ROWS, Call, check_refusal
from tests.support.stored_rows import draw_eighths, reading_threads

LARGE = draw_eighths(4, 3000, 24, 3)


def result_of(run: Any) -> dict[str, Any]:
    """Return what a fit printed as JSON of its results."""
    assert (run.code, run.err) == (0, ""), run
    found: dict[str, Any] = json.loads(run.out)
    return found


@pytest.mark.parametrize("limit", [None, "7MB", "1GiB"])
@pytest.mark.parametrize("extension", [".npy", ".csv", ".parquet", ".svm", ".npz"])
def test_formats_loaded_and_read_by_blocks(
    call: Call, tmp_path: Path, extension: str, limit: str | None
) -> None:
    """A fit and its predictions are those of the library on the array, under any limit."""
    path = tmp_path / f"rows{extension}"
    rows: Any = LARGE
    if extension == ".npy":
        np.save(path, LARGE)
    elif extension == ".csv":
        np.savetxt(path, LARGE, delimiter=",", fmt="%.17g")
    elif extension == ".parquet":
        pyarrow.parquet.write_table(pa.table({f"c{i}": c for i, c in enumerate(LARGE.T)}), path)
    elif extension == ".svm":
        dump_svmlight_file(LARGE, np.arange(3000) % 2, str(path), zero_based=True)
        rows = scipy.sparse.csr_array(LARGE)
    else:
        rows = scipy.sparse.csr_array(LARGE)
        scipy.sparse.save_npz(path, rows)
    limits = () if limit is None else ("--memory-limit", limit)
    run = call("fit", path, "-k", 3, "--json", "--out", tmp_path / "model", *limits)
    found = result_of(run)
    expected = ProjectedKMeans(3, random_state=0).fit(rows)
    assert found["results"]["inertia"] == expected.inertia_
    assert found["data"]["shape"] == [3000, 24]
    np.testing.assert_array_equal(np.load(tmp_path / "model/labels.npy"), expected.labels_)
    run = call("predict", tmp_path / "model", path, "--out", tmp_path / "labels.npy", *limits)
    assert (run.code, run.err) == (0, "")
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), expected.predict(rows))
    assert reading_threads() == []


def test_labels_are_written_block_by_block(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All formats of labels hold the same, and a failure in the middle leaves none."""
    monkeypatch.setattr(loaded_rows, "LOADED_SHARE", 0)
    monkeypatch.setattr("projected_kmeans.planning.memory_plan.MIN_BLOCK_BYTES", 2**10)
    np.save(tmp_path / "rows.npy", LARGE)
    assert call("fit", tmp_path / "rows.npy", "-k", 3, "--out", tmp_path / "model").code == 0
    expected = load_model(tmp_path / "model").predict(LARGE)
    for name in ("labels.npy", "labels.csv", "labels.parquet"):
        arguments = ("predict", tmp_path / "model", tmp_path / "rows.npy", "--memory-limit", "50KB")
        run = call(*arguments, "--out", tmp_path / name)
        assert (run.code, run.err) == (0, "")
    table = pyarrow.parquet.ParquetFile(tmp_path / "labels.parquet")
    assert table.num_row_groups > 3
    np.testing.assert_array_equal(table.read()["label"].to_numpy(), expected)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), expected)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "labels.csv", dtype=int), expected)
    assert call(*arguments).out == (tmp_path / "labels.csv").read_text()
    assert json.loads(call(*arguments, "--json").out)["labels"] == expected.tolist()

    broken = LARGE.copy()
    broken[2500, 3] = np.nan
    np.save(tmp_path / "rows.npy", broken)
    before = sorted(tmp_path.iterdir())
    for name in ("new.npy", "new.csv", "new.parquet"):
        check_refusal(call(*arguments, "--out", tmp_path / name), "NaN at row 2500, column 3")
    assert sorted(tmp_path.iterdir()) == before


def test_columns_are_chosen(call: Call, tmp_path: Path) -> None:
    """--columns and --drop choose, and the names are those of the model."""
    header = "a,b,c,d,e,f,g,h,i,j,k,l"
    np.savetxt(tmp_path / "rows.csv", ROWS, delimiter=",", header=header, comments="")
    fit = ("fit", tmp_path / "rows.csv", "-k", 3, "--json", "--out", tmp_path / "model")
    assert result_of(call(*fit, "--columns", "c, a,b"))["data"]["shape"] == [60, 3]
    assert load_model(tmp_path / "model").feature_names_in_.tolist() == ["c", "a", "b"]
    assert result_of(call(*fit, "--drop", "l,k"))["data"]["shape"] == [60, 10]
    check_refusal(call(*fit, "--drop", "z"), "'z'")
    check_refusal(call("predict", tmp_path / "model", tmp_path / "rows.csv"), "12", "10")
    run = call("predict", tmp_path / "model", tmp_path / "rows.csv", "--drop", "k,l")
    assert len(run.out.splitlines()) == 60


def test_images_and_sparse_rows_are_sized(call: Call, tmp_path: Path) -> None:
    """--image-size and --n-features reach their readers; a size that is none is refused."""
    photos = tmp_path / "photos"
    photos.mkdir()
    for index in range(6):
        shade = 200 * (index % 2)
        Image.fromarray(np.full((8 + index, 9), shade, np.uint8)).save(photos / f"{index}.png")
    fit = ("fit", photos, "-k", 2, "--json")
    assert result_of(call(*fit, "--image-size", "4x3"))["data"]["shape"] == [6, 12]
    check_refusal(call(*fit, "--image-size", "4by3"), "'4by3' is not a size")
    dump_svmlight_file(ROWS, np.zeros(60), str(tmp_path / "rows.svm"), zero_based=True)
    run = call("fit", tmp_path / "rows.svm", "-k", 3, "--n-features", 20, "--json")
    assert result_of(run)["data"]["shape"] == [60, 20]


def test_limits_that_cannot_be_kept(call: Call, tmp_path: Path) -> None:
    """A limit that is too small, or no size, is one sentence."""
    np.save(tmp_path / "rows.npy", LARGE)
    fit = ("fit", tmp_path / "rows.npy", "-k", 3, "--memory-limit")
    check_refusal(call(*fit, "1KB"), "memory_limit='1KB' is too small", "use at least")
    check_refusal(call(*fit, "lots"), "memory_limit='lots' is not a size")


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        ("plan", ("-k", "3", "--no-probe"), "principal directions keep what clusters of"),
        ("choose-k", ("--range", "2:6"), "silhouette"),
        ("certify", (), "lower bound"),
    ],
)
def test_other_commands_take_sparse_files(
    call: Call, command: str, options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    """Planning, choosing k and proving say of a sparse file what they say of a dense one."""
    dense = np.where(np.random.default_rng(0).random((200, 90)) < 0.1, 1.0, 0.0)
    np.save(tmp_path / "rows.npy", dense)
    scipy.sparse.save_npz(tmp_path / "rows.npz", scipy.sparse.csr_matrix(dense))
    np.save(tmp_path / "labels.npy", np.arange(200) % 4)
    labels = (str(tmp_path / "labels.npy"),) if command == "certify" else ()
    ends = []
    for name in ("rows.npy", "rows.npz"):
        found = call(command, str(tmp_path / name), *labels, *options)
        assert found.code == 0, found
        assert said in found.out
        ends.append(found.out)
    if command == "choose-k":
        assert ends[0].split()[-12:] == ends[1].split()[-12:]

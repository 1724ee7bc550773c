"""What commands read: data of every kind, whole or damaged, and ids of rows in every format."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from PIL import Image
from sklearn.datasets import dump_svmlight_file

from projected_kmeans import ProjectedKMeans
from projected_kmeans.commands.data import read_ids
from tests.support.commands import ROWS, Call, check_refusal, read_json, store_model
from tests.support.stored_rows import draw_eighths, reading_threads

N = 3000
LARGE = np.tile(ROWS, (N // len(ROWS), 1))
LIMIT = ("--memory-limit", "6MB")
CLUSTERED = draw_eighths(4, 1200, 24, 3)


def with_value(value: float) -> np.ndarray:
    """Return the rows with one bad value."""
    rows = ROWS.copy()
    rows[17, 4] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        (with_value(np.nan), ["row 17", "column 4"]),
        (with_value(np.inf), ["row 17", "column 4"]),
        (with_value(-np.inf).astype(np.float32), ["row 17", "column 4"]),
        (ROWS * 1j, ["complex"]),
        (np.array([["a", "b"], ["c", "d"]]), ["<U1", "numbers"]),
        (np.arange(5.0), ["shape (5,)"]),
        (np.zeros((0, 4)), ["shape (0, 4)"]),
        (np.zeros((4, 0)), ["shape (4, 0)"]),
    ],
)
def test_bad_arrays(call: Call, tmp_path: Path, rows: Any, parts: list[str], model: Path) -> None:
    """Data that cannot be clustered is refused in one sentence by fit and by predict."""
    np.save(tmp_path / "bad.npy", rows)
    before = sorted(tmp_path.rglob("*"))
    check_refusal(call("fit", tmp_path / "bad.npy", "-k", 2, "--out", tmp_path / "out"), *parts)
    run = call("predict", model, tmp_path / "bad.npy", "--out", tmp_path / "new" / "labels.npy")
    check_refusal(run, *parts)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("extension", ["npy", "npz", "mat", "csv", "tsv", "xyz"])
def test_damaged_data(call: Call, tmp_path: Path, extension: str) -> None:
    """A damaged file of any format is refused by name."""
    path = tmp_path / f"rows.{extension}"
    path.write_bytes(b"\x93NUMPY\x01 cut short")
    check_refusal(call("fit", path, "-k", 2, "--out", tmp_path / "out"), str(path))
    assert list(tmp_path.iterdir()) == [path]


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
    pq.write_table(table, folder / "rows.parquet")
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


@pytest.fixture(scope="module")
def large_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a model of the rows without faults."""
    return store_model(LARGE, tmp_path_factory.mktemp("large"))


@pytest.mark.parametrize("loaded", [False, True], ids=["by blocks", "loaded"])
@pytest.mark.parametrize("name", BAD)
def test_fit_and_predict_refuse(
    call: Call,
    large_model: Path,
    name: str,
    loaded: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file and the place are named; no model and no labels appear, whole or in part."""
    make, parts = BAD[name]
    path = make(tmp_path)
    limit: tuple[Any, ...] = () if loaded else LIMIT
    monkeypatch.setattr("projected_kmeans.search.memory_plan.MIN_BLOCK_BYTES", 2**12)
    before = sorted(tmp_path.rglob("*"))
    check_refusal(call("fit", path, "-k", 3, "--out", tmp_path / "new", *limit), *parts)
    for labels in ("new.npy", "new.csv", "new.parquet"):
        check_refusal(
            call("predict", large_model, path, "--out", tmp_path / labels, *limit), *parts
        )
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("name", BAD)
def test_other_commands_refuse(call: Call, name: str, tmp_path: Path) -> None:
    """choose-k, certify and plan refuse a file that is damaged or holds NaN."""
    make, parts = BAD[name]
    path = make(tmp_path)
    np.save(tmp_path / "labels.npy", np.arange(N) % 3)
    before = sorted(tmp_path.rglob("*"))
    check_refusal(call("choose-k", path, "--range", "2:4", "--out", tmp_path / "new.csv"), *parts)
    check_refusal(call("certify", path, tmp_path / "labels.npy"), *parts)
    check_refusal(call("plan", path, "-k", 3), *parts)
    assert sorted(tmp_path.rglob("*")) == before


def write_rows(folder: Path, extension: str) -> Path:
    """Write the clustered rows in a format and return the file."""
    path = folder / f"rows{extension}"
    if extension == ".npy":
        np.save(path, CLUSTERED)
    elif extension == ".csv":
        np.savetxt(path, CLUSTERED, delimiter=",", fmt="%.17g")
    elif extension == ".parquet":
        table = pa.table({f"c{i}": column for i, column in enumerate(CLUSTERED.T)})
        pq.write_table(table, path)
    elif extension == ".svm":
        dump_svmlight_file(CLUSTERED, np.arange(1200) % 2, str(path), zero_based=True)
    else:
        scipy.sparse.save_npz(path, scipy.sparse.csr_array(CLUSTERED))
    return path


@pytest.fixture(scope="module", params=[".npy", ".csv", ".parquet", ".svm", ".npz"])
def rows_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of the clustered rows, in each format in turn."""
    return write_rows(tmp_path_factory.mktemp("rows"), request.param)


@pytest.fixture(scope="module")
def fits() -> dict[bool, ProjectedKMeans]:
    """Return the library's fits of the clustered rows: dense (False) and sparse (True)."""
    dense, sparse = CLUSTERED, scipy.sparse.csr_array(CLUSTERED)
    return {
        is_sparse: ProjectedKMeans(3, random_state=0).fit(rows)
        for is_sparse, rows in ((False, dense), (True, sparse))
    }


@pytest.mark.parametrize("limit", [(), ("--memory-limit", "7MB"), ("--memory-limit", "1GiB")])
def test_formats_loaded_and_read_by_blocks(
    call: Call,
    rows_file: Path,
    fits: dict[bool, ProjectedKMeans],
    limit: tuple[str, ...],
    tmp_path: Path,
) -> None:
    """A fit and its predictions are those of the library on the array, under any limit."""
    expected = fits[rows_file.suffix in (".svm", ".npz")]
    out = tmp_path / "model"
    found = read_json(call("fit", rows_file, "-k", 3, "--json", "--out", out, *limit))
    assert found["results"]["inertia"] == expected.inertia_
    assert found["data"]["shape"] == [1200, 24]
    np.testing.assert_array_equal(np.load(out / "labels.npy"), expected.labels_)
    run = call("predict", out, rows_file, "--out", tmp_path / "labels.npy", *limit)
    assert (run.code, run.err) == (0, "")
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), expected.predict(CLUSTERED))
    assert reading_threads() == []


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the same rows as a dense and a sparse file, and labels of them."""
    folder = tmp_path_factory.mktemp("twins")
    dense = np.where(np.random.default_rng(0).random((200, 90)) < 0.1, 1.0, 0.0)
    np.save(folder / "rows.npy", dense)
    scipy.sparse.save_npz(folder / "rows.npz", scipy.sparse.csr_matrix(dense))
    np.save(folder / "labels.npy", np.arange(200) % 4)
    return folder


@pytest.mark.parametrize("name", ["rows.npy", "rows.npz"])
def test_other_commands_take_sparse_files(call: Call, name: str, twins: Path) -> None:
    """Plan and certify take a sparse file as they take a dense one."""
    plan = call("plan", twins / name, "-k", 3, "--no-probe")
    assert "principal directions of 200" in plan.out
    assert "lower bound" in call("certify", twins / name, twins / "labels.npy").out


def test_numbers_of_clusters_of_sparse_files(call: Call, twins: Path) -> None:
    """choose-k suggests the same for a sparse file as for a dense one.

    Proofs may differ a little, because single-point moves take dense rows only.
    """
    dense, sparse = (
        call("choose-k", twins / name, "--range", "2:4").out.splitlines()
        for name in ("rows.npy", "rows.npz")
    )
    assert "silhouette" in " ".join(dense)
    assert dense[0] == sparse[0]
    assert all(lines[1].startswith("the weakest proof: ") for lines in (dense, sparse))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Return a folder with six bright images of cats and six dark ones of dogs, in colour."""
    for kind, tone in (("cats", 200), ("dogs", 20)):
        (tmp_path / "photos" / kind).mkdir(parents=True)
        for number in range(6):
            image = Image.fromarray(np.full((5, 4, 3), tone + number, np.uint8))
            image.save(tmp_path / "photos" / kind / f"{number}.png")
    return tmp_path / "photos"


def read_csv(path: Path) -> list[list[str]]:
    """Return the cells of a text file."""
    return list(csv.reader(path.read_text().splitlines()))


def test_images_carry_their_names_everywhere(call: Call, photos: Path) -> None:
    """Labels, representatives, report, predictions and descriptions name files, unasked."""
    labels, nearest, out = (photos.parent / name for name in ("l.csv", "r.csv", "m"))
    run = call(
        *("fit", photos, "-k", 2, "--folder-labels", "--out-labels", labels),
        *("--representatives", nearest, "--out", out, "--report", photos.parent / "p.html"),
    )
    assert run.code == 0, run
    assert "accuracy P     1.0000" in run.out
    head, *cells = read_csv(labels)
    assert head == ["file", "label"]
    files = [f"{kind}/{number}.png" for kind in ("cats", "dogs") for number in range(6)]
    assert [cell[0] for cell in cells] == files
    assert {cell[3] for cell in read_csv(nearest)[1:]} <= set(files)
    report = json.loads((out / "report.json").read_text())
    assert report["image_shape"] == [5, 4, 3]
    assert report["members"][0]["typical"][0]["name"] in files
    printed = call("predict", out, photos, "--folder-labels")
    assert printed.out == labels.read_text()
    assert printed.err == "accuracy P 1.0000\n"
    assert call("predict", out, photos, "--out", photos.parent / "l.npy").code == 0
    assert call("predict", out, photos, "--out", photos.parent / "l.parquet").code == 0
    table = pq.read_table(photos.parent / "l.parquet")
    assert table["file"].to_pylist() == files
    described = json.loads(call("describe", out, photos, "--json").out)
    assert {one["representatives"][0] for one in described["clusters"]} <= set(files)


def test_ids_of_any_format_come_from_a_file(call: Call, data: Path, tmp_path: Path) -> None:
    """A text file with or without a header, or an array; numbers stay numbers in Parquet."""
    names = [f"n{row}" for row in range(len(ROWS))]
    (tmp_path / "ids.txt").write_text("\n".join(names))
    (tmp_path / "headed.csv").write_text("\n".join(["who", *names]))
    np.save(tmp_path / "ids.npy", np.arange(100, 100 + len(ROWS)))
    for file, name in (("ids.txt", "id"), ("headed.csv", "who")):
        run = call(
            "fit", data, "-k", 3, "--ids", tmp_path / file, "--out-labels", tmp_path / "l.csv"
        )
        assert run.code == 0, run
        head, *cells = read_csv(tmp_path / "l.csv")
        assert head == [name, "label"]
        assert [cell[0] for cell in cells] == names
    call(
        *("fit", data, "-k", 3, "--ids", tmp_path / "ids.npy"),
        *("--out-labels", tmp_path / "l.parquet"),
    )
    assert pq.read_table(tmp_path / "l.parquet")["id"].to_pylist()[:2] == [100, 101]


def test_ids_that_do_not_fit_are_refused(call: Call, data: Path, table: Path) -> None:
    """Too few of them, a file that is none, two places for them, or no room for them."""
    (table.parent / "few.txt").write_text("a\nb\n")
    check_refusal(
        call("fit", data, "-k", 3, "--ids", table.parent / "few.txt"), "has 2 ids for 60 rows"
    )
    check_refusal(
        call("fit", data, "-k", 3, "--ids", table.parent / "none.txt"), "cannot be read as ids"
    )
    both = ("--ids", table.parent / "few.txt", "--id-column", "name", "--label-column", "kind")
    check_refusal(call("fit", table, "-k", 3, *both), "both give ids; give one of them")
    out = ("--ids", table.parent / "few.txt", "--out-labels", table.parent / "l.npy")
    check_refusal(call("fit", data, "-k", 3, *out), "has no room for ids")
    np.save(table.parent / "floats.npy", np.ones(3))
    with pytest.raises(ValueError, match="give one id a row"):
        read_ids(str(table.parent / "floats.npy"), 3)
    (table.parent / "damaged.npy").write_bytes(b"x")
    with pytest.raises(ValueError, match="cannot be read as ids"):
        read_ids(str(table.parent / "damaged.npy"), 3)


def test_two_sources_of_true_labels_are_refused(call: Call, photos: Path, table: Path) -> None:
    """Folders, a file and a column each give labels; one of them is enough."""
    both = ("--folder-labels", "--labels", table)
    check_refusal(call("fit", photos, "-k", 2, *both), "--labels and --folder-labels both give")
    both = ("--folder-labels", "--label-column", "kind")
    check_refusal(call("fit", table, "-k", 2, *both), "--folder-labels and --label-column both")
    check_refusal(
        call("fit", table, "-k", 2, "--folder-labels", "--drop", "name,kind"),
        "--folder-labels cannot be chosen",
    )

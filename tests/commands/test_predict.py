"""The command ``predict``: labels by a stored model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from projected_kmeans import load_model
from projected_kmeans.sources.open_rows import read_labels
from tests.support.commands import ROWS, Call, check_refusal


def test_predict_prints_labels(call: Call, data: Path, model: Path) -> None:
    """Without --out, predict prints one label a line: those of the fit, for the same rows."""
    run = call("predict", model, data)
    assert (run.code, run.err) == (0, "")
    np.testing.assert_array_equal(
        [int(line) for line in run.out.splitlines()], np.load(model / "labels.npy")
    )


def test_predict_writes_labels(call: Call, data: Path, model: Path, tmp_path: Path) -> None:
    """--out writes .npy or .csv with the same labels."""
    for name in ("labels.npy", "labels.csv"):
        run = call("predict", model / "model.json", data, "--out", tmp_path / "new" / name)
        assert run.out == f"60 labels written to {tmp_path / 'new' / name}\n"
    expected = np.load(model / "labels.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "new/labels.npy"), expected)
    np.testing.assert_array_equal(read_labels(tmp_path / "new/labels.csv"), expected)
    assert len(list((tmp_path / "new").iterdir())) == 2


def test_predict_json(call: Call, data: Path, model: Path, tmp_path: Path) -> None:
    """--json gives one object: the labels, or the name of the file that has them."""
    document = json.loads(call("predict", model, data, "--json").out)
    assert document["n_samples"] == 60
    assert document["labels"] == np.load(model / "labels.npy").tolist()
    run = call("predict", model, data, "--json", "--out", tmp_path / "labels.npy")
    assert json.loads(run.out) == {"data": "rows.npy", "n_samples": 60, "out": "labels.npy"}


def test_headers_are_compared(call: Call, tmp_path: Path) -> None:
    """Columns are found by their names in any order; a file without one of them is refused."""
    header = "a,b,c,d,e,f,g,h,i,j,k,l"
    for name, names in (("fit", header), ("same", header), ("other", header[::-1])):
        np.savetxt(tmp_path / f"{name}.csv", ROWS, delimiter=",", header=names, comments="")
    assert call("fit", tmp_path / "fit.csv", "-k", 3, "--out", tmp_path / "model").code == 0
    run = call("predict", tmp_path / "model", tmp_path / "same.csv")
    assert (run.code, run.err) == (0, "")
    expected = np.load(tmp_path / "model/labels.npy").tolist()
    names = list("lkjihgfedcba")
    text = pd.DataFrame(ROWS[:, ::-1], columns=names)
    text.insert(3, "who", "somebody")
    text.to_csv(tmp_path / "turned.csv", index=False)
    run = call("predict", tmp_path / "model", tmp_path / "turned.csv")
    assert [int(label) for label in run.out.split()] == expected
    assert run.err == "columns that the model does not know: who\n"
    text.to_parquet(tmp_path / "turned.parquet")
    run = call("predict", tmp_path / "model", tmp_path / "turned.parquet", "--id-column", "who")
    assert (run.code, run.err) == (0, "")
    text.drop(columns="c").to_csv(tmp_path / "short.csv", index=False)
    run = call("predict", tmp_path / "model", tmp_path / "short.csv")
    check_refusal(run, "has no column 'c', which the model was fitted to")
    assert call("describe", tmp_path / "model", tmp_path / "turned.csv", "-q").code == 0


def test_chosen_columns_need_no_second_choice(call: Call, tmp_path: Path) -> None:
    """A model of a column of vectors finds that column again, beside other columns."""
    table = pd.DataFrame({"name": ["x"] * len(ROWS), "embedding": list(ROWS.astype(np.float32))})
    table.to_parquet(tmp_path / "rows.parquet")
    words = ("fit", tmp_path / "rows.parquet", "-k", 3, "--columns", "embedding")
    assert call(*words, "--out", tmp_path / "model").code == 0
    run = call("predict", tmp_path / "model", tmp_path / "rows.parquet", "-q")
    assert run.code == 0
    expected = np.load(tmp_path / "model/labels.npy").tolist()
    assert [int(label) for label in run.out.split()] == expected


def test_other_features_at_predict(call: Call, model: Path, tmp_path: Path) -> None:
    """Rows of another width than the model's are refused with both numbers."""
    np.save(tmp_path / "narrow.npy", ROWS[:, :7])
    check_refusal(call("predict", model, tmp_path / "narrow.npy"), "7", "12")


def test_models_that_are_none(call: Call, data: Path, tmp_path: Path) -> None:
    """A folder without a model is refused."""
    check_refusal(call("predict", tmp_path, data), "model.json does not exist")


def test_distances_stand_beside_labels(call: Call, data: Path, model: Path, tmp_path: Path) -> None:
    """--distances adds a column to files and to what is printed; .npy has no room for it."""
    expected = load_model(model).distances(ROWS)
    for name in ("labels.csv", "labels.parquet"):
        assert call("predict", model, data, "--distances", "--out", tmp_path / name).code == 0
    found = pd.read_csv(tmp_path / "labels.csv")
    np.testing.assert_allclose(found["distance"], expected)
    np.testing.assert_allclose(pd.read_parquet(tmp_path / "labels.parquet")["distance"], expected)
    assert call("predict", model, data, "--distances").out.startswith("label,distance\n")
    document = json.loads(call("predict", model, data, "--distances", "--json").out)
    np.testing.assert_allclose(document["distances"], expected)
    run = call("predict", model, data, "--distances", "--out", tmp_path / "labels.npy")
    check_refusal(run, "no room for distances")


def test_a_fit_that_set_rows_aside(call: Call, data: Path, tmp_path: Path) -> None:
    """Fit --trim writes the label -1, and its folder can be read again."""
    words = ["fit", data, "-k", 3, "--trim", 0.05, "--out", tmp_path / "m"]
    run = call(*words, "--out-labels", tmp_path / "labels.csv")
    assert run.code == 0
    assert "3 rows (label -1)" in run.out
    assert read_labels(tmp_path / "labels.csv").tolist().count(-1) == 3
    assert call("predict", tmp_path / "m", data).code == 0
    assert call("report", tmp_path / "m", "--out", tmp_path / "page.html").code == 0

"""The command ``describe``: what each cluster of a stored model is."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.support.command_tables import IDS
from tests.support.commands import Call, check_refusal, read_json

NAMES = [f"word {column}" for column in range(12)]


def test_descriptions_as_table_and_json(call: Call, table: Path, tmp_path: Path) -> None:
    """The table and the JSON object name the planted columns, and the ids of the nearest rows."""
    columns = ["--id-column", "name", "--label-column", "kind"]
    folder = tmp_path / "model"
    assert call("fit", table, "-k", 3, *columns, "--out", folder, "--quiet").code == 0
    found = read_json(call("describe", folder, table, *columns, "--json"))["clusters"]
    assert sorted(one["columns"][0] for one in found) == ["c0", "c1", "c2"]
    assert all(one["representatives"][0] in IDS for one in found)
    run = call("describe", folder, table, *columns)
    assert (run.code, run.err) == (0, "")
    assert found[0]["representatives"][0] in run.out


@pytest.mark.parametrize("kind", ["names.txt", "names.npy", "names.npz"])
def test_names_from_files(call: Call, data: Path, model: Path, tmp_path: Path, kind: str) -> None:
    """Names of columns come from lines, or from an array of text."""
    file = tmp_path / kind
    if file.suffix == ".txt":
        file.write_text("\n".join(NAMES))
    elif file.suffix == ".npy":
        np.save(file, NAMES)
    else:
        np.savez(file, groups=np.array(["a", "b"]), vocabulary=np.array(NAMES))
    run = call("describe", model, data, "--feature-names", file, "--json")
    firsts = {one["columns"][0] for one in read_json(run)["clusters"]}
    assert firsts == {"word 0", "word 1", "word 2"}


def test_files(call: Call, data: Path, model: Path, tmp_path: Path) -> None:
    """--out writes .csv or .json; another format is refused before anything is read."""
    out = tmp_path / "new" / "clusters.csv"
    assert call("describe", model, data, "--out", out).code == 0
    with out.open(newline="") as handle:
        lines = list(csv.DictReader(handle))
    assert [line["cluster"] for line in lines] == ["0", "1", "2"]
    assert call("describe", model, data, "--out", tmp_path / "c.json", "--quiet").out == ""
    assert (tmp_path / "c.json").exists()
    check_refusal(call("describe", model, data, "--out", tmp_path / "c.txt"), "use .csv or .json")


def test_wrong_names_are_refused(call: Call, data: Path, model: Path, tmp_path: Path) -> None:
    """A file with another number of names, without text, or that is missing gets a sentence."""
    (tmp_path / "few.txt").write_text("a\nb\n")
    np.save(tmp_path / "numbers.npy", np.arange(12))
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    for name, part in (
        ("few.txt", "2 names for 12 columns"),
        ("numbers.npy", "no array of text"),
        ("bad.npz", "cannot be read as names"),
        ("missing.txt", "cannot be read as names"),
    ):
        check_refusal(call("describe", model, data, "--feature-names", tmp_path / name), part)


@pytest.mark.parametrize("options", [[], ["--trim", "0.1"], ["--metric", "cosine"]])
def test_numbers_are_those_of_the_report(call: Call, tmp_path: Path, options: list[str]) -> None:
    """With weights, holes, labels and data of the fit, every number is that of its report."""
    stream = np.random.default_rng(3)
    table = pd.DataFrame(stream.normal(size=(200, 4)), columns=list("abcd"))
    table["a"] += 5 * (np.arange(200) % 3)
    table["visits"] = stream.uniform(0.1, 3, size=200)
    table.loc[stream.choice(200, 20, replace=False), "b"] = np.nan
    data, model = tmp_path / "table.csv", tmp_path / "model"
    table.to_csv(data, index=False)
    weights = ["--weight-column", "visits"]
    fit = [*weights, "--on-missing", "skip", *options, "--out", model, "--quiet"]
    assert call("fit", data, "-k", 3, *fit).code == 0
    labels = ["--clusters", model / "labels.npy"]
    run = call("describe", model, data, *weights, *labels, "--json")
    report = json.loads((model / "report.json").read_text())
    for one, other in zip(read_json(run)["clusters"], report["clusters"], strict=True):
        assert (one["name"] or None) == other["summary"]
        assert one["representatives"] == [other["representative"]]
        for name in ("rows", "share", "spread"):
            assert one[name] == other[name]
    np.save(tmp_path / "few.npy", np.zeros(9, int))
    few = call("describe", model, data, "--clusters", tmp_path / "few.npy")
    check_refusal(few, "has 9 labels for 200 rows; give one for each")

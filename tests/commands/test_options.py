"""Options that several commands share: columns, sizes, limits and metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import dump_svmlight_file

from projected_kmeans.commands.options import ratio_or_percent
from projected_kmeans.estimator.model_files import load_model
from tests.support.command_tables import make_table
from tests.support.commands import ROWS, TRUTH, Call, check_refusal, read_json


def test_mistyped_columns(call: Call, table: Path) -> None:
    """A column that is not there is refused with its neighbour, wherever it is named."""
    for option in ("--columns", "--drop", "--id-column", "--label-column"):
        run = call("fit", table, "-k", 3, option, "knid")
        check_refusal(run, "has no column 'knid'; did you mean 'kind'?")
    check_refusal(
        call("fit", table, "-k", 3, "--columns", "zzz"), "choose among name, c0, c1", "and 6 more"
    )


@pytest.mark.parametrize("memory", ["little_memory", "enough_memory"])
def test_every_command_chooses_columns(
    call: Call, table: Path, memory: str, request: pytest.FixtureRequest
) -> None:
    """plan, choose-k and certify take the columns that fit takes, loaded or read by blocks."""
    request.getfixturevalue(memory)
    np.save(table.parent / "labels.npy", TRUTH)
    for arguments in (
        ("plan", table, "-k", 3, "--no-probe", "--json"),
        ("choose-k", table, "--range", "2:3", "--json"),
        ("certify", table, table.parent / "labels.npy", "--json"),
    ):
        check_refusal(call(*arguments), "leave the column out")
        read_json(call(*arguments, "--drop", "name,kind"))
        check_refusal(call(*arguments, "--columns", "c0,z"), "'z'")


def test_bad_uses_of_columns(call: Call, data: Path, table: Path, tmp_path: Path) -> None:
    """Ids without names, in .npy, among the features; labels from two places, or missing."""
    new = tmp_path / "new"
    fit: tuple[Any, ...] = ("fit", table, "-k", 3, "--drop", "kind", "--id-column", "name")
    check_refusal(call(*fit, "--out-labels", new / "l.npy"), "no room for ids", "use .csv")
    check_refusal(call(*fit, "--out-labels", new / "l.txt"), "unknown format '.txt'")
    check_refusal(
        call("fit", data, "-k", 3, "--id-column", "a", "--out-labels", new / "l.csv"),
        "read as .npy, which has no named columns",
    )
    check_refusal(
        call("fit", table, "-k", 3, "--columns", "c0,name", "--id-column", "name"),
        "'name' is chosen as a feature and as an id or label",
    )
    run = call("fit", table, "-k", 3, "--label-column", "kind", "--labels", "truth.csv")
    check_refusal(run, "--labels and --label-column both give true labels")
    holes = make_table()
    holes.loc[7, "kind"] = ""
    holes.to_csv(table, index=False)
    run = call("fit", table, "-k", 3, "--drop", "name", "--label-column", "kind")
    check_refusal(run, "has nothing in column 'kind', row 7; fill it")
    assert not new.exists()


def test_columns_are_chosen(call: Call, tmp_path: Path) -> None:
    """--columns and --drop choose, and the names are those of the model."""
    header = "a,b,c,d,e,f,g,h,i,j,k,l"
    np.savetxt(tmp_path / "rows.csv", ROWS, delimiter=",", header=header, comments="")
    fit = ("fit", tmp_path / "rows.csv", "-k", 3, "--json", "--out", tmp_path / "model")
    assert read_json(call(*fit, "--columns", "c, a,b"))["data"]["shape"] == [60, 3]
    assert load_model(tmp_path / "model").feature_names_in_.tolist() == ["c", "a", "b"]
    assert read_json(call(*fit, "--drop", "l,k"))["data"]["shape"] == [60, 10]
    check_refusal(call(*fit, "--drop", "z"), "'z'")
    run = call("predict", tmp_path / "model", tmp_path / "rows.csv")
    assert (len(run.out.splitlines()), run.code) == (60, 0)
    assert run.err == ""  # the model knows which columns its fit left out
    again = call("predict", tmp_path / "model", tmp_path / "rows.csv", "--drop", "k,l")
    assert again.out == run.out


def test_images_and_sparse_rows_are_sized(call: Call, tmp_path: Path) -> None:
    """--image-size and --n-features reach their readers; a size that is none is refused."""
    photos = tmp_path / "photos"
    photos.mkdir()
    for index in range(6):
        shade = 200 * (index % 2)
        Image.fromarray(np.full((8 + index, 9), shade, np.uint8)).save(photos / f"{index}.png")
    fit = ("fit", photos, "-k", 2, "--json")
    assert read_json(call(*fit, "--image-size", "4x3"))["data"]["shape"] == [6, 12]
    check_refusal(call(*fit, "--image-size", "4by3"), "'4by3' is not a size")
    dump_svmlight_file(ROWS, np.zeros(60), str(tmp_path / "rows.svm"), zero_based=True)
    run = call("fit", tmp_path / "rows.svm", "-k", 3, "--n-features", 20, "--json")
    assert read_json(run)["data"]["shape"] == [60, 20]


def test_limits_that_cannot_be_kept(call: Call, tmp_path: Path) -> None:
    """A limit that is too small, or no size, is one sentence."""
    np.save(tmp_path / "rows.npy", ROWS)
    fit = ("fit", tmp_path / "rows.npy", "-k", 3, "--memory-limit")
    check_refusal(call(*fit, "1KB"), "--memory-limit 1KB is too small", "use at least")
    check_refusal(call(*fit, "lots"), "--memory-limit lots is not a size")


def test_all_commands_take_directions(call: Call, tmp_path: Path) -> None:
    """Rows and rows of other lengths give the same answers; fits show cosines instead of F~."""
    lengths = np.random.default_rng(0).uniform(1, 9, (len(ROWS), 1))
    answers = []
    for name, rows in (("plain", ROWS), ("longer", ROWS * lengths)):
        file, out = tmp_path / f"{name}.npy", tmp_path / name
        np.save(file, rows.astype(np.float64))
        told = call("fit", file, "-k", 3, "--metric", "cosine", "--seed", 0, "--out", out).out
        assert "mean cosine" in told
        assert "explained" in told
        assert "F~" not in told
        words = (file, out / "labels.npy", "--metric", "cosine", "--json")
        proven = json.loads(call("certify", *words).out)
        range_ = ("--range", "2:4", "--metric", "cosine", "--no-prove", "--json")
        chosen = json.loads(call("choose-k", file, *range_).out)
        result = json.loads((out / "result.json").read_text())["results"]
        np.testing.assert_allclose(proven["inertia"], result["inertia"], rtol=1e-9)
        answers.append([proven["inertia"], *chosen["inertia"], result["mean_cosine"]])
        plan = call("plan", file, "-k", 3, "--metric", "cosine", "--json", "--no-probe")
        assert plan.code == 0
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-6)


@pytest.mark.parametrize(("text", "ratio"), [("1.05", 1.05), ("5%", 1.05), ("0 %", 1.0)])
def test_guarantees_are_ratios_or_percentages(text: str, ratio: float) -> None:
    """What exceeds 1 may be given in percent."""
    assert ratio_or_percent(text) == ratio

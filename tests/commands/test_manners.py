"""Manners of the command line: suggestions, quiet, colours, ids, completion, the manual page."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.shell_completion import BashComplete

from projected_kmeans import ProjectedKMeans
from projected_kmeans.commands import main as cli
from tests.support.commands import COMMAND, ROWS, TRUTH, Call, check_refusal

NAMES = [f"c{column}" for column in range(ROWS.shape[1])]
IDS = [f"row {index:03}" for index in range(len(ROWS))]
KINDS = [("cat", "dog", "emu")[truth] for truth in TRUTH]
CLUSTERS = ProjectedKMeans(3, random_state=0).fit(ROWS).labels_


def make_table() -> pd.DataFrame:
    """Return the rows with names, ids in front and kinds at the end."""
    table = pd.DataFrame(ROWS, columns=NAMES)
    table.insert(0, "name", IDS)
    return table.assign(kind=KINDS)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a text file of rows with ids and kinds."""
    make_table().to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def read_csv(path: Path) -> list[list[str]]:
    """Return the cells of a text file."""
    with path.open(newline="") as handle:
        return list(csv.reader(handle))


# --- suggestions ---------------------------------------------------------------------------------


def test_mistyped_options_and_commands(call: Call, data: Path) -> None:
    """What is near to a known word is suggested, and else where to look."""
    check_refusal(
        call("fit", data, "--cluster", 3), "no such option '--cluster'; did you mean '--clusters'?"
    )
    check_refusal(call("fit", data, "--zzz"), "'--zzz'; see projected-kmeans fit --help")
    check_refusal(call("predit", data), "no such command 'predit'; did you mean 'predict'?")
    check_refusal(call("zzz"), "no such command 'zzz'; choose among certify, choose-k")
    check_refusal(call("--versoin"), "no such option '--versoin'; did you mean '--version'?")


def test_mistyped_columns(call: Call, table: Path) -> None:
    """A column that is not there is refused with its neighbour, wherever it is named."""
    for option in ("--columns", "--drop", "--id-column", "--label-column"):
        run = call("fit", table, "-k", 3, option, "knid")
        check_refusal(run, "has no column 'knid'; did you mean 'kind'?")
    check_refusal(
        call("fit", table, "-k", 3, "--columns", "zzz"), "choose among name, c0, c1", "and 6 more"
    )


def test_every_command_chooses_columns(call: Call, table: Path) -> None:
    """What looks at rows without labelling them leaves columns out by name, too."""
    np.save(table.parent / "labels.npy", TRUTH)
    for arguments in (
        ("plan", table, "-k", 3, "--no-probe"),
        ("choose-k", table, "--range", "2:3"),
        ("certify", table, table.parent / "labels.npy"),
    ):
        check_refusal(call(*arguments), "leave the column out")
        run = call(*arguments, "--drop", "name,kind", "--json")
        assert (run.code, run.err) == (0, ""), run


# --- quiet and colours ---------------------------------------------------------------------------


def test_quiet_prints_only_what_is_asked_for(call: Call, data: Path, model: Path) -> None:
    """With -q there is no summary; JSON, labels and tables without a file are still printed."""
    out = data.parent / "labels.csv"
    curves = data.parent / "curves.csv"
    for arguments in (
        ("fit", data, "-k", 3, "-q"),
        ("fit", data, "-k", 3, "--quiet", "--out-labels", out),
        ("predict", model, data, "-q", "--out", out),
        ("choose-k", data, "--range", "2:4", "-q", "--out", curves),
    ):
        run = call(*arguments)
        assert (run.code, run.out, run.err) == (0, "", ""), arguments
    assert out.exists()
    assert curves.exists()
    assert json.loads(call("fit", data, "-k", 3, "-q", "--json").out)["key"] == 0
    assert len(call("predict", model, data, "-q").out.split()) == len(ROWS)
    assert "ratio" in call("certify", data, model / "labels.npy", "-q").out
    assert "silhouette" in call("choose-k", data, "--range", "2:4", "-q").out
    check_refusal(call("fit", data, "-k", 0, "-q"), "n_clusters=0")


def test_quiet_shows_no_progress(call: Call, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal too, -q draws nothing."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert call("fit", data, "-k", 3, "-q").err == ""


@pytest.mark.parametrize(
    ("terminal", "environment", "coloured"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_colours_are_for_terminals(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, environment: dict[str, str], coloured: bool
) -> None:
    """The kind of a message is in colour on a terminal, unless NO_COLOR or a dumb one says no."""
    said: list[str] = []
    monkeypatch.setattr(click, "echo", lambda text, **options: said.append(text))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        cli.main(["fit", "nowhere.npy", "-k", "3"])
    assert ("\x1b[" in said[0]) is coloured
    assert "nowhere.npy does not exist" in said[0]


def test_pipes_get_plain_tables(call: Call, data: Path) -> None:
    """What goes to a pipe has no escape sequences."""
    for arguments in (("plan", data, "-k", 3), ("choose-k", data, "--range", "2:3")):
        assert "\x1b" not in call(*arguments).out


# --- ids and labels ------------------------------------------------------------------------------


def test_ids_travel_from_text_to_text(call: Call, table: Path) -> None:
    """Ids and kinds are no features; ids stand beside the labels, kinds give the accuracy."""
    out = table.parent / "clusters.csv"
    columns = ("--id-column", "name", "--label-column", "kind")
    run = call("fit", table, "-k", 3, *columns, "--out-labels", out, "--out", table.parent / "m")
    assert run.code == 0, run
    assert "60 x 12 float64" in run.out
    assert "accuracy P     1.0000" in run.out
    head, *cells = read_csv(out)
    assert head == ["name", "label"]
    assert [cell[0] for cell in cells] == IDS
    np.testing.assert_array_equal([int(cell[1]) for cell in cells], CLUSTERS)
    run = call("predict", table.parent / "m", table, *columns, "--out", table.parent / "again.csv")
    assert run.out.endswith("accuracy P 1.0000\n")
    assert (table.parent / "again.csv").read_bytes() == out.read_bytes()
    printed = call("predict", table.parent / "m", table, *columns)
    assert printed.out == out.read_text()
    assert printed.err == "accuracy P 1.0000\n"
    document = json.loads(call("predict", table.parent / "m", table, *columns, "--json").out)
    assert document["ids"] == IDS
    assert document["labels"] == CLUSTERS.tolist()
    assert document["accuracy"] == 1.0


@pytest.mark.parametrize("extension", ["parquet", "feather", "arrow"])
def test_ids_keep_their_type(call: Call, tmp_path: Path, extension: str) -> None:
    """Integer ids of a columnar file are integers in Parquet."""
    table = make_table().drop(columns="kind").assign(name=np.arange(60) * 10**12)
    path = tmp_path / f"table.{extension}"
    table.to_parquet(path) if extension == "parquet" else table.to_feather(path)
    out = tmp_path / "labels.parquet"
    run = call("fit", path, "-k", 3, "--id-column", "name", "--out-labels", out, "-q")
    assert run.code == 0, run
    found = pq.read_table(out)
    assert [str(kind) for kind in found.schema.types] == ["int64", "int32"]
    assert found.column("name").to_pylist() == table.name.tolist()
    np.testing.assert_array_equal(found.column("label"), CLUSTERS)


def test_ids_of_folders_and_of_an_index(call: Call, tmp_path: Path) -> None:
    """Ids of a folder come in the order of its rows; the index that pandas stores serves too."""
    (tmp_path / "lake").mkdir()
    table = make_table().drop(columns="kind").set_index("name")
    table[:25].to_parquet(tmp_path / "lake" / "a.parquet", row_group_size=10)
    table[25:].to_parquet(tmp_path / "lake" / "b.parquet")
    out = tmp_path / "labels.csv"
    run = call("fit", tmp_path / "lake", "-k", 3, "--id-column", "name", "--out-labels", out)
    assert run.code == 0, run
    assert [cells[0] for cells in read_csv(out)[1:]] == IDS


def test_ids_that_look_like_text(call: Call, tmp_path: Path) -> None:
    """Ids with commas, quotes and line ends in the header survive; a column called label too."""
    ids = [f'a "{index}", b' for index in range(60)]
    make_table().drop(columns=["kind", "name"]).assign(label=ids).to_csv(
        tmp_path / "t.csv", index=False
    )
    out = tmp_path / "labels.csv"
    run = call("fit", tmp_path / "t.csv", "-k", 3, "--id-column", "label", "--out-labels", out)
    assert run.code == 0, run
    assert [cells[0] for cells in read_csv(out)] == ["label", *ids]
    assert read_csv(out)[0][1] == "cluster"


def test_labels_of_a_fit_in_every_format(call: Call, data: Path) -> None:
    """--out-labels writes what the estimator finds as .npy, .csv and .parquet."""
    for extension in ("npy", "csv", "parquet"):
        run = call("fit", data, "-k", 3, "--out-labels", data.parent / f"l.{extension}")
        assert run.code == 0, run
    np.testing.assert_array_equal(np.load(data.parent / "l.npy"), CLUSTERS)
    np.testing.assert_array_equal(np.loadtxt(data.parent / "l.csv", dtype=int), CLUSTERS)
    np.testing.assert_array_equal(pq.read_table(data.parent / "l.parquet")["label"], CLUSTERS)


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


# --- completion ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(call: Call, shell: str) -> None:
    """Each shell gets a script that asks the program; another shell is refused."""
    run = call("completion", shell)
    assert (run.code, run.err) == (0, "")
    assert f"_PROJECTED_KMEANS_COMPLETE={shell}_complete" in run.out
    check_refusal(call("completion", "tcsh"), "tcsh")
    program = shutil.which(shell)
    if program is not None:
        check = [program, "--no-execute"] if shell == "fish" else [program, "-n"]
        subprocess.run(
            [*check, "-"] if shell == "zsh" else check, input=run.out.encode(), check=True
        )


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("fit rows.npy --cl", ["plain --clusters"]),
        ("fit --solver h", ["plain hartigan"]),
        ("fit ro", ["file ro"]),
        ("predict model --out la", ["file la"]),
        ("--v", ["plain --version"]),
    ],
)
def test_words_are_completed(words: str, offered: list[str]) -> None:
    """The program offers what may come next: options, choices, files."""
    shell = BashComplete(cli.commands, {}, "projected-kmeans", "_PROJECTED_KMEANS_COMPLETE")
    *before, last = words.split()
    found = shell.get_completions(before, last)
    assert [f"{item.type} {item.value}" for item in found] == offered


def test_commands_are_completed() -> None:
    """Asked by a shell, the program offers commands, and imports no numerical package for it."""
    environment = os.environ | {
        "_PROJECTED_KMEANS_COMPLETE": "bash_complete",
        "COMP_WORDS": "projected-kmeans c",
        "COMP_CWORD": "1",
    }
    program = f"import sys; sys.modules['numpy'] = None; {COMMAND[-1]}"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.split() == ["plain,certify", "plain,choose-k", "plain,completion"]

"""The command choose-k: its table, its files and its refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from projected_kmeans import choose_n_clusters
from tests.support.commands import ROWS, Call, check_refusal


def test_the_table_marks_the_suggestion(call: Call, data: Path) -> None:
    """The table marks the number that the sentence above it names."""
    run = call("choose-k", data, "--range", "2:6")
    assert (run.code, run.err) == (0, "")
    assert "3 clusters: gap statistic and silhouette agree" in run.out
    marked = [line for line in run.out.splitlines() if "<-" in line]
    assert len(marked) == 1
    assert marked[0].split()[:2] == ["3", "<-"]


def test_the_command_says_what_the_library_does(call: Call, data: Path, tmp_path: Path) -> None:
    """JSON on stdout and in a file is the library's result, and CSV has its curves."""
    out = tmp_path / "new" / "curves.json"
    run = call("choose-k", data, "--range", "2:6:2", "--seed", 3, "--json", "--out", out)
    document = json.loads(run.out)
    assert json.loads(out.read_text()) == document
    choice = choose_n_clusters(ROWS, [2, 4, 6], random_state=3)
    assert document == replace(choice, seconds=document["seconds"]).to_document() | {
        "data": "rows.npy"
    }
    assert call("choose-k", data, "--range", "2:3", "--out", tmp_path / "curves.csv").code == 0
    lines = (tmp_path / "curves.csv").read_text().splitlines()
    assert lines[0].startswith("n_clusters,inertia,normalized_inertia,lower_bound,silhouette")
    assert [line.split(",")[0] for line in lines[1:]] == ["2", "3"]


def test_the_table_shows_what_is_proven(call: Call, data: Path) -> None:
    """The interval stands in the table, and a sentence says what it proves; unless not wanted."""
    run = call("choose-k", data, "--range", "2:4")
    assert "best possible" in run.out
    assert " to " in next(line for line in run.out.splitlines() if "<-" in line)
    assert "no clustering into 3 groups can be" in run.out
    without = call("choose-k", data, "--range", "2:4", "--no-prove")
    assert "best possible" not in without.out
    assert "lower bound" in without.out
    assert "no clustering into" not in without.out


def test_the_answer_comes_first_then_ten_numbers(
    call: Call, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten numbers around the answer are listed, all with --all, and no digit is cut off."""
    monkeypatch.setenv("COLUMNS", "30")
    few = call("choose-k", data, "--range", "2:16", "--no-prove").out
    lines = few.splitlines()
    assert lines[0].startswith("3 clusters: gap statistic and silhouette agree")
    assert [line.split()[0] for line in lines if " ± " in line] == [str(k) for k in range(2, 12)]
    assert "--all lists all 15 numbers" in few
    many = call("choose-k", data, "--range", "2:16", "--no-prove", "--all").out
    assert many.count(" ± ") == 15
    assert "…" not in few + many


@pytest.mark.parametrize("text", ["5", "5:2", "1:4", "2:9:0", "2:3:4:5", "a:b"])
def test_bad_ranges_are_refused(call: Call, data: Path, text: str) -> None:
    """A text that is not a range of numbers of clusters gives one sentence."""
    check_refusal(call("choose-k", data, "--range", text), text, "give LO:HI")


def test_files_are_checked_before_the_work(call: Call, data: Path, tmp_path: Path) -> None:
    """Curves are written to .json and .csv only; a folder and a bad path are refused at once."""
    check_refusal(call("choose-k", data, "--out", tmp_path / "a.txt"), "use .json or .csv")
    (tmp_path / "folder.csv").mkdir()
    check_refusal(call("choose-k", data, "--out", tmp_path / "folder.csv"), "is a folder")
    check_refusal(call("choose-k", data, "--out", data / "deep" / "a.csv"), "cannot be written")

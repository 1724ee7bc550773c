"""``reproduce``: every experiment by one command, in small sizes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from projected_kmeans.commands import main as cli
from projected_kmeans.commands.reproduce import EXPERIMENTS
from projected_kmeans.paper import figure1, mailman, table1, table2, theorem
from projected_kmeans.paper.published import DIMENSIONS, METHODS, TABLE2
from projected_kmeans.paper.views.files import VIEWS


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make --quick quicker still: sizes at which only the flow is seen."""
    monkeypatch.setattr(table2, "QUICK", table2.Sizes(n_draws=2, unit_draws=1, repeats=1))
    monkeypatch.setattr(figure1, "QUICK", figure1.Sizes((5, 20, 25, 50, 90, 275, 300), 2, 1))
    monkeypatch.setattr(
        table1,
        "QUICK",
        table1.Sizes(
            n_instances=6,
            unit_instances=3,
            n_gamma_instances=2,
            n=(30, 40, 50),
            d=(200, 300, 400),
            k=(2, 3, 4),
            middle=(40, 300, 3),
            reference=(50, 300, 5),
            least_seconds=0.0,
            repeats=1,
        ),
    )
    monkeypatch.setattr(mailman, "QUICK", mailman.Sizes((1, 10, 20), 64, 8, 0.0, 1))
    monkeypatch.setattr(
        theorem,
        "QUICK",
        theorem.Sizes(
            n_draws=4,
            unit_draws=2,
            ratios=(2, 12),
            n_instances=4,
            unit_instances=2,
            instance_dimensions=(2, 34),
            random_shape=(40, 260),
        ),
    )


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run the command line and return its exit code, output and errors."""
    with pytest.raises(SystemExit) as left:
        cli.main(["reproduce", *arguments])
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err  # type: ignore[return-value]


@pytest.mark.usefixtures("tiny")
def test_all_with_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], find_data: Callable[[str], Path]
) -> None:
    """All experiments run by one command, and a second run of Table 2 shows what is stored."""
    data = str(find_data("ORL_64x64.mat"))
    page = tmp_path / "docs" / "story.md"
    out = tmp_path / "out"
    flags = ["--quick", "--data", data, "--out", str(out)]
    code, output, _ = run("all", *flags, "--page", str(page), capsys=capsys)
    assert code == 0
    for name in EXPERIMENTS:
        assert VIEWS[name].title in output
        assert f"](figures/{name}.png)" in page.read_text()
        assert (page.parent / "figures" / f"{name}.png").exists()
        assert (page.parent / "story" / f"{name}.json").exists()
        assert {f"{name}.{end}" for end in ("json", "md", "tex", "png", "svg")} <= {
            file.name for file in out.iterdir()
        }
    before = (out / "table2.json").read_bytes()
    code, output, _ = run("table2", *flags, capsys=capsys)
    assert code == 0
    assert output.splitlines()[-1] == "25 of 26 deterministic values match the paper"
    assert (out / "table2.json").read_bytes() == before
    check_table2(json.loads(before))


def check_table2(document: dict[str, Any]) -> None:
    """Assert that every pair stands beside the paper's, and meets it where it is deterministic."""
    rows = {(row["method"], row["t"]): row for row in document["results"]["rows"]}
    assert set(rows) == {(method, t) for method in METHODS for t in DIMENSIONS}
    for (method, t), row in rows.items():
        assert (row["paper_P"], row["paper_F"]) == TABLE2[method][t]
        if method in ("SVD", "LLE", "LS"):
            assert (round(row["P"], 4), round(row["F"], 4)) == TABLE2[method][t]
    assert rows["HD", 10]["P"] == 0.6225
    assert not rows["HD", 10]["paper_P_possible"]
    assert document["results"]["matches"] == {"matching": 25, "total": 26}


@pytest.mark.usefixtures("tiny")
def test_a_stopped_command_continues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an interruption the same command measures only what was left."""
    measured: list[str] = []
    time_row = table1._time_row

    def count(name: str, *arguments: Any) -> float:
        if len(measured) == 3:
            measured.append("stop")
            raise KeyboardInterrupt
        measured.append(name)
        return time_row(name, *arguments)

    monkeypatch.setattr(table1, "_time_row", count)
    arguments = ["table1", "--quick", "--out", str(tmp_path)]
    assert run(*arguments, capsys=capsys)[0] == 130
    lines = (tmp_path / "table1.partial.jsonl").read_text().splitlines()
    assert run(*arguments, capsys=capsys)[0] == 0
    n_timed = len(table1.plan_table1(sizes=table1.QUICK).units) - 3
    assert len(lines) == 1 + 3 + 3  # the identity, what does not time, what was timed
    assert len(measured) == 1 + n_timed
    assert not (tmp_path / "table1.partial.jsonl").exists()


@pytest.mark.usefixtures("tiny")
def test_theorem_without_faces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without face images the theorem is tested on random data, and the command says so."""

    def fail(path: str | None) -> None:
        raise ValueError("the face images were not found")

    monkeypatch.setattr("projected_kmeans.paper.faces.find_faces", fail)
    code, output, errors = run("theorem", "--quick", "--out", str(tmp_path), capsys=capsys)
    assert code == 0
    assert "tested on random data" in errors
    assert "random mixture" in output


def test_table2_without_faces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without face images Table 2 ends with one sentence, exit code 2 and no folder."""

    def fail(path: str | None) -> None:
        raise ValueError("the face images were not found; give them with --data")

    monkeypatch.setattr("projected_kmeans.paper.faces.find_faces", fail)
    out = tmp_path / "out"
    code, _, errors = run("table2", "--out", str(out), capsys=capsys)
    assert code == 2
    assert errors == (
        "projected-kmeans: error: the face images were not found; give them with --data\n"
    )
    assert not out.exists()


def test_full_sizes() -> None:
    """A full run has 1,000 draws in Table 2, 30 draws of 60 dimensions, and 10,000 rows."""
    assert table2.FULL.n_draws >= 1000
    assert figure1.FULL.dimensions == tuple(range(5, 301, 5))
    assert figure1.FULL.n_draws >= 30
    assert (mailman.FULL.n[0], mailman.FULL.n[-1]) == (1, 10_000)


def test_the_command_line_starts_without_the_experiments() -> None:
    """Importing the command loads neither matplotlib nor any experiment or baseline."""
    script = (
        "import sys, projected_kmeans.commands.reproduce; print([name for name in sys.modules if "
        "name.startswith(('matplotlib', 'projected_kmeans.paper.')) and "
        "not name.endswith('.command')])"
    )
    command = [sys.executable, "-c", script]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

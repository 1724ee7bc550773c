"""The command ``report``: the page of a stored fit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.estimator.model_files import load_model
from tests.support.commands import TRUTH, Call


def test_report_from_a_folder_a_result_and_json(call: Call, model: Path, tmp_path: Path) -> None:
    """The folder of a fit, its result.json and the output of --json all become pages."""
    assert call("report", model).out == f"written to {model / 'report.html'}\n"
    assert 'id="map"' in (model / "report.html").read_text("utf-8")
    call("report", model / "result.json", "--out", tmp_path / "same.html")
    assert 'id="map"' in (tmp_path / "same.html").read_text("utf-8")
    (model / "report.json").unlink()
    call("report", model, "--out", tmp_path / "less.html")
    assert "made without the rows" in (tmp_path / "less.html").read_text("utf-8")


def test_the_title_is_that_of_the_data_or_a_name(call: Call, data: Path, tmp_path: Path) -> None:
    """The title is the name of DATA; --name of fit or of report gives another one."""
    page = tmp_path / "page.html"
    call("fit", data, "-k", 3, "-q", "--report", page)
    assert "<h1>rows.npy</h1>" in page.read_text("utf-8")
    call("fit", data, "-k", 3, "-q", "--report", page, "--name", "My rows", "--out", tmp_path / "a")
    assert "<h1>My rows</h1>" in page.read_text("utf-8")
    call("report", tmp_path / "a", "--out", page, "--name", "R & D")
    assert "<h1>R &amp; D</h1>" in page.read_text("utf-8")


def test_known_labels_are_shown(call: Call, data: Path, tmp_path: Path) -> None:
    """The report of a fit with true labels has the main label of each cluster."""
    page = tmp_path / "page.html"
    np.savetxt(tmp_path / "truth.csv", TRUTH, fmt="kind%d")
    call("fit", data, "-k", 3, "-q", "--labels", tmp_path / "truth.csv", "--report", page)
    text = page.read_text("utf-8")
    assert "Main label" in text
    assert all(f">kind{label} <small>100%<" in text for label in range(3))


def test_a_loaded_model_has_no_labels_to_report(model: Path) -> None:
    """The sentence names the command that reports a stored fit."""
    with pytest.raises(ValueError, match="use 'projected-kmeans report'"):
        load_model(model).to_html()


def test_without_the_extra_the_rest_works(data: Path, tmp_path: Path) -> None:
    """Without Bokeh and Jinja a fit is written all the same; a report names what to install."""
    program = """if True:
        import sys
        sys.modules["bokeh"] = sys.modules["jinja2"] = None
        from projected_kmeans.commands.main import main
        data, out, page = sys.argv[1:]
        for option, place in (("--out", out), ("--report", page)):
            try:
                main(["fit", data, "-k", "3", "--quiet", option, place])
            except SystemExit as left:
                print(option, left.code)
    """
    out, page = tmp_path / "out", tmp_path / "page.html"
    command = [sys.executable, "-c", program, *map(str, (data, out, page))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["--out 0", "--report 2"]
    assert "pip install 'bokeh>=" in done.stderr
    assert (out / "result.json").exists()
    assert not page.exists()

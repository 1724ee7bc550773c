"""The command ``report``: the page of a stored fit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from projected_kmeans.estimator.model_files import load_model
from tests.support.commands import Call


def test_report_from_a_folder_a_result_and_json(call: Call, model: Path, tmp_path: Path) -> None:
    """The folder of a fit, its result.json and the output of --json all become pages."""
    assert call("report", model).out == f"written to {model / 'report.html'}\n"
    assert 'id="map"' in (model / "report.html").read_text("utf-8")
    call("report", model / "result.json", "--out", tmp_path / "same.html")
    assert 'id="map"' in (tmp_path / "same.html").read_text("utf-8")
    (model / "report.json").unlink()
    call("report", model, "--out", tmp_path / "less.html")
    assert "made without the rows" in (tmp_path / "less.html").read_text("utf-8")


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
    assert "pip install 'projected_kmeans[report]'" in done.stderr
    assert (out / "result.json").exists()
    assert not page.exists()

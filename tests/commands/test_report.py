"""The report on the command line: from a fit, from a folder, and without the extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.demo.glyphs import draw_glyphs
from projected_kmeans.estimator.model_files import load_model
from tests.support.commands import Call, check_refusal


def test_report_from_a_folder_a_result_and_json(call: Call, model: Path, tmp_path: Path) -> None:
    """The folder of a fit, its result.json and the output of --json all become pages."""
    assert call("report", model).out == f"written to {model / 'report.html'}\n"
    assert 'id="map"' in (model / "report.html").read_text("utf-8")
    call("report", model / "result.json", "--out", tmp_path / "same.html")
    assert 'id="map"' in (tmp_path / "same.html").read_text("utf-8")
    (model / "report.json").unlink()
    call("report", model, "--out", tmp_path / "less.html")
    assert "made without the rows" in (tmp_path / "less.html").read_text("utf-8")


def test_fit_writes_a_report(call: Call, data: Path, tmp_path: Path) -> None:
    """`fit --report` writes the page, which holds the command that repeats it."""
    run = call("fit", data, "-k", 3, "--seed", 4, "--report", tmp_path / "page.html")
    assert run.code == 0, run
    assert f"report         {tmp_path / 'page.html'}" in run.out
    page = (tmp_path / "page.html").read_text("utf-8")
    assert f"projected-kmeans fit {data} -k 3 --seed 4" in page
    assert 'id="plot-map"' in page


def test_image_shapes_on_the_command_line(call: Call, tmp_path: Path) -> None:
    """Pictures are shown as such by their shape, or not where it is none."""
    np.save(tmp_path / "glyphs.npy", draw_glyphs(80, seed=0).images)
    fit = ("fit", tmp_path / "glyphs.npy", "-k", 4, "--report", tmp_path / "page.html")
    for shape, count in (("64x64", True), ("none", False), ("auto", True)):
        assert call(*fit, "--image-shape", shape).code == 0
        assert ('alt="Center of' in (tmp_path / "page.html").read_text("utf-8")) == count
    check_refusal(call(*fit, "--image-shape", "64"), "'64' is not a shape")
    check_refusal(call(*fit, "--image-shape", "9x9"), "image_shape=(9, 9) has 81 values")


def test_bad_reports_are_refused_before_the_fit(call: Call, data: Path, tmp_path: Path) -> None:
    """A folder as a page, a missing result, and a model without labels are one sentence each."""
    check_refusal(call("fit", data, "-k", 3, "--report", tmp_path), "is a folder")
    check_refusal(call("report", tmp_path / "none"), "does not exist")
    (tmp_path / "file").touch()
    bad = call("fit", data, "-k", 3, "--report", tmp_path / "file" / "page.html")
    check_refusal(bad, "cannot be written")


def test_a_loaded_model_has_no_labels_to_report(model: Path) -> None:
    """The sentence names the command that reports a stored fit."""
    with pytest.raises(ValueError, match="use 'projected-kmeans report'"):
        load_model(model).to_html()


def test_without_the_extra_the_rest_works(data: Path, tmp_path: Path) -> None:
    """Without Bokeh and Jinja a fit is written all the same; a report names what to install."""
    program = (
        "import sys\n"
        "sys.modules['bokeh'] = sys.modules['jinja2'] = None\n"
        "from projected_kmeans.commands.main import main\n"
        "main(sys.argv[1:])"
    )

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    fit = run("fit", data, "-k", 3, "--out", tmp_path / "out")
    assert (fit.returncode, fit.stderr) == (0, "")
    early = run("fit", data, "-k", 3, "--report", tmp_path / "page.html")
    assert early.returncode == 2
    assert "pip install 'projected_kmeans[report]'" in early.stderr
    assert not (tmp_path / "page.html").exists()

"""Where a fit goes: the report, its images, and places that are refused before the fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans
from projected_kmeans.commands import fit_outputs
from projected_kmeans.commands.fit_outputs import FitOutputs
from projected_kmeans.demo.glyphs import draw_glyphs
from projected_kmeans.estimator.model_files import load_model
from tests.support.commands import ROWS, Call, check_refusal


def test_fit_writes_a_report(call: Call, data: Path, tmp_path: Path) -> None:
    """`fit --report` writes the page, which holds the command that repeats it."""
    run = call("fit", data, "-k", 3, "--seed", 4, "--report", tmp_path / "page.html")
    assert run.code == 0, run
    assert f"report         {tmp_path / 'page.html'}" in run.out
    page = (tmp_path / "page.html").read_text("utf-8")
    assert f"projected-kmeans fit {data} -k 3 --seed 4" in page
    assert 'id="plot-map"' in page


@pytest.mark.parametrize("failure", [ValueError("no page; draw it"), KeyboardInterrupt()])
def test_a_failing_report_does_not_lose_the_fit(
    failure: BaseException, call: Call, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a report fails or is interrupted, model, labels and result are written and printed."""

    def fail(*arguments: Any, **options: Any) -> None:
        raise failure

    monkeypatch.setattr(fit_outputs, "describe_report", fail)
    places = ("--out", tmp_path / "m", "--out-labels", tmp_path / "l.npy", "--report")
    run = call("fit", data, "-k", 3, *places, tmp_path / "page.html", "--seed", 1)
    assert run.code == (2 if isinstance(failure, ValueError) else 130)
    assert f"written to {tmp_path / 'm'}: labels.npy, centers.npy, model.json" in run.out
    assert len(np.load(tmp_path / "l.npy")) == 60
    assert load_model(tmp_path / "m").predict(ROWS).tolist() == np.load(tmp_path / "l.npy").tolist()
    assert not (tmp_path / "page.html").exists()
    monkeypatch.undo()
    assert call("report", tmp_path / "m").code == 0


def test_image_shapes_on_the_command_line(call: Call, tmp_path: Path) -> None:
    """Pictures are shown as such by their shape, or not where it is none."""
    np.save(tmp_path / "glyphs.npy", draw_glyphs(80, seed=0).images)
    fit = ("fit", tmp_path / "glyphs.npy", "-k", 4, "--report", tmp_path / "page.html")
    for shape, count in (("64x64", True), ("none", False), ("auto", True)):
        assert call(*fit, "--image-shape", shape).code == 0
        assert ('alt="Center of' in (tmp_path / "page.html").read_text("utf-8")) == count
    check_refusal(call(*fit, "--image-shape", "64"), "'64' is not a shape")
    check_refusal(call(*fit, "--image-shape", "9x9"), "--image-shape 9x9 has 81 values")


def test_bad_reports_are_refused_before_the_fit(call: Call, data: Path, tmp_path: Path) -> None:
    """A folder as a page, a missing result, and a model without labels are one sentence each."""
    check_refusal(call("fit", data, "-k", 3, "--report", tmp_path), "is a folder")
    check_refusal(call("report", tmp_path / "none"), "does not exist")
    (tmp_path / "file").touch()
    bad = call("fit", data, "-k", 3, "--report", tmp_path / "file" / "page.html")
    check_refusal(bad, "cannot be written")


def test_the_live_page_follows_the_fit() -> None:
    """While a fit runs, its live page knows the step, and another callback hears of it, too."""
    model, steps = ProjectedKMeans(3, random_state=0), list[tuple[str, str]]()
    nowhere = FitOutputs(None, None, None, 1, False, None, 0, quiet=True, as_json=False)
    with nowhere.open_places("rows", 3, with_ids=False) as outputs:
        live = outputs.live
        assert live is not None
        callback = outputs.listen(lambda state: steps.append((state.step, live.state()["step"])))
        model.set_params(callback=callback).fit(ROWS)
    assert {told for told, _ in steps} >= {"check", "cluster"}
    assert all(told == shown for told, shown in steps)

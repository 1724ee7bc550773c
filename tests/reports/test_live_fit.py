"""The live page of a fit: its state, its plot, and the button that stops the fit."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.live_fit import MAX_DRAWN_PASSES, LiveFit, watch_fit
from projected_kmeans.results import FitState
from tests.support.commands import ROWS
from tests.support.servers import Caller


def test_stop_keeps_the_best_result() -> None:
    """A stop from another thread ends the fit after its current pass, with a complete result."""
    live = LiveFit("rows", 3)
    seen = threading.Event()
    model = ProjectedKMeans(3, projection=None, solver="lloyd", max_iter=300, random_state=0)

    def press(state: FitState) -> None:
        if state.step == "cluster":
            seen.set()
            presser.join()

    presser = threading.Thread(target=lambda: (seen.wait(), live.stop()))
    presser.start()
    model.set_params(callback=live.listen(press)).fit(ROWS)
    assert model.stopped_ == "callback"
    assert sorted(np.bincount(model.labels_).tolist()) == [20, 20, 20]
    assert live.state()["stopping"]


def test_the_line_stays_short() -> None:
    """Of many passes the plot keeps few, always with the first one; a restart begins a new plot."""
    live = LiveFit("rows", 3)
    hear = live.listen()
    for iteration in range(1, 3000):
        hear(FitState("cluster", 0, iteration, 3000, 5000.0 - iteration, iteration / 100))
    state = live.state()
    assert 100 < len(state["line"]) <= MAX_DRAWN_PASSES
    assert state["line"][0] == 4999.0
    assert state["step_left"] == pytest.approx(0.01, rel=0.01)
    hear(FitState("cluster", 1, 1, 3000, 7.0, 30.0))
    assert live.state()["line"] == [7.0]


def test_the_live_page_becomes_the_report() -> None:
    """Names are escaped in the live page; after `finish` the server serves the report instead."""
    with watch_fit("<script>x</script>", 3) as (live, address):
        caller = Caller(address)
        page = caller.ask("")[1]
        assert "&lt;script&gt;x" in page
        assert "Stop and keep the best result" in page
        assert json.loads(caller.ask("state")[1]) == {
            "step": None,
            "stopping": False,
            "finished": False,
        }
        assert caller.ask("stop", "POST")[0] == 200
        assert live.state()["stopping"]
        live.finish("<p>report</p>")
        assert caller.ask("")[1] == "<p>report</p>"
        assert json.loads(caller.ask("state")[1])["finished"]

"""The page on reliability shows what campaigns have stored, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import recording
import reliability_page

from tests.support.origins import MACHINE

PAGE = f"# Page\n\n{reliability_page.START}\nstale\n{reliability_page.STOP}\n\nEnd.\n"
STAMP = {"date": "2026-01-02", "command": "x", "machine": MACHINE, "campaign": "x"}
FILES: dict[str, Any] = {
    **STAMP,
    "files": 1500,
    "by_command": 30,
    "outcomes": {"rows": 500, "sentence": 999, "crash": 1},
    "formats": {"npy": {"rows": 500, "sentence": 999, "crash": 1}},
    "failures": [{"seed": "npy"}],
}


def test_the_page_is_what_the_script_writes() -> None:
    """docs/reliability.md holds the figures of the stored results."""
    page = reliability_page.PAGE.read_text()
    assert page == reliability_page.render_page(page, reliability_page.load_results())


def test_what_was_not_measured_is_told() -> None:
    """Without results, every campaign says so, and stale figures are gone."""
    page = reliability_page.render_page(PAGE, {})
    assert page.count("not measured | not measured") == len(reliability_page.CAMPAIGNS)
    assert "stale" not in page
    assert page.endswith("\n\nEnd.\n")
    assert page == reliability_page.render_page(page, {})


def test_figures_and_failures_are_shown() -> None:
    """Counts have their names; failures are counted; one line a kind of file."""
    results = {
        "fuzz_files": FILES,
        "kill_runs": {**STAMP, "kills": 512, "torn_files": 0, "failures": []},
        "sanitize": {
            **STAMP,
            "compiler": "clang 14",
            "runs": [{"run": "asan", "tests": 1065, "planted": {"race": "x"}, "failures": []}],
            "failures": [],
        },
    }
    page = reliability_page.render_page(PAGE, results)
    assert "| 512 kills, 0 torn files | nothing | 2026-01-02 | `x` |" in page
    assert "*Measured on a processor, 4 processors, avx2, version 1.*" in page
    assert "| 1,065 tests (asan), built with clang 14; 1 planted defects found | nothing |" in page
    assert "1,500 files of 1 kinds, 30 of them by the command line: 500 were read, 999 got" in page
    assert "| 1 | 2026-01-02 | `x` |" in page
    assert "| npy | 1,500 | 500 | 999 | 0 |" in page


def test_the_price_of_the_checks_is_shown() -> None:
    """Ordinary work is shown with the seconds of both versions."""
    work = {"work": "a fit", "before": 2.0, "now": 1.9, "ratio": 0.95, "noise": 1.01}
    versions = {"machine": MACHINE, "launches": 4, "rounds": 3, "works": [work]}
    results = {"versions": versions}
    page = reliability_page.render_page(PAGE, results)
    assert "| a fit | 2.000 s | 1.900 s | 0.95 | 1.01 |" in page
    assert "the minimum of 3 turns in each of 4 launches" in page
    assert "*Measured (date not stored) on a processor, 2 threads, avx2; Python 3, " in page


def test_a_campaign_is_stored_with_its_origin(tmp_path: Path) -> None:
    """The file says when a campaign began, by which command, and what the machine did else."""
    path = recording.store_campaign("x", "python campaigns/x.py", {"failures": []}, tmp_path)
    stored = json.loads(path.read_text())
    assert stored["measured"]["command"] == stored["command"] == "python campaigns/x.py"
    assert stored["measured"]["start"].startswith(stored["date"])
    assert {"seconds", "load", "busy", "commit"} <= stored["measured"].keys()
    assert stored["machine"]["processors"] > 0


def test_a_page_without_marks_is_refused() -> None:
    """Nothing is written where the marks are missing."""
    with pytest.raises(ValueError, match="has no <!-- figures"):
        reliability_page.render_page("# Page", {})

"""Where figures come from: stored with them, kept a row, and told on the pages."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import measuring
import provenance
import pytest
import render
from provenance import NOT_STORED, Origin

from tests.support.origins import MACHINE, MEASURED

ORIGIN = {"machine": MACHINE, "measured": MEASURED}


def test_an_origin_says_when_and_how() -> None:
    """Start, seconds, command, load and commit are stored as JSON can hold them."""
    stored = json.loads(json.dumps(Origin.now(["--rounds", "1"]).describe(2)))
    assert stored.keys() == {"machine", "measured"}
    assert stored["measured"].keys() == MEASURED.keys()
    start = datetime.fromisoformat(stored["measured"]["start"])
    assert 0 <= (datetime.now(UTC) - start).total_seconds() < 60
    assert stored["measured"]["command"].endswith("--rounds 1")


def test_a_command_names_no_folder_of_a_machine() -> None:
    """Programs are named from the project's folder; other places are left out."""
    words = ["--python", "hgmeans=/opt/x y/bin/python", "--out", "/tmp/a/b", "--only", "a/b"]
    program = str(provenance.ROOT / "benchmarks" / "bench_x.py")
    assert provenance.name_command(program, words) == (
        "python benchmarks/bench_x.py --python hgmeans=.../python --out .../b --only a/b"
    )
    assert provenance.name_command("/elsewhere/run.py", []) == "python run.py"


def test_a_commit_has_a_mark_if_sources_were_changed(tmp_path: Path) -> None:
    """Changed sources are marked; changed results are not; without git there is no commit."""
    assert provenance.read_commit(tmp_path) is None
    run = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x"]
    for name in ("src", "docs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one").write_text("1")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*run, *words], check=True)
    commit = provenance.read_commit(tmp_path)
    assert commit is not None
    (tmp_path / "docs" / "one").write_text("2")
    assert provenance.read_commit(tmp_path) == commit
    (tmp_path / "src" / "one").write_text("2")
    assert provenance.read_commit(tmp_path) == commit + "+"


def test_rows_that_stay_keep_their_origin() -> None:
    """A file that is renewed twice in part names three origins; one without rows is gone."""
    rows: list[dict[str, Any]] = [{"name": name} for name in "abc"]
    first = provenance.join_rows({"machine": MACHINE}, rows, rows[1:], ORIGIN)
    assert [row["origin"] for row in rows] == [NOT_STORED, *[MEASURED["start"]] * 2]
    assert {name: one["rows"] for name, one in first["origins"].items()} == {
        NOT_STORED: 1,
        MEASURED["start"]: 2,
    }
    later = {"machine": MACHINE, "measured": {**MEASURED, "start": "2027-01-01T00:00:00Z"}}
    new = [{"name": "a"}, {"name": "c"}]
    merged = provenance.replace_rows(rows, new, ("name",))
    second = provenance.join_rows(first, merged, new, later)
    assert list(second["origins"]) == [MEASURED["start"], "2027-01-01T00:00:00Z"]
    assert second["measured"] == later["measured"]
    lines = provenance.describe(second).split("\n\n")
    assert lines[0].startswith("*1 entry measured on 2026-01-02 on a processor")
    assert lines[1].startswith("*2 entries measured on 2027-01-01 on a processor")


def test_a_page_tells_date_machine_and_command() -> None:
    """All are in one line; older files have no date; a busy machine is told."""
    assert provenance.describe(ORIGIN) == (
        "*Measured on 2026-01-02 on a processor, 2 threads, avx2, with "
        "`python benchmarks/bench_x.py --rounds 1` at abc1234; Python 3, projected_kmeans 1.*"
    )
    old = provenance.describe({"machine": MACHINE})
    assert old.startswith(f"*Measured ({NOT_STORED}) on a processor, 2 threads, avx2; Python 3")
    busy = {**ORIGIN, "measured": {**MEASURED, "busy": 1.2}}
    assert "others used 1.2 processors at the start" in provenance.describe(busy)


def test_every_stored_file_has_an_origin() -> None:
    """Every result names a machine, and each section on the pages begins with its line."""
    for path in render.RESULTS.glob("*.json"):
        for origin in provenance.list_origins(json.loads(path.read_text())):
            assert provenance.describe_origin(origin)
    page = render.PAGE.read_text()
    for section in page.split("\n## ")[1:]:
        assert "*Measured " in section or " entries measured " in section, section[:40]


def test_a_machine_that_others_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Busy seconds of all processors are counted over the time that passes, as /proc/stat says."""
    ticks = os.sysconf("SC_CLK_TCK")
    # user, nice, system, idle, waiting, interrupts, soft interrupts, stolen; 3 busy ticks a second.
    first, last = (f"cpu  {7 + 2 * n} 1 {5 + n} {900 + n} 8 0 0 0 4 4\ncpu0 1" for n in (0, ticks))
    texts = iter([first, last])
    monkeypatch.setattr(provenance.Path, "read_text", lambda _: next(texts))
    assert provenance.measure_busy(0.01) == 300.0


def test_figures_stand_between_marks() -> None:
    """What stands between the marks is replaced, and a page without them is refused."""
    page = "a\n\n<!-- figures: x -->\n\nold\n\n<!-- end of figures -->\n\nb\n"
    new = measuring.replace_marked(page, "x", ["one", "two"])
    assert new == page.replace("old", "one\n\ntwo")
    with pytest.raises(ValueError, match="has no <!-- figures: y -->"):
        measuring.replace_marked(page, "y", [])

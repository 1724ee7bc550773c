"""The benchmarks run at toy sizes and their pages draw from what is stored; no time is judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_files
import bench_kmeans
import bench_storage
import bench_stream
import cost_model
import cost_tables
import dask_costs
import file_tables
import growth
import kmeans_tables
import numpy as np
import peers
import pytest
import render
import sketches
import stream_tables
import whole_runs
from fit_tables import name_data_set
from measuring import Effort

EFFORT = Effort(n_threads=1, repeats=1, rest=0.0)
ABSENT = peers.load_peers()
NOBODY = dict.fromkeys(peers.MODULES, "is not there.")


@pytest.mark.parametrize("name", list(peers.RUNNERS))
def test_peers_run_lloyd(name: str) -> None:
    """One pass of every peer gives the means that NumPy gives, if it takes first centers."""
    runner, package, _ = peers.RUNNERS[name]
    if package in ABSENT:
        pytest.skip(ABSENT[package])
    sketch = sketches.make_cloud(600, 8)
    first = sketches.draw_centers(sketch, 5)
    found = runner(sketch, first, 1, 1)
    assert found.shape == first.shape
    assert np.isfinite(found).all()
    if name != "superkmeans":
        labels = np.argmin(((sketch[:, None] - first) ** 2).sum(axis=2), axis=1)
        means = [sketch[labels == cluster].mean(axis=0) for cluster in range(5)]
        np.testing.assert_allclose(found, means, rtol=1e-4, atol=1e-5)


def test_an_absent_peer_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that cannot be imported is named, and no path of the machine is."""
    monkeypatch.setattr(peers, "MODULES", {"no-such-package": "no_such_module"})
    (sentence,) = peers.load_peers().values()
    assert sentence.startswith("no-such-package cannot be imported here")
    assert peers.pick_runners(NOBODY, 1000) == {}
    assert list(peers.pick_runners(NOBODY, 100)) == ["scikit-learn, Lloyd", "scikit-learn, Elkan"]


def test_inertia_is_that_of_the_nearest_centers() -> None:
    """The inertia that judges all systems is the sum of squared distances to nearest centers."""
    sketch = sketches.make_cloud(500, 6)
    centers = sketches.draw_centers(sketch, 7)
    gaps = ((sketch.astype(float)[:, None] - centers.astype(float)) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        sketches.measure_inertia(sketch, centers), gaps.min(axis=1).sum(), rtol=1e-12
    )


def test_whole_runs_are_compared() -> None:
    """Ours is as good as a peer from the same centers in at most its passes, and counts work."""
    sketch = sketches.make_cloud(2000, 8)
    rows = whole_runs.compare_runs(
        sketch, sketches.draw_centers(sketch, 20), peers.pick_runners(NOBODY, 20), EFFORT
    )
    by_name = {row["system"]: row for row in rows}
    assert 0 < by_name["projected_kmeans"]["distances"] <= 1
    assert by_name["scikit-learn, Lloyd"]["our_passes"] <= whole_runs.N_PASSES
    assert by_name["scikit-learn, Lloyd"]["our_seconds"] is not None
    assert "scikit-learn, Lloyd" in kmeans_tables.runs_table(rows)


def test_an_inertia_out_of_reach_is_said() -> None:
    """A goal that ours does not reach is drawn as such, not as a time."""
    sketch = sketches.make_cloud(300, 4)
    found = whole_runs.reach_all(sketch, sketches.draw_centers(sketch, 3), {"x": 0.0}, EFFORT)
    assert found["x"]["our_seconds"] is None
    cells = kmeans_tables.peer_cells({"system": "x", "seconds": 1.0, **found["x"]}, 1.0)
    assert "not reached" in cells


def test_the_share_of_distances() -> None:
    """A few clusters are searched without bounds, which computes every distance; many save some."""
    sketch = sketches.make_cloud(50_000, 4)
    assert whole_runs.count_distances(sketch, sketches.draw_centers(sketch, 3), 1) == 1
    assert whole_runs.count_distances(sketch, sketches.draw_centers(sketch, 60), 1) < 1


def test_digits_are_shifted(find_data: Callable[[str], Path]) -> None:
    """The nine shifts of up to a pixel come first, each of all images, and lose no ink there."""
    path = find_data(sketches.DIGITS)
    rows = sketches.shift_digits(path, 10, 20).reshape(10, 20, sketches.SIDE, sketches.SIDE)
    with np.load(path) as file:
        images = file["x"][:20].reshape(20, sketches.SIDE, sketches.SIDE)
    ways = {(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)}
    found = {
        way for way in ways for part in rows[:9] if (part == np.roll(images, way, (1, 2))).all()
    }
    assert found == ways


@pytest.fixture
def document() -> dict[str, Any]:
    """Return what a run at toy sizes stores, without peers."""
    sketch = sketches.make_cloud(400, 8)
    runners = peers.pick_runners(NOBODY, 10)
    return {
        "machine": {
            "processor": "a processor",
            "threads": 1,
            "instruction_set": "portable",
            "python": "3",
            "versions": {"numpy": "2", "faiss-cpu": None},
        },
        "absent": ["faiss-cpu cannot be imported here (no reason)."],
        "assignment": bench_kmeans.bench_assignment(500, {(8, 5): 1.5}, NOBODY, EFFORT),
        "runs": whole_runs.compare_runs(sketch, sketches.draw_centers(sketch, 10), runners, EFFORT),
        "seeding": bench_kmeans.bench_seeding({"cloud": sketch}, 10, EFFORT),
        "growth": growth.bench_growth(EFFORT, 100),
        "memory": {"n": 10, "t": 2, "k": 1, "bytes_a_row": 42.0},
    }


def test_the_page_is_drawn_from_what_is_stored(document: dict[str, Any], tmp_path: Path) -> None:
    """A stored document becomes a section with all its tables; an absent peer is a sentence."""
    (tmp_path / "kmeans.json").write_text(json.dumps(document))
    page = render.render_page(tmp_path)
    assert "faiss-cpu cannot be imported here" in page
    assert "faiss-cpu None" not in page
    for heading in ("One assignment pass", "Whole runs", "Seeding", "Growth", "Memory"):
        assert f"**{heading}**" in page
    widths = {}
    for number, line in enumerate(page.splitlines()):
        if line.startswith("|"):
            widths[number] = line.count("|")
            assert widths[number] == widths.get(number - 1, widths[number])
    assert len(widths) > 20


def test_the_page_says_that_digits_are_missing(
    document: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without its data the section on whole runs is one sentence."""
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    del document["runs"]
    document |= bench_kmeans.bench_digits(NOBODY, EFFORT, quick=True)
    page = kmeans_tables.render_kmeans(document, "")
    assert "Whole runs need mnist_10k.npz" in page


def test_memory_is_measured() -> None:
    """The peak of a run is a number of bytes a row."""
    if not growth.can_measure_memory():
        pytest.skip("this system does not keep the peak of resident memory")
    assert growth.run_in_memory(1, 50) >= 0


def test_files_are_timed(tmp_path: Path) -> None:
    """Every format is written, read to its last row and drawn as a line; its files are gone."""
    rows = bench_files.bench_files(40_000, tmp_path, 1)
    narrow = [row["format"] for row in rows if row["d"] == bench_files.WIDTHS[0]]
    assert narrow == list(bench_files.CASES)
    assert {row["d"] for row in rows} == set(bench_files.WIDTHS)
    assert all(row["row_bytes"] >= row["n"] * row["d"] for row in rows)
    assert list(tmp_path.iterdir()) == []
    page = file_tables.render_files("# Files\n\n## How fast\nstale", {"files": rows}, "*machine*")
    assert page.startswith("# Files\n\n## How fast\n\n*machine*")
    assert "stale" not in page
    assert page.count("\n| ") == len(rows) + 2


def test_streams_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every system sees all rows in every order, and has a line; ours tells what it kept."""
    monkeypatch.setattr(bench_stream, "COUNTS", (3,))
    rows = sketches.make_cloud(2500, 6)
    found = bench_stream.bench_stream(rows)
    assert len(found) == 2
    for stream in found:
        ours, peer = stream["systems"]
        assert 0 < ours["inertia"] < 1.05 * stream["fit_inertia"]
        assert ours["floats"] == 2500 * 7
        assert peer["inertia"] > 0
    document = {"shape": rows.shape, "block_rows": 1000, "streams": found}
    page = stream_tables.render_stream("# Scale\n\n## Streams beside others\nold", document, "*m*")
    assert "old" not in page
    assert page.count("\n| ") == 2 * 3 + 2


def test_the_stored_pages_are_up_to_date() -> None:
    """docs/benchmarks.md and sections of files.md and scale.md are what stored results give."""
    assert render.PAGE.read_text() == render.render_page(render.RESULTS)
    assert render.FILES_PAGE.read_text() == render.render_files_page(render.RESULTS)
    assert render.SCALE_PAGE.read_text() == render.render_scale_page(render.RESULTS)


def test_fits_from_a_file_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit from a file under a limit finds what a fit in memory finds; both tell their peak."""
    monkeypatch.setattr(bench_storage, "LIMITS", (None, "20MB"))
    monkeypatch.setattr(bench_storage, "PROJECTIONS", ("sign",))
    in_memory, stored = bench_storage.run(1000, 64, 3)
    assert in_memory["inertia"] == stored["inertia"]
    assert stored["limit"] == "20MB"
    assert 0 < stored["base_bytes"] <= stored["peak_bytes"]


def test_costs_of_dask_are_measured_and_drawn() -> None:
    """The bytes that fits move are those of the model; seeding elsewhere it knows roughly."""
    document = dask_costs.run((12_000,), 64, 130, 2048, 4)
    assert [check["gathered"] for check in document["checks"]] == [True, False]
    for check, off in zip(document["checks"], (0.05, 0.4), strict=True):
        assert abs(check["moved"] / check["predicted_moved"] - 1) < off
    page = cost_tables.render_costs("# Scale\n\nold", document, "*machine*")
    assert page.startswith("# Scale\n\nold")
    assert page.count("\n| ") == 10 + 2 + len(cost_tables.PREDICTED) + 6
    again = cost_tables.render_costs(page, document, "*another*")
    assert again == page.replace("*machine*", "*another*")


def test_costs_grow_with_the_rows() -> None:
    """Twice the rows are read and moved twice, less the sample; twice the machines take less."""
    rates = cost_model.Constants(1e9, 1e9, 1e9, 1e9, 1e10, 1.0, 0.1, 1e-3, 1e9)
    one, two = (cost_model.predict(cost_model.Job(n, 100, 200), rates) for n in (10**7, 2 * 10**7))
    assert [cost.read for cost in two] == [2 * cost.read for cost in one]
    assert two[0].moved - one[0].moved == 10**7 * cost_model.N_COMPONENTS * 4
    many = cost_model.predict(cost_model.Job(10**7, 100, 200, machines=2), rates)
    assert all(new.seconds <= old.seconds for new, old in zip(many, one, strict=True))
    assert cost_tables.name_bytes(4.1e13) == "41.0 TB"
    assert [cost_tables.name_seconds(one) for one in (5, 90, 7200)] == ["5.0 s", "1.5 min", "2.0 h"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are Linux's")
@pytest.mark.parametrize("projection", bench_storage.PROJECTIONS)
def test_a_limit_of_memory_is_kept(projection: str, tmp_path: Path) -> None:
    """The peak of a fit from a file is within the limit of its base, a quarter of the data."""
    bench_storage.save_rows(tmp_path / "rows.npy", 40_000, 512)
    found = bench_storage.measure(tmp_path / "rows.npy", "24MB", projection, 10)
    assert found["peak_bytes"] - found["base_bytes"] <= 24e6


def test_the_stored_picture_has_a_panel_for_every_data_set() -> None:
    """docs/images/fit.svg is there where fits are stored, and names all data sets with rows."""
    stored = render.RESULTS / "fit.json"
    titles = []
    if stored.is_file():
        entries = json.loads(stored.read_text())["data_sets"].values()
        titles = [name_data_set(entry) for entry in entries if entry.get("rows")]
    picture = render.IMAGE.read_text() if render.IMAGE.is_file() else ""
    assert bool(titles) == bool(picture)
    assert all(title in picture for title in titles)

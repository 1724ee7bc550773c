"""The benchmark of very many clusters: rows, inertia, and the table of stored results."""

from __future__ import annotations

from pathlib import Path

import bench_many_clusters as bench
import bench_predict
import many_tables
import numpy as np
import pytest
from field_systems import SYSTEMS
from provenance import replace_rows

from projected_kmeans import inertia


def test_a_work_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Seconds and inertia of a fit are found, and the inertia is that of the labels."""
    rows = bench.make_tree(600, 5, 2)
    monkeypatch.setattr(bench, "ROWS", {"tree": lambda shrink: rows})
    monkeypatch.setattr(bench, "WORKS", (bench.Work("tree", 20),))
    places = bench.Places(tmp_path, {}, 1)
    (found,) = bench.bench_all(1, ["default"], places)
    assert found["seconds"] > 0
    labels = np.load(tmp_path / "labels.npy")
    assert found["inertia"] == pytest.approx(inertia(rows, labels), rel=1e-9)
    assert set(bench.SYSTEMS.values()) <= set(SYSTEMS)


def test_rows_without_their_file_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Works on real data need its file, and others are measured without it."""
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    assert list(bench.bench_all(1, ["shifted digits"], bench.Places(tmp_path, {}, 1))) == []


def test_rows_are_what_their_names_say() -> None:
    """Every set of rows has the shape of its name, divided by the factor that it shrinks by."""
    for name, make in bench.ROWS.items():
        if name != "shifted digits":
            n, d = (int(part.replace(",", "")) for part in name.split()[-3::2])
            rows = make(100)
            assert rows.shape == (n // 100, d)
            assert rows.dtype == np.float32


def test_entries_are_replaced_and_drawn() -> None:
    """A fit that is measured again replaces its entry; the table compares with the default."""
    entry = {"rows": "tree", "shape": (9, 2), "n_clusters": 3, "seconds": 1.0, "cpu_seconds": 2.0}
    old = [{**entry, "system": "default", "inertia": 8.0}]
    new = [
        {**entry, "system": "default", "inertia": 10.0},
        {**entry, "system": "peer", "inertia": 11.0},
    ]
    merged = replace_rows(old, new, ("rows", "n_clusters", "system"))
    assert [one["inertia"] for one in merged] == [10.0, 11.0]
    failed = {"rows": "tree", "n_clusters": 9, "system": "peer", "failure": "more than 60 s"}
    page = many_tables.render_many({"fits": [*merged, failed]}, "*machine*")
    assert page.endswith("Not measured: peer on tree, k = 9 (more than 60 s).")
    assert "+10.00 %" in page
    assert page.count("\n| ") == 4
    assert bench.is_chosen(["tree", "default"], bench.Work("tree", 3), "default")
    assert not bench.is_chosen(["4096"], bench.Work("tree", 3), "default")


def test_predictions_are_measured_and_drawn() -> None:
    """Both systems are timed and agree where rows are near to one center only."""
    rows = np.repeat(np.eye(8, 20, dtype=np.float32), 40, axis=0) * 9
    rows += np.random.default_rng(0).normal(size=rows.shape).astype(np.float32) / 9
    found = bench_predict.bench_work(rows, 8, 1, 1)
    assert found["agreement"] == 1
    assert min(found["seconds"].values()) > 0
    work = {**found, "rows": "blobs", "n_clusters": 8}
    page = many_tables.render_predictions({"works": [work]}, "*machine*")
    assert "| blobs, k = 8 |" in page
    assert "100.000 %" in page

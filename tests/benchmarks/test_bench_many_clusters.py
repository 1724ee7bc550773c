"""The benchmark of very many clusters: rows, inertia, and the table of stored results."""

from __future__ import annotations

import bench_many_clusters as bench
import bench_predict
import many_tables
import numpy as np
import pytest

from projected_kmeans import inertia


def test_a_work_is_measured() -> None:
    """Seconds and inertia of a fit are stored, and the inertia is that of the labels."""
    rows = bench.make_tree(600, 5, 2)
    work = bench.Work("tree", 20)
    found = bench.bench_work(rows, work, "default", 1)
    assert found["seconds"] > 0
    labels = bench.fit_default(rows, 20, 1)
    assert found["inertia"] == pytest.approx(inertia(rows, labels), rel=1e-9)


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
    merged = bench.merge_results(old, new)
    assert [one["inertia"] for one in merged] == [10.0, 11.0]
    page = many_tables.render_many({"fits": merged}, "*machine*")
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

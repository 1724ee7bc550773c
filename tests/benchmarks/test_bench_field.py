"""The comparison with today's systems: rows, one fit in its own process, and the tables."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import bench_field as bench
import field_data
import field_tables
import measuring
import numpy as np
import pytest
from data_sets import NoData
from field_systems import SYSTEMS
from provenance import NOT_STORED

from tests.support.origins import MACHINE, MEASURED


def test_a_fit_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Costs are printed and labels stored; an interpreter that fails is named."""
    rows = np.random.default_rng(0).normal(size=(400, 5)).astype(np.float32)
    path = bench.store(rows, tmp_path)
    places = bench.Places(tmp_path, {}, 1)
    found = bench.run_system("projected_kmeans", path, 3, 0, places)
    assert found["seconds"] > 0
    assert np.load(tmp_path / "labels.npy").shape == (400,)
    late = bench.Places(tmp_path, {}, 1, limit=0.01)
    assert bench.run_system("projected_kmeans", path, 3, 0, late) == {"failure": "more than 0 s"}
    broken = bench.Places(tmp_path, {"projected_kmeans": sys.executable}, 1)
    failed = bench.run_system("projected_kmeans", tmp_path / "absent.npy", 3, 0, broken)
    assert failed == {"failure": "FileNotFoundError"}


def test_a_peer_needs_nothing_of_this_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer is fitted by an interpreter that has no projected_kmeans; our own fit fails there."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules['projected_kmeans'] = None\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    rows = np.random.default_rng(0).normal(size=(400, 5)).astype(np.float32)
    path, places = bench.store(rows, tmp_path), bench.Places(tmp_path, {}, 1)
    assert bench.run_system("scikit-learn", path, 3, 0, places)["seconds"] > 0
    own = bench.run_system("projected_kmeans", path, 3, 0, places)
    assert own["failure"].startswith("ModuleNotFoundError")


def test_vectors_of_words_are_decoded() -> None:
    """A vector is the join of the table entries that its codes name."""
    codes = np.array([[0, 1], [2, 0], [1, 1]], np.uint8)
    tables = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    sizes = np.array([3, 4, 2, 3], np.uint32)
    decoded = field_data.decode_words(sizes.tobytes() + codes.tobytes() + tables.tobytes())
    np.testing.assert_array_equal(decoded, [[0, 1, 8, 9], [4, 5, 6, 7], [2, 3, 8, 9]])
    with pytest.raises(NoData, match="package of-no-name"):
        field_data.find_in_package("of-no-name", ".npy")


def entry(system: str, **values: Any) -> dict[str, Any]:
    """Return a stored fit."""
    costs = {"seconds": 1.0, "cpu_seconds": 2.0, "megabytes": 3.0, "normalized_inertia": 0.5}
    work = {"work": "tree", "shape": [90, 2], "n_clusters": 3, "key": 0, "system": system}
    return {**work, **costs, **values}


def test_the_tables_say_who_wins() -> None:
    """The fastest peer, the fastest that ends as low, and the lowest are named; failures too."""
    fits = [
        entry("projected_kmeans"),
        entry("FAISS Kmeans", seconds=0.5, normalized_inertia=0.6),
        entry("scikit-learn", seconds=4.0, normalized_inertia=0.495),
        {**entry("hgmeans"), "failure": "more than 120 s"},
    ]
    page = field_tables.render_field({"fits": fits}, "*machine*")
    assert "| tree 90 x 2, k = 3 | 1.00 | FAISS Kmeans 0.50 x | scikit-learn 4.00 x |" in page
    assert "scikit-learn -1.00 %" in page
    assert "Not measured: hgmeans (more than 120 s) on tree k = 3." in page
    assert set(SYSTEMS) >= {fit["system"] for fit in fits}
    assert "given up after 120 s" in page
    assert bench.is_chosen(["tree", "FAISS"], "tree", 3, "FAISS Kmeans")


def test_fits_are_stored_with_their_origin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A fit that is measured again has another origin than those that stay."""
    monkeypatch.setattr(measuring, "RESULTS", tmp_path)
    old, new = [entry("projected_kmeans"), entry("scikit-learn")], [entry("scikit-learn")]
    stored = {"machine": MACHINE, "fits": old}
    described = {"machine": MACHINE, "measured": MEASURED}
    path = bench.store_fits(stored, new, described, argparse.Namespace(limit=60.0))
    document = json.loads(path.read_text())
    assert [fit["origin"] for fit in document["fits"]] == [NOT_STORED, MEASURED["start"]]
    assert "given up after 60 s" in field_tables.render_field(document, "")


def test_a_whole_run_keeps_what_cannot_be_measured_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Fits on missing rows and of missing packages stay with their origin; all others go.

    Works and systems are stored in the order in which they are measured.
    """
    monkeypatch.setattr(measuring, "RESULTS", tmp_path)
    words, gone = entry("projected_kmeans", work="words"), entry("scikit-learn", n_clusters=9)
    peer = entry("fastkmeans")
    stored = {"machine": MACHINE, "fits": [words, gone, peer]}
    absent = {**entry("fastkmeans"), "failure": "ModuleNotFoundError: No module named 'torch'"}
    new = [entry("projected_kmeans"), absent]
    described = {"machine": MACHINE, "measured": MEASURED}
    path = bench.store_fits(stored, new, described, argparse.Namespace(limit=60.0), whole=True)
    fits = json.loads(path.read_text())["fits"]
    assert [(fit["work"], fit["system"], fit["origin"]) for fit in fits] == [
        ("words", "projected_kmeans", NOT_STORED),
        ("tree", "projected_kmeans", MEASURED["start"]),
        ("tree", "fastkmeans", NOT_STORED),
    ]
    assert not any("failure" in fit for fit in fits)

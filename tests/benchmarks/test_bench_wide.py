"""The benchmark of very wide rows."""

from __future__ import annotations

from pathlib import Path

import bench_wide
import numpy as np
import scipy.sparse
import wide_tables

SPARSE = bench_wide.Work(60, 5000, 3, n_nonzeros=50)
DENSE = bench_wide.Work(50, 900, 2)


def test_rows_have_planted_groups(tmp_path: Path) -> None:
    """Stored rows have the sizes of the work, and a group each."""
    path = bench_wide.store_work(SPARSE, tmp_path)
    rows, groups = scipy.sparse.load_npz(path), np.load(f"{path}.groups.npy")
    assert rows.shape == (60, 5000)
    assert (np.diff(rows.indptr) <= 50).all()
    assert set(groups) == {0, 1, 2}
    path = bench_wide.store_work(DENSE, tmp_path)
    assert np.load(path).shape == (50, 900)


def test_works_are_measured_and_drawn() -> None:
    """Both systems find the groups of a small work, and the tables have a line for each."""
    alone = bench_wide.Work(400, 60, 2, with_peer=False)
    found = bench_wide.run({"dense": DENSE, "alone": alone}, 1)
    ours, peer = found["dense"]["rows"]
    assert (ours["system"], peer["system"]) == ("ours", "scikit-learn")
    assert ours["accuracy"] == 1
    assert ours["inertia"] <= peer["inertia"] * 1.0001
    table = wide_tables.peers_table([found["dense"]])
    assert "50 x 900, k = 2: ours" in table
    assert len(table.splitlines()) == 4
    assert len(wide_tables.steps_table([found["alone"]]).splitlines()) == 3

"""The benchmark of fits from a file under a memory limit."""

from __future__ import annotations

from pathlib import Path

import bench_storage
import pytest


def test_fits_from_a_file_are_measured() -> None:
    """A fit from a file under a limit finds what a fit in memory finds; both tell their peak."""
    in_memory, stored = bench_storage.run(1000, 64, 3, ["sign"], [None, "20MB"])
    assert in_memory["inertia"] == stored["inertia"]
    assert stored["limit"] == "20MB"
    assert 0 < stored["base_bytes"] <= stored["peak_bytes"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are Linux's")
@pytest.mark.parametrize("projection", bench_storage.PROJECTIONS)
def test_a_limit_of_memory_is_kept(projection: str, tmp_path: Path) -> None:
    """The peak of a fit from a file is within the limit of its base, a quarter of the data."""
    bench_storage.save_rows(tmp_path / "rows.npy", 40_000, 512)
    found = bench_storage.measure(tmp_path / "rows.npy", "24MB", projection, 10)
    assert found["peak_bytes"] - found["base_bytes"] <= 24e6

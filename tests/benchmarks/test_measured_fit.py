"""One fit, measured in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import measured_fit
import numpy as np
import pytest
from fit_systems import DEFAULT, OURS

from projected_kmeans import ProjectedKMeans
from tests.support.benchmark_rows import MIXTURE


def task_on(folder: Path, **more: Any) -> measured_fit.Task:
    """Return a task on the mixture, stored in a folder."""
    np.save(folder / "rows.npy", MIXTURE)
    wanted = {"n_clusters": 5, "system": OURS, "effort": DEFAULT, "n_threads": 1, "limit": 60.0}
    return measured_fit.Task(str(folder / "rows.npy"), **{**wanted, **more})


def test_a_fit_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    """What another process measures is the F~ of the same fit here."""
    found = measured_fit.run_apart(task_on(tmp_path), tmp_path)
    model = ProjectedKMeans(5, random_state=0).fit(MIXTURE)
    np.testing.assert_allclose(found["normalized_inertia"], model.normalized_inertia_, rtol=1e-9)
    assert found["n_components"] == model.n_components_
    assert found["seconds"] > 0
    assert found["foreign"] >= 0
    assert found["extra_bytes"] is None or found["extra_bytes"] >= 0


def test_a_fit_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """The limit ends the process, and the reason says so."""
    with pytest.raises(measured_fit.TooLong, match=r"did not end within 1e-05 s"):
        measured_fit.run_apart(task_on(tmp_path, limit=1e-5), tmp_path)


def test_a_fit_that_fails_is_a_reason(tmp_path: Path) -> None:
    """What a system raises is told in its own words, without folders of this machine."""
    with pytest.raises(measured_fit.NotMeasured, match="raised ValueError: n_clusters=500 exceeds"):
        measured_fit.run_apart(task_on(tmp_path, n_clusters=500), tmp_path)
    assert measured_fit.shorten("no file /home/me/rows.npy.\nmore") == "no file rows.npy"

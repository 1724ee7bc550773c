"""Parts of a checkpoint that were forged, with a checksum that fits, cost time and nothing else."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans import FitState, ProjectedKMeans, open_rows
from projected_kmeans.running import checkpoint as running_checkpoint
from tests.support.blobs import assert_same_fit, draw_blobs
from tests.support.forged_parts import HOSTILE, damage_array, forge, places_of, set_value

X = draw_blobs(n=80, d=12, k=4, gap=0.15)[0]

# A fit of each kind, and the steps in which it is left.
FITS: dict[str, tuple[dict[str, Any], tuple[tuple[str, int], ...]]] = {
    "sign": (
        {"projection": "sign", "n_components": 5, "n_init": 4, "polish_iter": 3},
        (("seed", 2), ("polish", 1)),
    ),
    "svd": ({"projection": "svd", "n_components": 5}, (("cluster", 2), ("done", 0))),
    "columns": ({"projection": "columns", "n_components": 6}, (("cluster", 2),)),
    "hartigan": (
        {"projection": "sign", "n_components": 5, "solver": "hartigan"},
        (("cluster", 3),),
    ),
    "orss06": (
        {"projection": "sign", "n_components": 5, "solver": "orss06", "n_init": 3},
        (("cluster", 2),),
    ),
}


class Left(BaseException):
    """Ends a fit as abruptly as a kill."""


def fit(kind: str, rows: Any, folder: Path | None = None, callback: Any = None) -> ProjectedKMeans:
    """Fit the rows in one of the ways."""
    options = {"n_clusters": 4, "solver": "lloyd", "random_state": 0, **FITS[kind][0]}
    return ProjectedKMeans(**options, checkpoint=folder, callback=callback).fit(rows)


def leave(kind: str, rows: Any, folder: Path, step: str, iteration: int) -> None:
    """Begin a fit and leave it at a moment; store all that can be stored."""

    def stop(state: FitState) -> None:
        if (state.step, state.iteration) == (step, iteration):
            raise Left

    if step == "done":
        fit(kind, rows, folder)
        return
    with pytest.raises(Left):
        fit(kind, rows, folder, stop)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write every value at once."""
    monkeypatch.setattr(running_checkpoint, "SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(running_checkpoint, "WORK_PER_WRITE", 0.0)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("kind", FITS)
def test_forged_parts_cost_time_only(kind: str, tmp_path: Path) -> None:
    """Whatever is replaced in a part, the fit comes to its end; bad arrays change no bit of it."""
    np.save(tmp_path / "rows.npy", X)
    rows, stream = open_rows(tmp_path / "rows.npy"), np.random.default_rng(5)
    whole, tried = fit(kind, rows), 0
    for step, iteration in FITS[kind][1]:
        left, again = tmp_path / f"{step}-{iteration}", tmp_path / "again"
        leave(kind, rows, left, step, iteration)
        for part in sorted(left.glob("*.part")):
            if part.name == "run.part":
                continue
            for how in ("value", "dtype", "short", "huge", "missing"):
                shutil.rmtree(again, ignore_errors=True)
                shutil.copytree(left, again)
                forge(again / part.name, lambda *old, how=how: change(*old, how, stream))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    model = fit(kind, rows, again)
                if how == "value":  # a value of the right type and range may be believed
                    assert set(model.labels_) <= set(range(4))
                else:
                    assert_same_fit(model, whole)
                tried += 1
    assert tried >= 5


def change(
    header: dict[str, Any], arrays: dict[str, np.ndarray], how: str, stream: np.random.Generator
) -> None:
    """Change one value of a document or one array of a part."""
    if how in ("value", "missing") or not arrays:
        places = [place for place in places_of(header["document"]) if place[0] != "owner"]
        if not places:
            return
        place = places[stream.integers(len(places))]
        if how == "missing":
            set_value(header["document"], place[:1], None)
        else:
            set_value(header["document"], place, HOSTILE[stream.integers(len(HOSTILE))])
        return
    name = list(arrays)[stream.integers(len(arrays))]
    arrays[name] = damage_array(arrays[name], how)

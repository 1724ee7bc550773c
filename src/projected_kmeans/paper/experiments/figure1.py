"""Figure 1: F~, P and seconds of Algorithm 1 on the face images as t grows from 5 to 300.

Measures the curves; `figure1_statements` judges them, and the view draws them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from projected_kmeans.paper.experiments.experiment import Experiment, Unit
from projected_kmeans.paper.experiments.faces import Faces, cluster_faces, cluster_projected
from projected_kmeans.paper.experiments.figure1_statements import judge_statements
from projected_kmeans.results import Floats

MEASURES = ("F", "P", "seconds", "product_seconds")


@dataclass(frozen=True)
class Sizes:
    """How much is measured: the dimensions, draws at each, and repeats in all dimensions."""

    dimensions: tuple[int, ...] = tuple(range(5, 301, 5))
    n_draws: int = 30
    n_original: int = 5


FULL = Sizes()
QUICK = Sizes(dimensions=(5, 10, 20, 25, 50, 90, 150, 200, 275, 300), n_draws=5, n_original=1)


def plan_figure1(faces: Faces, *, key: int = 0, sizes: Sizes = FULL) -> Experiment:
    """Return the experiment behind Figure 1.

    Parameters
    ----------
    faces : Faces
        The images.
    key : int, default=0
        Draw i uses the key ``key + i`` at every t, so that its sign matrices are nested: the
        matrix for a smaller t holds the first columns of the larger one.
    sizes : Sizes
        `FULL` or `QUICK`.
    """
    keys = range(key, key + sizes.n_draws)
    units = [Unit(f"t={t}", partial(_draw_projections, faces, t, keys)) for t in sizes.dimensions]
    units.append(Unit("original", partial(_repeat_original, faces, sizes.n_original)))
    return Experiment(
        "figure1",
        {"key": key, "sizes": asdict(sizes), "data": faces.describe()},
        units,
        partial(_summarize, faces.same_crop, sizes),
    )


def _draw_projections(faces: Faces, t: int, keys: range) -> dict[str, list[float]]:
    scores = [cluster_projected(faces, t, key) for key in keys]
    return {
        "F": [float(f"{score.normalized_inertia:.6g}") for score in scores],
        "P": [score.accuracy for score in scores],
        "seconds": [float(f"{score.cluster_seconds:.4g}") for score in scores],
        "product_seconds": [float(f"{score.reduce_seconds:.4g}") for score in scores],
    }


def _repeat_original(faces: Faces, repeats: int) -> dict[str, float]:
    scores = [cluster_faces(faces, faces.rows) for _ in range(repeats)]
    return {
        "F": scores[0].normalized_inertia,
        "P": scores[0].accuracy,
        "seconds": float(np.median([score.cluster_seconds for score in scores])),
    }


def _summarize(same_crop: bool, sizes: Sizes, found: Mapping[str, Any]) -> dict[str, Any]:
    draws = {name: np.array([found[f"t={t}"][name] for t in sizes.dimensions]) for name in MEASURES}
    curves = {name: _describe_curve(draws[name]) for name in MEASURES}
    dimensions = np.array(sizes.dimensions)
    return {
        "same_crop": same_crop,
        "t": list(sizes.dimensions),
        "curves": curves,
        "original": found["original"],
        "statements": judge_statements(dimensions, draws, found["original"]),
        "draws": {name: draws[name].tolist() for name in MEASURES},
    }


def _describe_curve(draws: Floats) -> dict[str, list[float]]:
    """Return mean, median and 90 % band of the draws at every dimension."""
    low, middle, high = np.quantile(draws, [0.05, 0.5, 0.95], axis=1)
    return {
        "mean": draws.mean(axis=1).tolist(),
        "median": middle.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }

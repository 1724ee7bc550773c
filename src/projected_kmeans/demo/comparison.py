"""Cluster the demo's images in the original space and projected, and compare the two runs.

Nothing here prints: the command ``demo`` prints the comparison from the result.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from projected_kmeans.demo.glyphs import CHARACTERS, Glyphs, draw_glyphs
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.estimator.model_files import save_fit
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.passes.scoring import clustering_accuracy, normalized_inertia
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.files import save_report
from projected_kmeans.reports.page import render_report, write_page
from projected_kmeans.reports.pictures import draw_contact_sheet, save_png
from projected_kmeans.reports.plots import can_draw
from projected_kmeans.results import FitState

N_CLUSTERS = len(CHARACTERS)
Callback = Callable[[FitState], bool]


@dataclass(frozen=True)
class SystemRun:
    """One clustering of the demo data."""

    name: str  # of the system
    n_components: int  # the number of dimensions in which it clustered
    seconds: Mapping[str, float]  # of each step
    normalized_inertia: float  # F~ in the original space
    accuracy: float  # P, the share of images in the cluster of their character

    @property
    def total_seconds(self) -> float:
        """The time of all steps."""
        return sum(self.seconds.values())


@dataclass(frozen=True, eq=False)
class DemoResult:
    """The demo data, the two runs on it and the fitted model of the projected one."""

    glyphs: Glyphs
    seed: int  # of the images and of both runs
    original: SystemRun  # scikit-learn's KMeans in the original space
    projected: SystemRun
    model: ProjectedKMeans

    @property
    def speed_ratio(self) -> float:
        """The seconds of the original run divided by those of the projected run."""
        return self.original.total_seconds / self.projected.total_seconds

    @property
    def inertia_change(self) -> float:
        """The relative difference of F~: positive if the projected run has the larger F~."""
        return self.projected.normalized_inertia / self.original.normalized_inertia - 1.0


def run_demo(
    n_samples: int = 10000, *, seed: int = 0, callback: Callback | None = None
) -> DemoResult:
    """Draw images of 40 characters and cluster them twice.

    The callback is called with the state of the work, as that of the estimator is.

    Examples
    --------
    >>> result = run_demo(200, seed=0)
    >>> result.original.n_components
    4096
    """
    if n_samples < N_CLUSTERS:
        raise ValueError(
            f"n_samples={n_samples} is below the {N_CLUSTERS} clusters of the demo; use more"
        )
    _tell(callback, "draw")
    glyphs = draw_glyphs(n_samples, seed=seed)
    _tell(callback, "scikit-learn")
    original = _run_original(glyphs, seed)
    model = ProjectedKMeans(N_CLUSTERS, random_state=seed, callback=callback).fit(glyphs.images)
    model.set_params(callback=None)
    projected = SystemRun(
        name="ProjectedKMeans",
        n_components=model.n_components_,
        seconds=dict(model.timings_),
        normalized_inertia=model.normalized_inertia_,
        accuracy=clustering_accuracy(glyphs.labels, model.labels_),
    )
    return DemoResult(glyphs, seed, original, projected, model)


def write_demo(result: DemoResult, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write labels, centers, model, result, a picture of the centers, and the report.

    Files are returned in the order of writing. The last one is the HTML report, unless the extra
    ``report`` is not installed.

    Examples
    --------
    >>> import tempfile
    >>> files = write_demo(run_demo(200, seed=0), tempfile.mkdtemp())
    >>> [file.name for file in files][-2:]
    ['report.json', 'report.html']
    """
    glyphs = result.glyphs
    name = f"{len(glyphs.images)} glyphs drawn from seed {result.seed}"
    document = describe_fit(
        result.model, glyphs.images, name=name, accuracy=result.projected.accuracy
    )
    document["original"] = asdict(result.original)
    document["comparison"] = {
        "speed_ratio": result.speed_ratio,
        "inertia_change": result.inertia_change,
    }
    names = _name_clusters(result.model.labels_, glyphs.labels)
    report = describe_report(
        result.model,
        glyphs.images,
        document=document,
        image_shape=(glyphs.side, glyphs.side),
        cluster_names=names,
        command=f"projected-kmeans demo --n-samples {len(glyphs.images)} --seed {result.seed}",
    )
    picture = Path(folder) / "centers.png"
    sheet = draw_contact_sheet(
        result.model.cluster_centers_,
        side=(glyphs.side, glyphs.side),
        columns=8,
        captions=names,
    )
    save_png(sheet, picture)
    files = (*save_fit(result.model, document, folder), save_report(report, folder))
    page = Path(folder) / "report.html"
    drawn = (write_page(render_report(report), page),) if can_draw() else ()
    return (picture, *files, *drawn)


def _run_original(glyphs: Glyphs, seed: int) -> SystemRun:
    start = time.perf_counter()
    rows = glyphs.images.astype(np.float32)
    converted = time.perf_counter()
    labels = KMeans(N_CLUSTERS, n_init=1, random_state=seed).fit(rows).labels_
    clustered = time.perf_counter()
    return SystemRun(
        name="scikit-learn KMeans",
        n_components=rows.shape[1],
        seconds={"convert": converted - start, "cluster": clustered - converted},
        normalized_inertia=normalized_inertia(glyphs.images, labels),
        accuracy=clustering_accuracy(glyphs.labels, labels),
    )


def _name_clusters(labels: NDArray[Any], truth: NDArray[Any]) -> list[str]:
    """Name each cluster by the character that most of its images show."""
    counts = np.zeros((N_CLUSTERS, N_CLUSTERS), dtype=int)
    np.add.at(counts, (labels, truth), 1)
    return [CHARACTERS[row.argmax()] if row.any() else "" for row in counts]


def _tell(callback: Callback | None, step: str) -> None:
    """Tell the callback, if there is one, that a step begins."""
    if callback is not None:
        callback(FitState(step=step, restart=0, iteration=0, total=1, inertia=None, seconds=0.0))

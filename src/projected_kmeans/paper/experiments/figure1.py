"""Figure 1: F~, P and seconds of Algorithm 1 on the face images as t grows from 5 to 300.

Each statement of the paper about the figure has a rule that decides whether it holds; the rule and
its threshold are printed beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from projected_kmeans.paper.charts import Chart, Panel, Series
from projected_kmeans.paper.data_sets import Faces
from projected_kmeans.paper.experiment import Document, Exhibit, Experiment, Unit, measure_band
from projected_kmeans.paper.experiments.table2 import cluster_faces, cluster_projected
from projected_kmeans.paper.tables import MEASURED, STATEMENT, VERDICT, Table, tabulate
from projected_kmeans.results import Floats

MEASURES = ("F", "P", "seconds", "product_seconds")
# The paper's seconds to cluster at t = 275, to multiply A R there, and to cluster all dimensions.
PAPER_PROJECTED, PAPER_PRODUCT, PAPER_ORIGINAL = 1.0, 0.1, 10.0

# The t from which on, the paper says, more dimensions are irrelevant.
PLATEAU = 90
# Maximum change that is left on the plateau, as a share of the whole change of the curve.
IRRELEVANT = 0.05
# Minimum rank correlation of a curve that counts as monotone.
MONOTONE = 0.9
# Minimum share of the variance of seconds that a straight line must explain.
LINEAR = 0.8
# The two t between which, the paper says, F~ and P behave differently.
NEAR, NEXT = 20, 25
# The t at which, the paper says, this share of the time is saved.
SAVING_DIMENSION = 275
SAVING = 0.9

Dimensions: TypeAlias = NDArray[np.int64]


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

    Draw i uses the key ``key + i`` at every t, so that its sign matrices are nested: the matrix for
    a smaller t holds the first columns of the larger one.
    """
    keys = range(key, key + sizes.n_draws)
    units = [Unit(f"t={t}", partial(_draw_projections, faces, t, keys)) for t in sizes.dimensions]
    units.append(Unit("original", partial(_repeat_original, faces, sizes.n_original)))
    parameters = {"key": key, "sizes": asdict(sizes), "data": faces.describe()}
    return Experiment("figure1", parameters, units, partial(_summarize, faces.same_crop, sizes))


def _draw_projections(faces: Faces, t: int, keys: range) -> dict[str, list[float]]:
    scores = [cluster_projected(faces, t, key) for key in keys]
    return {
        "F": [float(f"{score['F']:.6g}") for score in scores],
        "P": [score["P"] for score in scores],
        "seconds": [float(f"{score['cluster_seconds']:.4g}") for score in scores],
        "product_seconds": [float(f"{score['reduce_seconds']:.4g}") for score in scores],
    }


def _repeat_original(faces: Faces, repeats: int) -> dict[str, float]:
    scores = [cluster_faces(faces, faces.rows) for _ in range(repeats)]
    return {
        "F": scores[0]["F"],
        "P": scores[0]["P"],
        "seconds": float(np.median([score["cluster_seconds"] for score in scores])),
    }


def _summarize(same_crop: bool, sizes: Sizes, measured: Mapping[str, Any]) -> dict[str, Any]:
    draws = {
        name: np.array([measured[f"t={t}"][name] for t in sizes.dimensions]) for name in MEASURES
    }
    return {
        "same_crop": same_crop,
        "t": list(sizes.dimensions),
        "curves": {name: _describe_curve(draws[name]) for name in MEASURES},
        "original": measured["original"],
        "statements": judge_statements(
            np.array(sizes.dimensions), draws, measured["original"]["seconds"]
        ),
        "draws": {name: draws[name].tolist() for name in MEASURES},
    }


def _describe_curve(draws: Floats) -> dict[str, list[float]]:
    """Return mean, median and 90 % band of the draws at every dimension."""
    low, median, high = measure_band(draws, axis=1)
    curve = {"mean": draws.mean(axis=1), "median": median, "low": low, "high": high}
    return {name: values.tolist() for name, values in curve.items()}


def judge_statements(
    dimensions: Dimensions, draws: Mapping[str, Floats], original_seconds: float
) -> list[dict[str, Any]]:
    """Return the paper's statements, each with what was measured and whether it holds.

    Draws of each of the `MEASURES` have a row for every t and a column for every key.
    """
    means = {name: values.mean(axis=1) for name, values in draws.items()}
    return [
        _judge_trend(dimensions, means["F"], "F~", -1),
        _judge_start(dimensions, means["F"]),
        _judge_plateau(dimensions, means["F"], "F~"),
        _judge_trend(dimensions, means["P"], "P", 1),
        _judge_plateau(dimensions, means["P"], "P"),
        _judge_disagreement(dimensions, draws),
        _judge_linearity(dimensions, means["seconds"]),
        _judge_saving(dimensions, draws, original_seconds),
    ]


def _state(
    statement: str, measured: str, rule: str, holds: bool, **values: float
) -> dict[str, Any]:
    return {
        "statement": statement,
        "measured": measured,
        "rule": rule,
        "holds": bool(holds),
        "values": {name: float(value) for name, value in values.items()},
    }


def _judge_trend(dimensions: Dimensions, mean: Floats, name: str, sign: int) -> dict[str, Any]:
    rank = float(scipy.stats.spearmanr(dimensions, mean).statistic)
    against = int(np.sum(np.diff(mean) * sign < 0))
    word = "non-increasing" if sign < 0 else "non-decreasing"
    return _state(
        f"{name} is a piece-wise {word} function of t",
        f"rank correlation {rank:.3f}; {against} of {len(mean) - 1} steps go against it",
        f"rank correlation of the mean beyond {MONOTONE * sign:+g}",
        rank * sign >= MONOTONE,
        rank_correlation=rank,
        steps_against=against,
    )


def _judge_start(dimensions: Dimensions, mean: Floats) -> dict[str, Any]:
    first = int(np.searchsorted(dimensions, 50, side="right")) - 1
    share = (mean[0] - mean[first]) / (mean[0] - mean[-1])
    return _state(
        "F~ falls much in the first few choices of t, and little afterwards",
        f"{share:.0%} of the whole fall is reached at t = {dimensions[first]}",
        "at least 80 % of the fall in the first sixth of the range",
        share >= 0.8,
        share=share,
    )


def _judge_plateau(dimensions: Dimensions, mean: Floats, name: str) -> dict[str, Any]:
    left = np.abs(mean - mean[-1]) / abs(mean[0] - mean[-1])
    at = int(np.searchsorted(dimensions, PLATEAU))
    beyond = np.flatnonzero(left > IRRELEVANT)
    begins = int(dimensions[min(beyond[-1] + 1, len(dimensions) - 1)]) if len(beyond) else 0
    return _state(
        f"for {name}, more dimensions are irrelevant after around t = {PLATEAU}",
        f"{name} is {mean[at]:.4f} at t = {dimensions[at]} and {mean[-1]:.4f} at t = "
        f"{dimensions[-1]}: {left[at]:.1%} of the whole change is left; the mean stays within "
        f"{IRRELEVANT:.0%} from t = {begins} on",
        f"at most {2 * IRRELEVANT:.0%} of the whole change left at t = {PLATEAU}",
        left[at] <= 2 * IRRELEVANT,
        left=left[at],
        begins=begins,
    )


def _judge_disagreement(dimensions: Dimensions, draws: Mapping[str, Floats]) -> dict[str, Any]:
    here, there = np.searchsorted(dimensions, [NEAR, NEXT])
    change_f = draws["F"][there] - draws["F"][here]
    change_p = draws["P"][there] - draws["P"][here]
    worse = float(np.mean((change_f < 0) & (change_p < 0)))
    disagree = float(np.mean(change_f * change_p > 0))
    return _state(
        f"F~ and P are not directly related: from t = {NEAR} to {NEXT} they behave differently",
        f"in {disagree:.0%} of the draws both rise or both fall ({worse:.0%}: F~ improves and P "
        "gets worse)",
        "not a rarity: at least 10 % of the draws",
        disagree >= 0.1,
        disagree=disagree,
        better_f_worse_p=worse,
    )


def _judge_linearity(dimensions: Dimensions, seconds: Floats) -> dict[str, Any]:
    line = scipy.stats.linregress(dimensions, seconds)
    explained = float(line.rvalue**2)
    return _state(
        "the seconds of the clustering step grow almost linearly with t",
        f"a line explains {explained:.0%} of their variance: {line.slope * 1e6:.1f} microseconds a "
        f"dimension, {line.intercept * 1e3:.1f} ms at t = 0",
        f"at least {LINEAR:.0%} explained by a rising line",
        bool(explained >= LINEAR and line.slope > 0),
        explained=explained,
        slope=line.slope,
        intercept=line.intercept,
    )


def _judge_saving(
    dimensions: Dimensions, draws: Mapping[str, Floats], original: float
) -> dict[str, Any]:
    at = int(np.searchsorted(dimensions, SAVING_DIMENSION))
    cluster = float(np.median(draws["seconds"][at]))
    product = float(np.median(draws["product_seconds"][at]))
    saving = 1 - (cluster + product) / original
    printed = 1 - (PAPER_PROJECTED + PAPER_PRODUCT) / PAPER_ORIGINAL
    return _state(
        f"at t = {SAVING_DIMENSION} the whole takes almost {SAVING:.0%} less time than in all "
        "dimensions",
        f"{cluster:.4f} s to cluster and {product:.4f} s for A R, against {original:.4f} s: "
        f"{saving:.0%} saved (the paper: {PAPER_PROJECTED:g} + {PAPER_PRODUCT:g} against "
        f"{PAPER_ORIGINAL:g} s, {printed:.0%})",
        "at least 85 % saved",
        saving >= 0.85,
        saving=saving,
        cluster_seconds=cluster,
        product_seconds=product,
        original_seconds=original,
    )


# The values of t that the table shows.
SHOWN = (5, 10, 20, 50, 90, 150, 200, 275, 300)


def _tabulate(document: Document) -> list[Table]:
    results = document["results"]
    points = [
        {"t": t}
        | {
            f"{name}_{part}": results["curves"][name][part][at]
            for name in ("F", "P", "seconds")
            for part in ("mean", "low", "high")
        }
        for at, t in enumerate(results["t"])
        if t in SHOWN
    ]
    columns = (
        ("t", "{t}"),
        ("F~", "{F_mean:.5f}"),
        ("90 % band", "{F_low:.5f} to {F_high:.5f}"),
        ("P", "{P_mean:.4f}"),
        ("90 % band", "{P_low:.4f} to {P_high:.4f}"),
        ("seconds to cluster", "{seconds_mean:.4f}"),
        ("90 % band", "{seconds_low:.4f} to {seconds_high:.4f}"),
    )
    n_draws = document["parameters"]["sizes"]["n_draws"]
    return [
        tabulate("curves", f"Mean and band over {n_draws} draws of R", points, columns),
        tabulate(
            "statements",
            "What the paper says about the figure",
            results["statements"],
            (STATEMENT, MEASURED, ("it holds if", "{rule}"), VERDICT),
        ),
    ]


def _conclude(document: Document) -> list[str]:
    statements = document["results"]["statements"]
    n_held = sum(statement["holds"] for statement in statements)
    sentences = []
    if not document["results"]["same_crop"]:
        name = document["parameters"]["data"]["name"]
        sentences.append(f"The data is {name}, another crop: statements compare as trends only.")
    return [*sentences, f"{n_held} of {len(statements)} statements about Figure 1 hold"]


def _chart(document: Document) -> list[Chart]:
    results = document["results"]
    n_features = document["parameters"]["data"]["shape"][1]
    panels = []
    for name, title, label in (
        ("F", "normalized inertia F~", "F~"),
        ("P", "accuracy P", "P"),
        ("seconds", "clustering step", "seconds"),
    ):
        mean, low, high = (results["curves"][name][part] for part in ("mean", "low", "high"))
        series = Series("mean and 90 % band", results["t"], mean, low, high)
        level = (f"all {n_features} dimensions", results["original"][name])
        panels.append(Panel(title, "t", label, (series,), (level,), log_y=name == "seconds"))
    return [Chart("figure1", tuple(panels))]


EXHIBIT = Exhibit(
    "figure1",
    "Figure 1: F~, P and time against t",
    "Algorithm 1 on the face images for t = 5, 10, ..., 300. The paper shows one draw of R; this "
    "figure shows the mean and the 90 % band of many draws. The sign matrices of one draw are "
    "nested: a smaller t takes the first columns of the same matrix, so that differences between "
    "values of t come from t and not from another draw.",
    plan_figure1,
    FULL,
    QUICK,
    _tabulate,
    _conclude,
    _chart,
)

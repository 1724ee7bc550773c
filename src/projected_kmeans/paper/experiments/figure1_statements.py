"""What the paper says about Figure 1, each statement with a rule that decides whether it holds.

Judges the curves that `figure1` measured. The rule and its threshold are printed beside each
statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from projected_kmeans.paper.experiments.published import FIGURE1_SECONDS
from projected_kmeans.results import Floats

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

Dimensions = NDArray[np.int64]


def judge_statements(
    dimensions: Dimensions, draws: Mapping[str, Floats], original: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Return the paper's statements, each with what was measured and whether it holds.

    Parameters
    ----------
    dimensions : ndarray (m,)
        The values of t, ascending.
    draws : mapping
        "F", "P", "seconds" and "product_seconds", each (m, draws); one column for each key.
    original : mapping
        "seconds" of the clustering in all dimensions.
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
        _judge_saving(dimensions, draws, original["seconds"]),
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
    paper = FIGURE1_SECONDS
    printed = 1 - (paper["projected"] + paper["product"]) / paper["original"]
    return _state(
        f"at t = {SAVING_DIMENSION} the whole takes almost {SAVING:.0%} less time than in all "
        "dimensions",
        f"{cluster:.4f} s to cluster and {product:.4f} s for A R, against {original:.4f} s: "
        f"{saving:.0%} saved (the paper: {paper['projected']:g} + {paper['product']:g} against "
        f"{paper['original']:g} s, {printed:.0%})",
        "at least 85 % saved",
        saving >= 0.85,
        saving=saving,
        cluster_seconds=cluster,
        product_seconds=product,
        original_seconds=original,
    )

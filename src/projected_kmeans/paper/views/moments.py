"""The moments of Lemmas 1.2 and 1.3 as rows of a table, for the views of the theorem.

Renders stored values; it measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import scipy.stats

from projected_kmeans.paper.experiments.theorem_statements import CONFIDENCE
from projected_kmeans.paper.views.tables import format_verdict


def sum_up_moments(moments: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return rows of statement, bound, measured value and verdict.

    Parameters
    ----------
    moments : sequence of mappings
        What `judge_moments` returned for every setting.
    """
    rows: list[tuple[str, ...]] = []
    product = max((one["product"] for one in moments), key=lambda value: value["mean"])
    rows.append(
        (
            "Lemma 1.2: E ||S T - S R R^T T||_F^2 <= (2/t) ||S||_F^2 ||T||_F^2",
            "1 times the right side",
            f"at most {product['mean']:.3f} times it (S = A - A_k, T = V_k)",
            format_verdict(product["low"] <= 1),
        )
    )
    for name, matrix in (("tail", "A - A_k"), ("whole", "A")):
        means = [one[f"{name}_mean"] for one in moments]
        covered = sum(value["low"] <= 1 <= value["high"] for value in means)
        low, high = min(one["mean"] for one in means), max(one["mean"] for one in means)
        rows.append(
            (
                f"Lemma 1.3, C = {matrix}: E ||C R||_F^2 = ||C||_F^2",
                "1",
                f"{low:.4f} to {high:.4f}; 1 is in {covered} of {len(means)} separate 95 % "
                f"intervals, farthest off by {_farthest(means):.2f} of the joint ones",
                format_verdict(_farthest(means) <= 1),
            )
        )
        spread = max((one[f"{name}_variance"] for one in moments), key=lambda value: value["mean"])
        rows.append(
            (
                f"Lemma 1.3, C = {matrix}: Var ||C R||_F^2 <= 2 ||C||_F^4 / t (printed without the "
                "square)",
                "1 times the right side",
                f"at most {spread['mean']:.3f} times it ({spread['low']:.3f} to "
                f"{spread['high']:.3f})",
                format_verdict(spread["low"] <= 1),
            )
        )
    return rows


def _farthest(means: Sequence[Mapping[str, float]]) -> float:
    """Return the maximum distance of 1 from a mean, in half-widths of joint 95 % intervals.

    All settings share the same draws of R, so that their separate intervals tend to miss 1
    together, and counting the misses proves nothing. Bonferroni's intervals hold jointly, whatever
    the dependence.
    """
    separate = float(scipy.stats.norm.ppf((1 + CONFIDENCE) / 2))
    joint = float(scipy.stats.norm.ppf(1 - (1 - CONFIDENCE) / (2 * len(means))))
    widening = joint / separate
    return max(abs(one["mean"] - 1) / ((one["high"] - one["mean"]) * widening) for one in means)

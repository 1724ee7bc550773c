"""Compare what all kernels give on two machines: the same bits, or the same up to rounding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# Ends of the names of results that have the same bits on every machine: labels, which are settled
# in double precision; extremes; exact sums and what follows from them; and what is computed
# without fused operations.
SAME_BITS = (
    "labels", "minimum", "maximum", "moves", "offsets", "squares", "lloyd centers",
    "sparse own", "cut matrix", "cut values",
)  # fmt: skip
IGNORED = ("instruction set",)


@dataclass(frozen=True)
class Comparison:
    """What two machines gave.

    Attributes
    ----------
    sentence : str
        How many results have the same bits, and by how much the others differ.
    failures : list of str
        Results that differ and must not.
    """

    sentence: str
    failures: list[str]


def allowed(name: str) -> float:
    """Return how far two results may lie apart, as a share of the largest value."""
    if name.endswith(SAME_BITS):
        return 0.0
    return 1e-12 if name.startswith(("float64", "model")) else 2e-6


def distance(ours: NDArray[np.generic], theirs: NDArray[np.generic]) -> float:
    """Return the largest difference as a share of the largest value; 0 for the same bits."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if ours.tobytes() == theirs.tobytes():
        return 0.0
    gap = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max()
    share = float(gap / np.abs(ours.astype(np.float64)).max())
    return max(share, float(np.finfo(np.float64).tiny))  # -0.0 and 0.0 have different bits


def compare(here: Path, there: Path) -> Comparison:
    """Compare two files that ``tests/native/bindings/kernel_results.py`` wrote."""
    with np.load(here) as ours, np.load(there) as theirs:
        names = sorted({*ours.files, *theirs.files} - {*IGNORED})
        missing = [name for name in names if name not in ours or name not in theirs]
        gaps = {name: distance(ours[name], theirs[name]) for name in names if name not in missing}
    failures = [f"{name} is missing on one machine" for name in missing]
    failures += [
        f"{name} differs by {gap:.1e} of its largest value; at most {allowed(name):.0e} may be"
        for name, gap in gaps.items()
        if not gap <= allowed(name)
    ]
    same = sum(gap == 0 for gap in gaps.values())
    others = max((gap for gap in gaps.values() if gap), default=0.0)
    return Comparison(
        f"{same} of {len(gaps)} results have the same bits on both machines; the others differ by "
        f"at most {others:.1e} of their largest value",
        failures,
    )

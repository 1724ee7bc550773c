"""What the search should reach, and whether measured fits do.

A goal limits the inertia or the seconds of this build, or how many times those of another system
they are. Nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from types import MappingProxyType
from typing import Any

NOW, BEFORE = "now", "before"

# Rounding alone can make equal numbers differ by this share.
EQUAL = 1e-6

# Which of the keys are compared: ours, and those of the other system.
Pick = Callable[[Sequence[float]], float]
PICKS: Mapping[str, tuple[Pick, Pick]] = MappingProxyType(
    {"median": (median, median), "best": (median, min), "highest": (max, max)}
)

# Bytes of a number of the sketch and of a center, and bytes that each row may take besides.
SKETCH_BYTES, CENTER_BYTES, ROW_BYTES = 4, 8, 64
SKETCHES, CENTER_SETS = 1.5, 3


@dataclass(frozen=True)
class Goal:
    """A limit of what this build needs.

    Attributes
    ----------
    measure : str
        "inertia" or "seconds".
    system : str or None
        The system whose figure ours is divided by. None: the limit is a number of its own.
    limit : float
        The most that is allowed.
    pick : str
        A name of `PICKS`.
    n_clusters : int or None
        The number of clusters of the other fit, if it is not that of ours.
    """

    measure: str
    system: str | None
    limit: float
    pick: str = "median"
    n_clusters: int | None = None


def compare_with_before(inertia: float, seconds: float) -> tuple[Goal, ...]:
    """Return the goals beside the build before."""
    return Goal("inertia", BEFORE, inertia), Goal("seconds", BEFORE, seconds)


def compare(
    goal: Goal, own: Mapping[str, Any] | None, other: Mapping[str, Any] | None
) -> float | None:
    """Return the number that a goal limits, or None if a fit is missing or failed."""
    if own is None or "failure" in own:
        return None
    pick_own, pick_other = PICKS[goal.pick]
    found = pick_own(own[goal.measure])
    if goal.system is None:
        return found
    if other is None or "failure" in other:
        return None
    return found / pick_other(other[goal.measure])


def judge(
    goal: Goal, own: Mapping[str, Any] | None, other: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return a goal, what was found, and whether it is met; None where that is unknown."""
    found = compare(goal, own, other)
    met = None if found is None else found <= goal.limit * (1 + EQUAL)
    return {**asdict(goal), "found": found, "met": met}


def limit_memory(n: int, d: int, n_clusters: int, t: int) -> float:
    """Return the most bytes that a fit may take beyond the rows, for t dimensions of the sketch."""
    sketch, centers = SKETCH_BYTES * n * t, CENTER_BYTES * n_clusters * d
    return SKETCHES * sketch + ROW_BYTES * n + CENTER_SETS * centers


def tell(verdict: Mapping[str, Any]) -> str:
    """Return a goal in words, with what was found."""
    names = {"median": "", "best": "lowest ", "highest": "highest "}
    against = names[verdict["pick"]] + str(verdict["system"])
    if verdict["n_clusters"] is not None:
        against += f", k = {verdict['n_clusters']:,}"
    subject = verdict["measure"] + ("" if verdict["system"] is None else f" / {against}")
    found = "unknown" if verdict["found"] is None else format(verdict["found"], ".7g")
    return f"{subject} {found} (at most {verdict['limit']:g}: {name_outcome(verdict['met'])})"


def tell_memory(entry: Mapping[str, Any]) -> str:
    """Return the memory of a fit in words, with its limit."""
    megabytes, limit = entry["extra_bytes"] / 1e6, entry["limit_bytes"] / 1e6
    return f"memory {megabytes:.0f} MB (at most {limit:.0f}: {name_outcome(entry['met'])})"


def name_outcome(met: bool | None) -> str:
    """Return whether a goal is met as a word."""
    return "unknown" if met is None else "met" if met else "missed"

"""How much work to do for a part, and what came of it: values without behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from projected_kmeans.results import Labels


@dataclass(frozen=True)
class PartEffort:
    """How much work to do for a part.

    Attributes
    ----------
    cuts : bool
        Whether to search with cuts: tighter, and several times as long.
    max_steps : int
        Steps at most. Without cuts 30 are enough; with cuts, some hundred.
    goal : float
        The search ends when inertia / bound is at most this.
    round : bool
        Whether to look for better labels.
    """

    cuts: bool = False
    max_steps: int = 30
    goal: float = 1 + 1e-4
    round: bool = True


class PartStep(NamedTuple):
    """What `on_step` is told after each step.

    Attributes
    ----------
    step : int
        Steps made.
    bound : float
        The best bound proven so far, as in `PartProof`.
    inertia : float
        The inertia of the best labels so far.
    """

    step: int
    bound: float
    inertia: float


@dataclass(frozen=True)
class PartProof:
    """What was proven for a part.

    Attributes
    ----------
    bound : float
        No clustering of the rows as given into at most k clusters has a smaller inertia.
    inertia : float
        The inertia of ``labels``, as computed.
    inertia_error : float
        The most that it can differ from the exact inertia.
    labels : ndarray of int32 (n,)
        The best clustering known: the one given, or one that rounding found.
    steps : int
        Steps of the search.
    seconds : float
        The time that all of it took.
    ended : {"closed", "no gain", "steps", "time", "stopped"}
        Why the search ended. "closed": inertia / bound is at most the goal. "no gain": several
        checks in a row gained little. "steps" and "time": the limit was reached. "stopped":
        somebody asked to stop.
    """

    bound: float
    inertia: float
    inertia_error: float
    labels: Labels
    steps: int
    seconds: float
    ended: str

"""All experiments by name, each with its full and its quick size.

Finds the experiment that a user names; it does not run it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from projected_kmeans.paper.experiments import (
    beyond,
    figure1,
    mailman,
    optimum,
    table1,
    table2,
    theorem,
)
from projected_kmeans.paper.experiments.experiment import Experiment
from projected_kmeans.paper.experiments.faces import Faces


class Plan(NamedTuple):
    """How to make one experiment.

    Attributes
    ----------
    make : callable
        From the face images (or None), ``key=`` and ``sizes=`` to the experiment.
    full, quick : object
        The sizes of a complete run, and those of a run of under a minute.
    """

    make: Callable[..., Experiment]
    full: Any
    quick: Any


def _without_faces(make: Callable[..., Experiment]) -> Callable[..., Experiment]:
    """Return the same function for callers that pass face images to all experiments."""
    return lambda faces, **options: make(**options)


PLANS: Mapping[str, Plan] = MappingProxyType(
    {
        "table1": Plan(table1.plan_table1, table1.FULL, table1.QUICK),
        "table2": Plan(table2.plan_table2, table2.FULL, table2.QUICK),
        "figure1": Plan(figure1.plan_figure1, figure1.FULL, figure1.QUICK),
        "mailman": Plan(_without_faces(mailman.plan_mailman), mailman.FULL, mailman.QUICK),
        "theorem": Plan(theorem.plan_theorem, theorem.FULL, theorem.QUICK),
        "optimum": Plan(optimum.plan_optimum, optimum.FULL, optimum.QUICK),
        "beyond": Plan(beyond.plan_beyond, beyond.FULL, beyond.QUICK),
    }
)


def plan_experiment(
    name: str, faces: Faces | None, *, key: int = 0, quick: bool = False
) -> Experiment:
    """Return the experiment of a name.

    Parameters
    ----------
    name : str
        One of `PLANS`.
    faces : Faces or None
        The face images. Table 2 and Figure 1 need them, the mailman experiment ignores them, and
        the others use them if there are any.
    key : int, default=0
        Fixes all random numbers.
    quick : bool, default=False
        Whether to use small sizes.

    Examples
    --------
    >>> plan_experiment("mailman", None, quick=True).units[0].name
    'agreement'
    """
    plan = PLANS[name]
    return plan.make(faces, key=key, sizes=plan.quick if quick else plan.full)

"""Parameters of scikit-learn's KMeans that this estimator does not have: errors that say why.

Explains names; it changes no value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Estimator = TypeVar("Estimator")

REASONS = {
    "algorithm": "leave it out, because passes skip distances by bounds, as 'elkan' does; solver "
    "chooses the method",
    "copy_x": "leave it out, because X is never changed",
    "n_jobs": "use n_threads",
}


def explain_foreign_parameters(
    init: Callable[Concatenate[Estimator, Parameters], None],
) -> Callable[Concatenate[Estimator, Parameters], None]:
    """Return a constructor that tells what to do instead of parameters of scikit-learn's KMeans.

    Examples
    --------
    >>> from projected_kmeans import ProjectedKMeans
    >>> ProjectedKMeans(3, copy_x=False)
    Traceback (most recent call last):
    ...
    TypeError: copy_x is a parameter of scikit-learn's KMeans; leave it out, because X is never \
changed
    """

    @wraps(init)
    def explained(
        self: Estimator, /, *arguments: Parameters.args, **named: Parameters.kwargs
    ) -> None:
        for name in REASONS.keys() & named.keys():
            raise TypeError(f"{name} is a parameter of scikit-learn's KMeans; {REASONS[name]}")
        init(self, *arguments, **named)

    return explained

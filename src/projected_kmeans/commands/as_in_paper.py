"""What ``fit --as-in-paper`` does: Algorithm 1 of the paper, and what its theorem says."""

from __future__ import annotations

from typing import Any

from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.estimator.theorem1 import (
    AS_IN_PAPER,
    Dimensions,
    Theorem1,
    choose_dimensions,
    warn_of_dimensions,
)

# The options that --as-in-paper decides, and the parameters that they set.
DECIDED = {
    "--projection": "projection",
    "--components": "n_components",
    "--polish": "polish_iter",
    "--n-init": "n_init",
}


def take_paper(parameters: dict[str, Any], as_in_paper: bool) -> None:
    """Set the parameters of Algorithm 1, if it is asked for; raise if an option contradicts it."""
    if not as_in_paper:
        return
    for option, name in DECIDED.items():
        if parameters[name] not in ("auto", AS_IN_PAPER.get(name, "auto")):
            raise ValueError(
                f"{option} and --as-in-paper, which decides it, are both given; give one of them"
            )
    if parameters["metric"] != "euclidean":
        raise ValueError("--as-in-paper has no metric but euclidean; leave out --metric")
    if parameters["eps"] is None:
        raise ValueError("--as-in-paper needs an error parameter; give --eps, such as --eps 0.3")
    parameters.update(AS_IN_PAPER)


def set_dimensions(model: ProjectedKMeans, n_features: int) -> Dimensions:
    """Set the t of the paper, and warn if it is limited by the number of columns."""
    assert model.eps is not None  # as take_paper has checked
    chosen = choose_dimensions(model.n_clusters, model.eps, n_features=n_features)
    warn_of_dimensions(chosen)
    model.set_params(n_components=chosen.t)
    return chosen


def describe_theorem(model: ProjectedKMeans, chosen: Dimensions | None) -> dict[str, Any]:
    """Return what the document of a fit says of Theorem 1; nothing if t is not the paper's."""
    if chosen is None:
        return {}
    return {"theorem1": Theorem1.of(chosen, model.approach_.solver, model.gamma_).to_document()}

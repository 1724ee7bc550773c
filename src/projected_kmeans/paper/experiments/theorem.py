"""Theorem 1 and Lemmas 1 to 4: every quantity that they bound, measured over draws of R.

Measures the quantities; `theorem_statements` judges whether the statements hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from projected_kmeans.blas_threads import strictly
from projected_kmeans.keys import open_stream
from projected_kmeans.paper.baselines.exact import solve_exactly
from projected_kmeans.paper.baselines.gamma import SOLVERS
from projected_kmeans.paper.baselines.instances import draw_instance
from projected_kmeans.paper.baselines.svd_features import Decomposition, decompose_exactly
from projected_kmeans.paper.experiments.experiment import Experiment, Unit, split_batches
from projected_kmeans.paper.experiments.faces import Faces
from projected_kmeans.paper.experiments.theorem_statements import judge_lemmas, judge_theorem
from projected_kmeans.paper.streams import RANDOM_DATA
from projected_kmeans.passes.scoring import inertia
from projected_kmeans.projections.maps import SignProjection
from projected_kmeans.results import Floats

# Values of t/k. With c = 1 the paper's t = c k / eps^2 gives about 12, 25 and 100 for eps = 0.3,
# 0.2 and 0.1.
RATIOS = (2, 5, 12, 25, 50, 100, 200, 400)


@dataclass(frozen=True, eq=False)
class Case:
    """A matrix and the numbers of clusters for which its leading singular vectors are tested."""

    name: str
    rows: Floats
    n_clusters: tuple[int, ...]


@dataclass(frozen=True)
class Sizes:
    """How much is measured: draws of R, draws of a unit, instances, and the random matrix."""

    n_draws: int = 400
    unit_draws: int = 20
    ratios: tuple[int, ...] = RATIOS
    n_instances: int = 600
    unit_instances: int = 60
    instance_dimensions: tuple[int, ...] = (1, 2, 4, 8, 16, 34)
    random_shape: tuple[int, int] = (300, 2000)


FULL = Sizes()
QUICK = Sizes(
    n_draws=20,
    unit_draws=10,
    ratios=(2, 12, 50),
    n_instances=24,
    unit_instances=12,
    instance_dimensions=(1, 4, 34),
    random_shape=(60, 500),
)


def plan_theorem(faces: Faces | None, *, key: int = 0, sizes: Sizes = FULL) -> Experiment:
    """Return the experiment behind the theorem's table.

    Parameters
    ----------
    faces : Faces or None
        Real data, if it was found.
    key : int, default=0
        Draw i of R uses the key ``key + i``.
    sizes : Sizes
        `FULL` or `QUICK`.
    """
    cases = [_draw_mixture(key, sizes.random_shape)]
    if faces is not None:
        cases.append(Case(faces.name, faces.rows, (5, 40)))
    all_keys = range(key, key + sizes.n_draws)
    units = []
    for case in cases:
        basis = _LazyDecomposition(case.rows)
        units += [
            Unit(f"{case.name} from {keys[0]}", partial(_measure_draws, case, basis, sizes, keys))
            for keys in split_batches(all_keys, sizes.unit_draws)
        ]
    units += [
        Unit(f"instances from {batch[0]}", partial(_measure_instances, key, sizes, batch))
        for batch in split_batches(range(sizes.n_instances), sizes.unit_instances)
    ]
    parameters = {
        "key": key,
        "sizes": asdict(sizes),
        "data": None if faces is None else faces.describe(),
    }
    return Experiment("theorem", parameters, units, partial(_summarize, cases, sizes))


def _draw_mixture(key: int, shape: tuple[int, int]) -> Case:
    """Return a mixture of twenty normal clusters that overlap."""
    stream = open_stream(key, RANDOM_DATA)
    means = stream.normal(size=(20, shape[1])) / 4
    rows = means[stream.integers(20, size=shape[0])] + stream.normal(size=shape)
    return Case("random mixture", np.ascontiguousarray(rows), (5, 20))


class _LazyDecomposition:
    """The singular value decomposition of a matrix, computed when the first unit needs it."""

    def __init__(self, rows: Floats) -> None:
        self._rows = rows
        self._found: Decomposition | None = None

    def __call__(self) -> Decomposition:
        if self._found is None:
            self._found = decompose_exactly(self._rows, min(self._rows.shape))
        return self._found


def _settings(case: Case, sizes: Sizes) -> list[tuple[int, int]]:
    """Return the pairs of k and t/k with which R has at most as many columns as A."""
    limit = case.rows.shape[1]
    return [(k, ratio) for k in case.n_clusters for ratio in sizes.ratios if k * ratio <= limit]


def _measure_draws(
    case: Case, lazy: _LazyDecomposition, sizes: Sizes, keys: Sequence[int]
) -> dict[str, dict[str, list[float]]]:
    """Return the lemmas' quantities for some draws of R, by "k=5 t/k=12" and name.

    All of them are functions of V^T R. The first t columns of R are, but for their scale, a smaller
    R, so that one product serves all t.
    """
    basis = lazy()
    settings = _settings(case, sizes)
    widest = max(k * ratio for k, ratio in settings)
    found: dict[str, dict[str, list[float]]] = {}
    for key in keys:
        projection = SignProjection(widest, random_state=key)
        turned = projection.fit(basis.right).transform(basis.right)
        for k, ratio in settings:
            t = k * ratio
            columns = turned[:, :t] * np.sqrt(widest / t)
            record = found.setdefault(f"k={k} t/k={ratio}", {})
            for name, value in measure_lemmas(columns, basis.values, k).items():
                record.setdefault(name, []).append(value)
    return found


def measure_lemmas(turned: Floats, values: Floats, n_clusters: int) -> dict[str, float]:
    """Return the quantities that Lemmas 1 to 4 bound, for one R.

    Parameters
    ----------
    turned : ndarray (rank, t)
        V^T R, where V holds all right singular vectors of A.
    values : ndarray (rank,)
        Singular values of A.
    n_clusters : int
        k.

    Returns
    -------
    dict
        ``deviation`` is max |1 - sigma_i(V_k^T R)|, and ``inverse_gap`` is
        ||(V_k^T R)^+ - (V_k^T R)^T||_2. Divided by ||A - A_k||_F: ``tail`` is ||(A - A_k) R||_F,
        ``cross`` is ||(A - A_k) R R^T V_k||_F, and ``error`` is ||E||_F. Divided by ||A||_F:
        ``whole`` is ||A R||_F.

    Examples
    --------
    >>> found = measure_lemmas(np.eye(3), np.array([3.0, 2.0, 1.0]), 2)
    >>> found["deviation"], found["tail"], found["error"]
    (0.0, 1.0, 0.0)
    """
    return strictly(lambda: _measure_lemmas(turned, values, n_clusters))


def _measure_lemmas(turned: Floats, values: Floats, n_clusters: int) -> dict[str, float]:
    top = turned[:n_clusters]
    tail = values[n_clusters:, None] * turned[n_clusters:]
    rest = float(np.linalg.norm(values[n_clusters:]))
    decomposition: Any = scipy.linalg.svd(top, full_matrices=False)
    sigma = decomposition[1]
    # A pseudo-inverse leaves out singular values that are zero; a small sign matrix can have some.
    kept = sigma > np.finfo(np.float64).eps * max(top.shape) * sigma[0]
    inverse = np.divide(1.0, sigma, out=np.zeros_like(sigma), where=kept)
    # E = A_k - A R (V_k^T R)^+ V_k^T = -(A - A_k) R (V_k^T R)^+ V_k^T, as in Lemma 4's proof. What
    # singular values of zero lose of A_k is added; it is orthogonal to the rest.
    error = tail @ (decomposition[2].T * inverse)
    lost = values[:n_clusters, None] * decomposition[0][:, ~kept]
    return {
        "deviation": float(np.max(np.abs(1 - sigma))),
        "inverse_gap": float(np.max(np.abs(inverse - sigma))),
        "tail": float(np.linalg.norm(tail)) / rest,
        "whole": float(np.linalg.norm(values[:, None] * turned) / np.linalg.norm(values)),
        "cross": float(np.linalg.norm(tail @ top.T)) / rest,
        "error": float(np.hypot(np.linalg.norm(error), np.linalg.norm(lost))) / rest,
    }


def _measure_instances(key: int, sizes: Sizes, batch: range) -> list[dict[str, float]]:
    """Return F(A, X~) / F(A, X_opt) and gamma of two solvers on sketches of small instances."""
    found = []
    for index in batch:
        instance = draw_instance(key, index)
        rows, k = instance.rows, instance.n_clusters
        best = solve_exactly(rows, k).inertia
        for t in sizes.instance_dimensions:
            sketch = SignProjection(t, random_state=key + index).fit_transform(rows)
            optimal = solve_exactly(sketch, k)
            lloyd = SOLVERS["Lloyd from random rows"](sketch, k, key + index)
            found.append(
                {
                    "t": t,
                    "k": k,
                    "exact_ratio": inertia(rows, optimal.labels) / best,
                    "lloyd_ratio": inertia(rows, lloyd.labels) / best,
                    "lloyd_gamma": max(1.0, lloyd.inertia / optimal.inertia),
                }
            )
    return found


def _summarize(cases: Sequence[Case], sizes: Sizes, found: Mapping[str, Any]) -> dict[str, Any]:
    draws = []
    for case in cases:
        batches = [found[unit] for unit in found if unit.startswith(f"{case.name} from")]
        for k, ratio in _settings(case, sizes):
            setting = f"k={k} t/k={ratio}"
            values = {
                name: np.concatenate([batch[setting][name] for batch in batches])
                for name in batches[0][setting]
            }
            draws.append({"case": case.name, "k": k, "ratio": ratio, "values": values})
    instances = [record for unit in found if unit.startswith("instances") for record in found[unit]]
    return {
        "curves": [_describe_setting(one) for one in draws],
        "lemmas": judge_lemmas(draws),
        "theorem": judge_theorem(instances),
    }


def _describe_setting(setting: Mapping[str, Any]) -> dict[str, Any]:
    curve = {name: setting[name] for name in ("case", "k", "ratio")}
    for name, values in setting["values"].items():
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
        curve[name] = {"low": float(low), "median": float(middle), "high": float(high)}
    return curve

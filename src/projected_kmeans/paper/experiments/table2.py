"""Table 2: five methods on the face images at four dimensions, beside the paper's numbers.

Measures and compares; the view draws the table from the stored document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from projected_kmeans.paper.baselines.laplacian_score import LaplacianScore
from projected_kmeans.paper.baselines.locally_linear_features import LocallyLinearFeatures
from projected_kmeans.paper.baselines.svd_features import SVDFeatures
from projected_kmeans.paper.experiments.experiment import Experiment, Unit, split_batches
from projected_kmeans.paper.experiments.faces import (
    IMAGES_EACH,
    N_PEOPLE,
    Faces,
    Score,
    cluster_faces,
    cluster_projected,
)
from projected_kmeans.paper.experiments.published import (
    DIMENSIONS,
    REDUCTION_SECONDS,
    TABLE2,
    TIMED_DIMENSION,
)
from projected_kmeans.paper.experiments.timing import time_work
from projected_kmeans.projections.maps import SignProjection
from projected_kmeans.results import Floats

# The paper prints P and F to four digits.
DIGITS = 4


@dataclass(frozen=True)
class Sizes:
    """How much is measured: draws of RP at every t, draws of one unit, and repeats of a timing."""

    n_draws: int = 1000
    unit_draws: int = 50
    repeats: int = 5


FULL = Sizes()
QUICK = Sizes(n_draws=20, unit_draws=10, repeats=1)

# The methods that the paper compares with, with the choices that give its digits.
REDUCTIONS: Mapping[str, Callable[[int], Any]] = MappingProxyType(
    {
        "SVD": lambda t: SVDFeatures(t, scaled=False, algorithm="arpack", random_state=0),
        "LLE": lambda t: LocallyLinearFeatures(t, n_neighbors=40, indexing="paper"),
        "LS": lambda t: LaplacianScore(t, graph="2007"),
    }
)
# The same methods with the choices of textbooks or of today.
VARIANTS: Mapping[str, Callable[[int], Any]] = MappingProxyType(
    {
        "SVD with Sigma": lambda t: SVDFeatures(t),
        "LLE, textbook": lambda t: LocallyLinearFeatures(t, n_neighbors=40),
        "LS, today": lambda t: LaplacianScore(t),
    }
)


def plan_table2(faces: Faces, *, key: int = 0, sizes: Sizes = FULL) -> Experiment:
    """Return the experiment behind Table 2.

    Parameters
    ----------
    faces : Faces
        The images.
    key : int, default=0
        Draw i of RP uses the key ``key + i``.
    sizes : Sizes
        `FULL` or `QUICK`.
    """
    units = [
        Unit(f"{name} t={t}", partial(_measure_reduction, faces, make, t))
        for name, make in {**REDUCTIONS, **VARIANTS}.items()
        for t in DIMENSIONS
    ]
    units.append(Unit("HD", lambda: _as_record(cluster_faces(faces, faces.rows))))
    units += [
        Unit(f"RP t={t} from {keys[0]}", partial(_draw_projections, faces, t, keys))
        for t in DIMENSIONS
        for keys in _batch_keys(key, sizes)
    ]
    units += [
        Unit(f"seconds {name}", partial(_time_reduction, faces.rows, make, sizes.repeats))
        for name, make in {**REDUCTIONS, "RP": _sign_projection}.items()
    ]
    return Experiment(
        "table2",
        {
            "key": key,
            "sizes": asdict(sizes),
            "dimensions": list(DIMENSIONS),
            "data": faces.describe(),
        },
        units,
        partial(_summarize, faces.same_crop, key, sizes),
    )


def _sign_projection(n_components: int) -> SignProjection:
    return SignProjection(n_components, random_state=0)


def _batch_keys(key: int, sizes: Sizes) -> list[range]:
    """Return the keys of the draws of R, unit by unit."""
    return split_batches(range(key, key + sizes.n_draws), sizes.unit_draws)


def _measure_reduction(faces: Faces, make: Callable[[int], Any], t: int) -> dict[str, float]:
    return _as_record(cluster_faces(faces, make(t).fit_transform(faces.rows)))


def _as_record(score: Score) -> dict[str, float]:
    return {"P": score.accuracy, "F": score.normalized_inertia}


def _draw_projections(faces: Faces, t: int, keys: range) -> dict[str, list[float]]:
    scores = [cluster_projected(faces, t, key) for key in keys]
    return {
        "P": [score.accuracy for score in scores],
        "F": [score.normalized_inertia for score in scores],
    }


def _time_reduction(rows: Floats, make: Callable[[int], Any], repeats: int) -> float:
    return time_work(lambda: make(TIMED_DIMENSION).fit_transform(rows), repeats=repeats)


def _summarize(same_crop: bool, key: int, sizes: Sizes, found: Mapping[str, Any]) -> dict[str, Any]:
    rows = [
        _compare(name, t, found["HD" if name == "HD" else f"{name} t={t}"])
        for name in (*REDUCTIONS, "HD")
        for t in DIMENSIONS
    ]
    variants = [
        {"method": name, "t": t, **found[f"{name} t={t}"]} for name in VARIANTS for t in DIMENSIONS
    ]
    draws = {
        t: {
            measure: np.concatenate(
                [found[f"RP t={t} from {keys[0]}"][measure] for keys in _batch_keys(key, sizes)]
            )
            for measure in ("P", "F")
        }
        for t in DIMENSIONS
    }
    rows += [_compare_draws(t, draws[t]) for t in DIMENSIONS]
    return {
        "same_crop": same_crop,
        "rows": rows,
        "variants": variants,
        "matches": _count_matches(rows),
        "seconds": _compare_seconds(found),
        "draws": {str(t): {name: _round(draws[t][name]) for name in "PF"} for t in DIMENSIONS},
    }


def _compare(method: str, t: int, measured: Mapping[str, float]) -> dict[str, Any]:
    printed = TABLE2[method][t]
    return {
        "method": method,
        "t": t,
        **measured,
        "paper_P": printed.P,
        "paper_F": printed.F,
        "match_P": round(measured["P"], DIGITS) == printed.P,
        "match_F": round(measured["F"], DIGITS) == printed.F,
        "paper_P_possible": _is_share(printed.P, N_PEOPLE * IMAGES_EACH),
    }


def _is_share(value: float, n_rows: int) -> bool:
    """Return whether a value of four digits is a whole number of rows divided by all rows."""
    return round(round(value * n_rows) / n_rows, DIGITS) == value


def _compare_draws(t: int, draws: Mapping[str, Floats]) -> dict[str, Any]:
    """Return medians as P and F, the spread of the draws, and the quantile of the paper's draw."""
    printed = TABLE2["RP"][t]
    record: dict[str, Any] = {"method": "RP", "t": t, "n_draws": len(draws["P"])}
    for name, value in (("P", printed.P), ("F", printed.F)):
        low, middle, high = np.quantile(draws[name], [0.05, 0.5, 0.95])
        rounded = draws[name].round(DIGITS)
        record |= {
            name: float(middle),
            f"{name}_low": float(low),
            f"{name}_high": float(high),
            f"paper_{name}": value,
            # Draws equal to the paper's in its four digits count half below it and half above.
            f"paper_{name}_quantile": float(
                np.mean(rounded < value) + np.mean(rounded == value) / 2
            ),
        }
    return record


def _count_matches(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Count the printed values that match to four digits; HD, printed four times, counts once."""
    counted = [row for row in rows if row["method"] in REDUCTIONS]
    counted.append(next(row for row in rows if row["method"] == "HD"))
    return {
        "matching": sum(row["match_P"] + row["match_F"] for row in counted),
        "total": 2 * len(counted),
    }


def _compare_seconds(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    seconds = {name: found[f"seconds {name}"] for name in (*REDUCTIONS, "RP")} | {"HD": 0.0}
    return [
        {
            "method": name,
            "seconds": seconds[name],
            "ratio_to_RP": seconds[name] / seconds["RP"],
            "paper_seconds": paper,
            "paper_ratio_to_RP": paper / REDUCTION_SECONDS["RP"],
        }
        for name, paper in REDUCTION_SECONDS.items()
    ]


def _round(values: Floats) -> list[float]:
    return [float(f"{value:.6g}") for value in values]

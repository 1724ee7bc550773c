"""Table 2: five methods on the face images at four dimensions, beside the paper's numbers.

`cluster_faces` and `cluster_projected` run the paper's k-means. Figure 1 uses them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.paper.baselines import LaplacianScore, LocallyLinearFeatures, SVDFeatures
from projected_kmeans.paper.charts import Chart, Panel, Series, draw_series
from projected_kmeans.paper.data_sets import IMAGES_EACH, N_PEOPLE, Faces
from projected_kmeans.paper.experiment import (
    Document,
    Exhibit,
    Experiment,
    Unit,
    measure_band,
    split_batches,
    time_work,
)
from projected_kmeans.paper.tables import Record, Table, group_by, tabulate
from projected_kmeans.passes.scoring import clustering_accuracy, normalized_inertia
from projected_kmeans.projections.maps import SignProjection
from projected_kmeans.results import Floats

DIMENSIONS = (10, 20, 50, 100)
METHODS = ("SVD", "LLE", "LS", "HD", "RP")
# The paper prints P and F to four digits.
DIGITS = 4
# Table 2 as the paper prints it: P and F of each method by t.
TABLE2: Mapping[str, Mapping[int, tuple[float, float]]] = MappingProxyType(
    {
        "SVD": {
            10: (0.5900, 0.0262),
            20: (0.6750, 0.0268),
            50: (0.7650, 0.0269),
            100: (0.6500, 0.0324),
        },
        "LLE": {
            10: (0.6500, 0.0245),
            20: (0.7125, 0.0247),
            50: (0.7725, 0.0258),
            100: (0.6150, 0.0337),
        },
        "LS": {
            10: (0.3400, 0.0380),
            20: (0.3875, 0.0362),
            50: (0.4575, 0.0319),
            100: (0.4850, 0.0278),
        },
        "HD": dict.fromkeys(DIMENSIONS, (0.6255, 0.0220)),
        "RP": {
            10: (0.4225, 0.0283),
            20: (0.4800, 0.0255),
            50: (0.6425, 0.0234),
            100: (0.6575, 0.0219),
        },
    }
)
# The t at which the paper timed the reduction step, and its seconds.
TIMED_DIMENSION = 50
REDUCTION_SECONDS: Mapping[str, float] = MappingProxyType(
    {"SVD": 5.9, "LLE": 4.4, "LS": 0.32, "HD": 0.0, "RP": 0.03}
)
# The paper: "the maximum number of repetitions setting to 30".
MAX_ITER = 30

Make = Callable[[int], Any]

# The methods that the paper compares with, with the choices that give its digits.
REDUCTIONS: Mapping[str, Make] = MappingProxyType(
    {
        "SVD": lambda t: SVDFeatures(t, scaled=False, algorithm="arpack", random_state=0),
        "LLE": lambda t: LocallyLinearFeatures(t, n_neighbors=40, indexing="paper"),
        "LS": lambda t: LaplacianScore(t, graph="2007"),
    }
)
# The same methods with the choices of textbooks or of today.
VARIANTS: Mapping[str, Make] = MappingProxyType(
    {
        "SVD with Sigma": lambda t: SVDFeatures(t),
        "LLE, textbook": lambda t: LocallyLinearFeatures(t, n_neighbors=40),
        "LS, today": lambda t: LaplacianScore(t),
    }
)


def score_fit(
    rows: Any,
    classes: ArrayLike,
    model: ProjectedKMeans,
    steps: Sequence[str] = ("seed", "cluster"),
) -> dict[str, float]:
    """Return P and F of a fit on the original rows, and the seconds of its two steps."""
    return {
        "P": clustering_accuracy(classes, model.labels_),
        "F": normalized_inertia(rows, model.labels_),
        "reduce_seconds": model.timings_.get("reduce", 0.0),
        "cluster_seconds": sum(model.timings_.get(step, 0.0) for step in steps),
    }


def cluster_faces(faces: Faces, sketch: ArrayLike) -> dict[str, float]:
    """Cluster images, reduced or not, as the paper does, and score the partition.

    MatLab's two phases start from the 1st, 11th, ..., 391st row and have 30 iterations together.
    """
    return score_fit(faces.rows, faces.people, _paper_kmeans(projection=None).fit(sketch))


def cluster_projected(faces: Faces, n_components: int, key: int) -> dict[str, float]:
    """Run Algorithm 1 on the images with the paper's k-means and score the partition."""
    model = _paper_kmeans(
        projection="sign", n_components=n_components, polish_iter=0, random_state=key
    )
    return score_fit(faces.rows, faces.people, model.fit(faces.rows))


def _paper_kmeans(**parameters: Any) -> ProjectedKMeans:
    first_images = np.arange(0, N_PEOPLE * IMAGES_EACH, IMAGES_EACH)
    return ProjectedKMeans(
        N_PEOPLE, init=first_images, solver="hartigan", max_iter=MAX_ITER, **parameters
    )


@dataclass(frozen=True)
class Sizes:
    """How much is measured: draws of RP at every t, draws of one unit, and repeats of a timing."""

    n_draws: int = 1000
    unit_draws: int = 50
    repeats: int = 5


FULL = Sizes()
QUICK = Sizes(n_draws=20, unit_draws=10, repeats=1)


def plan_table2(faces: Faces, *, key: int = 0, sizes: Sizes = FULL) -> Experiment:
    """Return the experiment behind Table 2. Draw i of RP uses the key ``key + i``."""
    units = [
        Unit(f"{name} t={t}", partial(_measure_reduction, faces, make, t))
        for name, make in {**REDUCTIONS, **VARIANTS}.items()
        for t in DIMENSIONS
    ]
    units.append(Unit("HD", lambda: _keep_quality(cluster_faces(faces, faces.rows))))
    units += [
        Unit(f"RP t={t} from {keys[0]}", partial(_draw_projections, faces, t, keys))
        for t in DIMENSIONS
        for keys in _batch_keys(key, sizes)
    ]
    timed = {**REDUCTIONS, "RP": lambda t: SignProjection(t, random_state=0)}
    units += [
        Unit(f"seconds {name}", partial(_time_reduction, faces.rows, make, sizes.repeats))
        for name, make in timed.items()
    ]
    parameters = {
        "key": key,
        "sizes": asdict(sizes),
        "dimensions": list(DIMENSIONS),
        "data": faces.describe(),
    }
    summarize = partial(_summarize, faces.same_crop, key, sizes)
    return Experiment("table2", parameters, units, summarize)


def _batch_keys(key: int, sizes: Sizes) -> list[range]:
    """Return the keys of the draws of R, unit by unit."""
    return split_batches(range(key, key + sizes.n_draws), sizes.unit_draws)


def _measure_reduction(faces: Faces, make: Make, t: int) -> dict[str, float]:
    return _keep_quality(cluster_faces(faces, make(t).fit_transform(faces.rows)))


def _keep_quality(score: Mapping[str, float]) -> dict[str, float]:
    """Return P and F, because the seconds of a reduction are measured apart."""
    return {name: score[name] for name in "PF"}


def _draw_projections(faces: Faces, t: int, keys: range) -> dict[str, list[float]]:
    scores = [cluster_projected(faces, t, key) for key in keys]
    return {name: [score[name] for score in scores] for name in "PF"}


def _time_reduction(rows: Floats, make: Make, repeats: int) -> float:
    return time_work(lambda: make(TIMED_DIMENSION).fit_transform(rows), repeats=repeats)


def _summarize(
    same_crop: bool, key: int, sizes: Sizes, measured: Mapping[str, Any]
) -> dict[str, Any]:
    rows = [
        _compare(name, t, measured["HD" if name == "HD" else f"{name} t={t}"])
        for name in (*REDUCTIONS, "HD")
        for t in DIMENSIONS
    ]
    draws = {
        t: {
            name: np.concatenate(
                [measured[f"RP t={t} from {keys[0]}"][name] for keys in _batch_keys(key, sizes)]
            )
            for name in "PF"
        }
        for t in DIMENSIONS
    }
    rows += [_compare_draws(t, draws[t]) for t in DIMENSIONS]
    return {
        "same_crop": same_crop,
        "rows": rows,
        "variants": [
            {"method": name, "t": t, **measured[f"{name} t={t}"]}
            for name in VARIANTS
            for t in DIMENSIONS
        ],
        "matches": _count_matches(rows),
        "seconds": _compare_seconds(measured),
        "draws": {
            str(t): {name: [float(f"{value:.6g}") for value in draws[t][name]] for name in "PF"}
            for t in DIMENSIONS
        },
    }


def _compare(method: str, t: int, measured: Mapping[str, float]) -> dict[str, Any]:
    paper_P, paper_F = TABLE2[method][t]
    return {
        "method": method,
        "t": t,
        **measured,
        "paper_P": paper_P,
        "paper_F": paper_F,
        "match_P": round(measured["P"], DIGITS) == paper_P,
        "match_F": round(measured["F"], DIGITS) == paper_F,
        "paper_P_possible": _is_share(paper_P, N_PEOPLE * IMAGES_EACH),
    }


def _is_share(value: float, n_rows: int) -> bool:
    """Return whether a value of four digits is a whole number of rows divided by all rows."""
    return round(round(value * n_rows) / n_rows, DIGITS) == value


def _compare_draws(t: int, draws: Mapping[str, Floats]) -> dict[str, Any]:
    """Return medians as P and F, the spread of the draws, and the quantile of the paper's draw."""
    record: dict[str, Any] = {"method": "RP", "t": t, "n_draws": len(draws["P"])}
    for name, printed in zip("PF", TABLE2["RP"][t], strict=True):
        low, median, high = measure_band(draws[name])
        rounded = draws[name].round(DIGITS)
        record |= {
            name: float(median),
            f"{name}_low": float(low),
            f"{name}_high": float(high),
            f"paper_{name}": printed,
            # Draws equal to the paper's in its four digits count half below it and half above.
            f"paper_{name}_quantile": float(
                np.mean(rounded < printed) + np.mean(rounded == printed) / 2
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


def _compare_seconds(measured: Mapping[str, Any]) -> list[dict[str, Any]]:
    seconds = {name: measured[f"seconds {name}"] for name in (*REDUCTIONS, "RP")} | {"HD": 0.0}
    return [
        {
            "method": name,
            "seconds": seconds[name],
            "ratio_to_RP": seconds[name] / seconds["RP"],
            "paper_seconds": printed,
            "paper_ratio_to_RP": printed / REDUCTION_SECONDS["RP"],
        }
        for name, printed in REDUCTION_SECONDS.items()
    ]


def _tabulate(document: Document) -> list[Table]:
    results = document["results"]
    drawn = [row for row in results["rows"] if row["method"] == "RP"]
    draw_columns = (
        ("t", "{t}"),
        ("P 5 / 50 / 95 %", "{P_low:.4f} / {P:.4f} / {P_high:.4f}"),
        ("paper's P", "{paper_P:.4f}"),
        ("its quantile", "{paper_P_quantile:.3f}"),
        ("F 5 / 50 / 95 %", "{F_low:.5f} / {F:.5f} / {F_high:.5f}"),
        ("paper's F", "{paper_F:.4f}"),
        ("its quantile", "{paper_F_quantile:.3f}"),
    )
    second_columns = (
        ("method", "{method}"),
        ("seconds", "{seconds:.4f}"),
        ("over RP", "{ratio_to_RP:.1f}"),
        ("paper's seconds", "{paper_seconds:g}"),
        ("over RP there", "{paper_ratio_to_RP:.1f}"),
    )
    title = f"The reduction step at t = {TIMED_DIMENSION}"
    return [
        _tabulate_values(results["rows"], document["parameters"]["data"]["shape"][0]),
        tabulate("draws", f"RP over {drawn[0]['n_draws']} draws of R", drawn, draw_columns),
        tabulate("seconds", title, results["seconds"], second_columns),
        _tabulate_variants(results["variants"]),
    ]


def _tabulate_values(records: Sequence[Record], n_rows: int) -> Table:
    by_method = group_by(records, itemgetter("method"))
    rows = tuple(
        cells
        for method, entries in by_method.items()
        for cells in (
            (method, "measured", *map("{P:.4f} {F:.4f}".format_map, entries)),
            ("", "paper", *map(_show_printed, entries)),
        )
    )
    header = ("", "", *map("t = {t}: P F".format_map, by_method["SVD"]))
    title = (
        "P and F, measured and printed; RP is the median of the draws; = matches to four digits, "
        f"! is not a multiple of 1/{n_rows}"
    )
    return Table("values", title, header, rows)


def _show_printed(row: Record) -> str:
    if "match_P" not in row:
        return f"{row['paper_P']:.4f} {row['paper_F']:.4f}"
    marks = ["=" if row[f"match_{name}"] else "" for name in "PF"]
    if not row["paper_P_possible"]:
        marks[0] = "!"
    return f"{row['paper_P']:.4f}{marks[0]} {row['paper_F']:.4f}{marks[1]}"


def _tabulate_variants(variants: Sequence[Record]) -> Table:
    header = ("", *(f"t = {t}: P F" for t in sorted({row["t"] for row in variants})))
    rows = tuple(
        (method, *map("{P:.4f} {F:.4f}".format_map, entries))
        for method, entries in group_by(variants, itemgetter("method")).items()
    )
    return Table("variants", "The same methods with other choices", header, rows)


def _conclude(document: Document) -> list[str]:
    results, data = document["results"], document["parameters"]["data"]
    if not results["same_crop"]:
        return [
            f"The data is {data['name']}, the paper's people in another crop, so that trends can "
            "be compared but not digits"
        ]
    sentences = []
    high = next(row for row in results["rows"] if row["method"] == "HD")
    if not high["paper_P_possible"]:
        sentences.append(
            f"P of HD is {high['P']:.4f}; the paper prints {high['paper_P']:.4f}, which is not "
            f"a number of images divided by {data['shape'][0]}: a misprint."
        )
    summary = "{matching} of {total} deterministic values match the paper"
    return [*sentences, summary.format_map(results["matches"])]


def _chart(document: Document) -> list[Chart]:
    by_method = group_by(document["results"]["rows"], itemgetter("method"))
    dimensions = [row["t"] for row in by_method["RP"]]
    panels = []
    for name, title in (("P", "accuracy P"), ("F", "normalized inertia F")):
        fixed = [method for method in METHODS if method != "RP"]
        series = [draw_series(method, by_method[method], "t", name) for method in fixed]
        band = (f"{name}_low", f"{name}_high")
        series.append(draw_series("RP, median and 90 % band", by_method["RP"], "t", name, *band))
        paper = [row[f"paper_{name}"] for row in by_method["RP"]]
        series.append(Series("RP, the paper's draw", dimensions, paper, style="x"))
        panels.append(Panel(title, "t", name, tuple(series), log_x=True))
    return [Chart("table2", tuple(panels))]


EXHIBIT = Exhibit(
    "table2",
    "Table 2: five methods on the face images",
    "400 images of 40 people are reduced to t dimensions, clustered by MatLab's two phases from "
    "the 1st, 11th, ..., 391st image in at most 30 iterations, and scored on the original pixels. "
    "The paper's digits come out with U_t without Sigma (SVD), Roweis' code with 40 neighbours and "
    "the constant eigenvector kept (LLE), and the constructW of May 2007 (LS).",
    plan_table2,
    FULL,
    QUICK,
    _tabulate,
    _conclude,
    _chart,
)

"""Section 5.2: four ways to multiply by the sign matrix, timed for 1 to 10,000 rows.

All products return A R with R = signs / sqrt(t) of the same key, in the precision that rows of this
type are computed in. For other purposes use `SignProjection`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import multiply_rows, one_blas_thread, strictly
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.keys import draw_signs, open_stream
from projected_kmeans.paper.charts import Chart, Panel, Series
from projected_kmeans.paper.experiment import (
    TIMED_STREAM,
    Document,
    Exhibit,
    Experiment,
    Unit,
    time_work,
)
from projected_kmeans.paper.tables import MEASURED, STATEMENT, VERDICT, Table, tabulate
from projected_kmeans.results import Floats


def multiply_blas(
    rows: NDArray[Any], key: int, n_components: int, n_threads: int = 1
) -> NDArray[Any]:
    """Multiply by R in memory with BLAS: the paper's MM1."""
    dtype = compute_type(rows.dtype)
    matrix = make_sign_matrix(rows.shape[1], key, n_components, dtype)
    return multiply_rows(rows.astype(dtype, copy=False), matrix, n_threads)


def make_sign_matrix(
    n_features: int, key: int, n_components: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Return R in memory: d x t entries +1/sqrt(t) and -1/sqrt(t)."""
    signs = draw_signs(key, (n_features, n_components)).astype(dtype)
    signs *= dtype.type(1.0 / math.sqrt(n_components))
    return signs


def _run_kernel(
    kernel: Callable[..., None],
    rows: NDArray[Any],
    key: int,
    n_components: int,
    n_threads: int = 1,
) -> NDArray[Any]:
    out = np.empty((len(rows), n_components), dtype=compute_type(rows.dtype))
    kernel(rows, key, 1.0 / math.sqrt(n_components), out, n_threads)
    return out


MM1, ON_THE_FLY, MAILMAN, LOOK_UP = "MM1", "MM2", "mailman", "look-up"
# The four products. MM2 goes column by column, and never stores R. The mailman algorithm (Liberty,
# Zucker 2009) goes row by row: a block of w = floor(log2 d) columns of R is the transpose of U P.
# The columns of U are all 2^w sign vectors, and P has a single one in each column: it sends each
# coordinate of x to the sign vector of its row of the block. P x adds up coordinates, and U z folds
# z in half w times. The look-up product does this in tables for many rows at a time, as
# `SignProjection` does.
SIGN_PRODUCTS: Mapping[str, Callable[..., NDArray[Any]]] = MappingProxyType(
    {
        MM1: multiply_blas,
        ON_THE_FLY: partial(_run_kernel, _native.on_the_fly_product),
        MAILMAN: partial(_run_kernel, _native.mailman_product),
        LOOK_UP: partial(_run_kernel, _native.sign_product),
    }
)

# MM1 is timed in two ways. The paper: "we do not need to explicitly store the whole matrix R"; only
# MM1 does.
AT_HAND, DRAWN = f"{MM1}, R at hand", f"{MM1}, R drawn"
NAMES = (AT_HAND, DRAWN, ON_THE_FLY, MAILMAN, LOOK_UP)
# The paper: "inferior to both (MM1) and (MM2) for any 10 <= n <= 10,000".
MANY_ROWS = 10


@dataclass(frozen=True)
class Sizes:
    """What is timed: the numbers of rows, d, t, and how often.

    The names of the fields are stored with the results, so that a new name would measure again.
    """

    n: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)
    d: int = 4096
    t: int = 100
    least_seconds: float = 0.1
    repeats: int = 3


FULL = Sizes()
QUICK = Sizes(n=(1, 10, 100, 300), d=1024, t=40, least_seconds=0.01)


def plan_mailman(faces: object = None, *, key: int = 0, sizes: Sizes = FULL) -> Experiment:
    """Return the experiment behind section 5.2, on one thread and in float64, as in MatLab.

    It needs no data; like all experiments it is offered the face images.
    """
    units = [Unit("agreement", partial(_measure_agreement, key, sizes))]
    units += [
        Unit(f"{name} n={n}", partial(_time_product, name, n, key, sizes))
        for n in sizes.n
        for name in NAMES
    ]
    parameters = {"key": key, "sizes": asdict(sizes), "n_threads": 1, "dtype": "float64"}
    return Experiment("mailman", parameters, units, partial(_summarize, sizes))


@lru_cache(maxsize=1)
def _draw_rows(key: int, n: int, d: int) -> Floats:
    return open_stream(key, TIMED_STREAM).normal(size=(n, d))


def _draw_matrix(key: int, sizes: Sizes) -> Floats:
    return make_sign_matrix(sizes.d, key, sizes.t, np.dtype(np.float64))


def _measure_agreement(key: int, sizes: Sizes) -> dict[str, float]:
    """Return the maximum error of every product, divided by the largest entry of A R."""
    rows = _draw_rows(key, 20, sizes.d)
    wanted = strictly(lambda: rows @ _draw_matrix(key, sizes))
    return {
        name: float(np.max(np.abs(multiply(rows, key, sizes.t) - wanted)) / np.max(np.abs(wanted)))
        for name, multiply in SIGN_PRODUCTS.items()
    }


def _time_product(name: str, n: int, key: int, sizes: Sizes) -> float:
    """Return the seconds of one product on one thread."""
    rows = _draw_rows(key, n, sizes.d)
    matrix = _draw_matrix(key, sizes)

    def work() -> object:
        if name == AT_HAND:
            return rows @ matrix
        if name == DRAWN:
            return rows @ _draw_matrix(key, sizes)
        return SIGN_PRODUCTS[name](rows, key, sizes.t, n_threads=1)

    with one_blas_thread():  # set before the clock starts
        return time_work(work, min_seconds=sizes.least_seconds, repeats=sizes.repeats)


def _summarize(sizes: Sizes, measured: Mapping[str, Any]) -> dict[str, Any]:
    seconds = {name: [measured[f"{name} n={n}"] for n in sizes.n] for name in NAMES}
    arrays = {name: np.array(values) for name, values in seconds.items()}
    return {
        "n": list(sizes.n),
        "d": sizes.d,
        "t": sizes.t,
        "seconds": seconds,
        "agreement": measured["agreement"],
        "statements": _judge(arrays, np.array(sizes.n)),
    }


def _judge(seconds: Mapping[str, Floats], n: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Judge the paper's findings. Those on MM1 are judged twice: R is drawn, or it is at hand."""
    vector, many = int(np.flatnonzero(n == 1)[0]), n >= MANY_ROWS
    mm1 = (DRAWN, AT_HAND)
    pairs = [(MAILMAN, slow) for slow in (*mm1, ON_THE_FLY)] + [(ON_THE_FLY, slow) for slow in mm1]
    statements = []
    for fast, slow in pairs:
        ratio = float(seconds[slow][vector] / seconds[fast][vector])
        sentence = f"for a vector (n = 1) {fast} is faster than {slow}"
        statements.append(_state(sentence, f"{ratio:.2f} times as fast", ratio > 1))
    for rival in (*mm1, ON_THE_FLY):
        ratios = seconds[MAILMAN][many] / seconds[rival][many]
        statements.append(
            _state(
                f"{MAILMAN} is inferior to {rival} for every n from {MANY_ROWS} on",
                f"{ratios.min():.2f} to {ratios.max():.2f} times its seconds; inferior at "
                f"{np.sum(ratios > 1)} of {len(ratios)} n",
                bool(np.all(ratios > 1)),
            )
        )
    others = np.min([seconds[name] for name in NAMES if name != LOOK_UP], axis=0)
    gains = others[many] / seconds[LOOK_UP][many]
    statements.append(
        _state(
            f"overturned: {LOOK_UP} is faster than all others for every n from {MANY_ROWS} on",
            f"seconds of the best other over its own: {gains.min():.2f} to {gains.max():.2f}",
            bool(np.all(gains > 1)),
        )
    )
    return statements


def _state(statement: str, measured: str, holds: bool) -> dict[str, Any]:
    return {"statement": statement, "measured": measured, "holds": holds}


def _tabulate(document: Document) -> list[Table]:
    results = document["results"]
    rows = tuple(
        (str(n), *(f"{seconds[at]:.2e}" for seconds in results["seconds"].values()))
        for at, n in enumerate(results["n"])
    )
    title = f"Seconds of A R, d = {results['d']}, t = {results['t']}, one thread, float64"
    return [
        Table("seconds", title, ("n", *results["seconds"]), rows),
        tabulate(
            "statements",
            "What the paper found, and what the look-up product changes",
            results["statements"],
            (STATEMENT, MEASURED, VERDICT),
        ),
    ]


def _conclude(document: Document) -> list[str]:
    results = document["results"]
    worst = max(results["agreement"].values())
    statements = results["statements"]
    n_held = sum(statement["holds"] for statement in statements)
    return [
        f"All four products of the same R agree to {worst:.0e} of the largest entry.",
        "MM1 is timed in two ways: with the time to draw R, which the other products must do, and "
        "with R already in memory (at hand), as in MatLab's times(A, R). The paper does not say "
        "which one it timed, so that its findings are judged for both.",
        f"{n_held} of {len(statements)} statements about the mailman algorithm hold",
    ]


def _chart(document: Document) -> list[Chart]:
    results = document["results"]
    whole, per_row = [], []
    for name, seconds in results["seconds"].items():
        style = "o--" if name.startswith("MM") else "o-"
        whole.append(Series(name, results["n"], seconds, style=style))
        shares = [second / n for second, n in zip(seconds, results["n"], strict=True)]
        per_row.append(Series(name, results["n"], shares, style=style))
    title = f"A R, d = {results['d']}, t = {results['t']}"
    panels = (
        Panel(title, "n", "seconds", tuple(whole), log_x=True, log_y=True),
        Panel(f"{title}, by row", "n", "seconds a row", tuple(per_row), log_x=True, log_y=True),
    )
    return [Chart("mailman", panels)]


EXHIBIT = Exhibit(
    "mailman",
    "Section 5.2: the mailman algorithm",
    "Four ways to compute A R for the same R: a BLAS product with R in memory (MM1), R regenerated "
    "column by column (MM2), the mailman algorithm of Liberty and Zucker as published, and the "
    "look-up product of this library, which uses the same idea for many rows at a time.",
    plan_mailman,
    FULL,
    QUICK,
    _tabulate,
    _conclude,
    _chart,
)

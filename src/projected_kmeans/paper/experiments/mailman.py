"""Section 5.2: four ways to multiply by the sign matrix, timed for 1 to 10,000 rows.

Times the products of `paper.baselines.sign_products` and judges what the paper found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blas_threads import one_blas_thread, strictly
from projected_kmeans.keys import open_stream
from projected_kmeans.paper.baselines.sign_products import (
    SIGN_PRODUCTS,
    make_sign_matrix,
    multiply_look_up,
    multiply_mailman,
    multiply_on_the_fly,
)
from projected_kmeans.paper.experiments.experiment import Experiment, Unit
from projected_kmeans.paper.experiments.timing import time_work
from projected_kmeans.paper.streams import TIMED_ROWS
from projected_kmeans.results import Floats

AT_HAND = "MM1, R at hand"
DRAWN = "MM1, R drawn"
ON_THE_FLY = "MM2"
MAILMAN = "mailman"
LOOK_UP = "look-up"
NAMES = (AT_HAND, DRAWN, ON_THE_FLY, MAILMAN, LOOK_UP)
# The paper: "we do not need to explicitly store the whole matrix R"; only MM1 does.
NATIVE: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {ON_THE_FLY: multiply_on_the_fly, MAILMAN: multiply_mailman, LOOK_UP: multiply_look_up}
)
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


def plan_mailman(*, key: int = 0, sizes: Sizes = FULL) -> Experiment:
    """Return the experiment behind section 5.2, on one thread and in float64, as in MatLab.

    Parameters
    ----------
    key : int, default=0
        Fixes R and the rows.
    sizes : Sizes
        `FULL` or `QUICK`.
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
    return open_stream(key, TIMED_ROWS).normal(size=(n, d))


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
        return NATIVE[name](rows, key, sizes.t, n_threads=1)

    with one_blas_thread():  # set before the clock starts
        return time_work(work, min_seconds=sizes.least_seconds, repeats=sizes.repeats)


def _summarize(sizes: Sizes, found: Mapping[str, Any]) -> dict[str, Any]:
    seconds = {name: [found[f"{name} n={n}"] for n in sizes.n] for name in NAMES}
    return {
        "n": list(sizes.n),
        "d": sizes.d,
        "t": sizes.t,
        "seconds": seconds,
        "agreement": found["agreement"],
        "statements": _judge({name: np.array(values) for name, values in seconds.items()}, sizes),
    }


def _judge(seconds: Mapping[str, Floats], sizes: Sizes) -> list[dict[str, Any]]:
    """Judge the paper's findings. Those on MM1 are judged twice: R is drawn, or it is at hand."""
    n = np.array(sizes.n)
    one = int(np.flatnonzero(n == 1)[0])
    mm1 = (DRAWN, AT_HAND)
    return [
        *(_judge_vector(seconds, one, MAILMAN, slow) for slow in (*mm1, ON_THE_FLY)),
        *(_judge_vector(seconds, one, ON_THE_FLY, slow) for slow in mm1),
        *(_judge_inferior(seconds, n, rival) for rival in (*mm1, ON_THE_FLY)),
        _judge_look_up(seconds, n),
    ]


def _judge_vector(seconds: Mapping[str, Floats], one: int, fast: str, slow: str) -> dict[str, Any]:
    ratio = float(seconds[slow][one] / seconds[fast][one])
    return _state(
        f"for a vector (n = 1) {fast} is faster than {slow}",
        f"{ratio:.2f} times as fast",
        ratio > 1,
    )


def _judge_inferior(
    seconds: Mapping[str, Floats], n: NDArray[np.int64], rival: str
) -> dict[str, Any]:
    many = n >= MANY_ROWS
    ratios = seconds[MAILMAN][many] / seconds[rival][many]
    return _state(
        f"{MAILMAN} is inferior to {rival} for every n from {MANY_ROWS} on",
        f"{ratios.min():.2f} to {ratios.max():.2f} times its seconds; inferior at "
        f"{np.sum(ratios > 1)} of {len(ratios)} n",
        bool(np.all(ratios > 1)),
    )


def _judge_look_up(seconds: Mapping[str, Floats], n: NDArray[np.int64]) -> dict[str, Any]:
    many = n >= MANY_ROWS
    others = np.min([seconds[name] for name in NAMES if name != LOOK_UP], axis=0)
    gains = others[many] / seconds[LOOK_UP][many]
    return _state(
        f"overturned: {LOOK_UP} is faster than all others for every n from {MANY_ROWS} on",
        f"seconds of the best other over its own: {gains.min():.2f} to {gains.max():.2f}",
        bool(np.all(gains > 1)),
    )


def _state(statement: str, measured: str, holds: bool) -> dict[str, Any]:
    return {"statement": statement, "measured": measured, "holds": holds}

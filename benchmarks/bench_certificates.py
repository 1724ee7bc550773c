"""Measure how near to 1 certificates come, and what they cost, on real data.

Run ``python benchmarks/bench_certificates.py [--quick] [--only NAME ...]``; it writes
results/certificates.json. Seconds are processor seconds of one core: each proof runs in a process
of its own on one thread. The clustering is that of the default fit, and its time is not counted.
The bounds that ``certificate="auto"`` takes are measured beside it.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
import scipy.io
from data_sets import NoData, Rows, find_file
from measuring import describe_machine, store_results
from sketches import DIGITS, shift_digits
from sklearn import datasets

from projected_kmeans import Certificate, ProjectedKMeans, certify, kmeans_lower_bound


@dataclass(frozen=True)
class Case:
    """One proof, and what is expected of it.

    Attributes
    ----------
    rows : str
        The rows, a name of `SOURCES`.
    n_clusters : int
        k.
    goal_ratio, goal_seconds : float or None
        The ratio and the processor seconds that the proof should not exceed.
    """

    rows: str
    n_clusters: int
    goal_ratio: float | None = None
    goal_seconds: float | None = None


def read_instance(name: str) -> Rows:
    """Return one of the classic instances of exact clustering."""
    return np.load(find_file("small_instances.npz"))[name].astype(np.float64)


def read_faces() -> Rows:
    """Return the paper's faces."""
    return scipy.io.loadmat(find_file("ORL_64x64.mat"))["fea"].astype(np.float32)


def read_digits() -> Rows:
    """Return the 10,000 digits of MNIST."""
    return np.load(find_file(DIGITS))["x"].astype(np.float32)


SOURCES: Mapping[str, Callable[[], Rows]] = {
    "iris": lambda: datasets.load_iris().data,
    "wine": lambda: datasets.load_wine().data,
    "breast cancer": lambda: datasets.load_breast_cancer().data,
    "load_digits": lambda: datasets.load_digits().data,
    **{
        name: lambda name=name: read_instance(name)  # type: ignore[misc]
        for name in (
            "seeds", "ruspini", "accent", "real_estate", "ECG5000", "abalone",
            "vehicle_silhouettes",
        )
    },
    "ORL": read_faces,
    "MNIST 10k": read_digits,
    "60,000 shifted digits": lambda: shift_digits(find_file(DIGITS), 6, 10_000),
}  # fmt: skip

CLASSICS = {
    "iris": (3,), "wine": (2, 3, 7), "seeds": (3,), "ruspini": (4,), "accent": (2,),
    "real_estate": (3,), "ECG5000": (2,),
}  # fmt: skip

CASES = (
    *(Case(name, k, 1.0001, 5.0) for name, counts in CLASSICS.items() for k in counts),
    Case("breast cancer", 2, 1.0001, 10.0),
    Case("ORL", 40, 1.008, 15.0),
    Case("load_digits", 10, 1.03, 2.0),
    Case("MNIST 10k", 10, 1.033, 10.0),
    Case("60,000 shifted digits", 10, 1.035, 70.0),
    *(Case("vehicle_silhouettes", k) for k in range(2, 11)),
    *(Case("abalone", k) for k in range(2, 11)),
)

QUICK = ("iris", "ruspini")


def measure(case: Case) -> dict[str, Any]:
    """Return what the proof of one case reached, and what it took."""
    rows = SOURCES[case.rows]()
    model = ProjectedKMeans(case.n_clusters, random_state=0, n_threads=1)
    labels = model.fit_predict(rows)
    others = certify(rows, labels, random_state=0)
    start = time.process_time()
    bound = kmeans_lower_bound(
        rows, case.n_clusters, method="semidefinite", labels=labels, random_state=0
    )
    seconds = time.process_time() - start
    found = Certificate.of(others.inertia, others.inertia_error, bound)
    return {
        **asdict(case),
        "shape": list(rows.shape),
        "inertia": found.inertia,
        "ratio": found.ratio,
        "bound_by": found.method,
        "certain": found.certain,
        "part_rows": bound.part_rows,
        "deal_ratio": bound.deal_ratio,
        "seconds": seconds,
        "other_ratio": others.ratio,
        "other_seconds": others.seconds,
        "other_is_certain": others.certain,
    }


def measure_all(cases: tuple[Case, ...]) -> list[dict[str, Any]]:
    """Measure cases one after another, each in a new process on one thread; print each."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    found = []
    for case in cases:
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                row = pool.submit(measure, case).result()
        except NoData as error:
            print(f"{case.rows} is left out: {error}", flush=True)
            continue
        found.append(row)
        sure = "certain" if row["certain"] else "probable"
        print(
            f"{case.rows}, k = {case.n_clusters}: {row['ratio']:.5f} ({sure}, "
            f"{row['bound_by']}) in {row['seconds']:.1f} s",
            flush=True,
        )
    return found


def main() -> None:
    """Measure, and store the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two small cases; stores nothing")
    parser.add_argument("--only", nargs="+", help="names of rows; stores nothing")
    given = parser.parse_args()
    names = given.only or (QUICK if given.quick else SOURCES)
    rows = measure_all(tuple(case for case in CASES if case.rows in names))
    if not given.quick and not given.only:
        print(store_results("certificates", {"machine": describe_machine(1), "cases": rows}))


if __name__ == "__main__":
    main()

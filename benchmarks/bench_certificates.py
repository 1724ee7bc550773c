"""Measure how near to 1 certificates come, and what they cost, on real data.

Run ``python benchmarks/bench_certificates.py [--quick] [--only NAME ...]``; it writes
results/certificates.json. A case is a default fit with ``certificate="auto"`` or ``"full"``, in a
process of its own on one thread. Seconds are processor seconds of the proof: those of the fit less
those of a fit without a certificate. Beside it stand the bounds that need no semidefinite search,
with the same effort, for the labels of the fit without a certificate.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse
from data_sets import NoData, Rows, find_file, make_mixture
from measuring import RESULTS, store_results
from provenance import Origin, join_rows, replace_rows
from sketches import DIGITS, shift_digits
from sklearn import datasets
from sklearn.preprocessing import normalize

from projected_kmeans import Certificate, ProjectedKMeans
from projected_kmeans.certificates.lower_bounds import bound_inertia
from projected_kmeans.certificates.prover import EFFORTS
from projected_kmeans.certificates.unit_centers import to_unit_centers
from projected_kmeans.running.monitor import Monitor


@dataclass(frozen=True)
class Case:
    """One proof, and what is expected of it."""

    rows: str  # a name of `SOURCES`
    n_clusters: int
    method: str = "full"  # ``certificate`` of the fit
    # The ratio and the processor seconds that the proof should not exceed.
    goal_ratio: float | None = None
    goal_seconds: float | None = None
    metric: str = "euclidean"


def read_instance(name: str) -> Rows:
    """Return one of the classic instances of exact clustering."""
    return np.load(find_file("small_instances.npz"))[name].astype(np.float64)


def read_faces() -> Rows:
    """Return the paper's faces."""
    return scipy.io.loadmat(find_file("ORL_64x64.mat"))["fea"].astype(np.float32)


def read_digits() -> Rows:
    """Return the 10,000 digits of MNIST."""
    return np.load(find_file(DIGITS))["x"].astype(np.float32)


def read_texts() -> Rows:
    """Return newsgroup texts as weighted counts of words, sparse."""
    with np.load(find_file("newsgroups.npz")) as stored:
        parts = (stored["data"], stored["indices"], stored["indptr"])
        rows = scipy.sparse.csr_matrix(parts, shape=tuple(stored["shape"]))
    rows.sum_duplicates()
    return rows


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
    "newsgroups": read_texts,
    "mixture": lambda: make_mixture(1, n=40_000, d=1500),
    "60,000 shifted digits": lambda: shift_digits(find_file(DIGITS), 6, 10_000),
}  # fmt: skip

CLASSICS = {
    "iris": (3,), "wine": (2, 3, 7), "seeds": (3,), "ruspini": (4,), "accent": (2,),
    "real_estate": (3,), "ECG5000": (2,),
}  # fmt: skip

CASES = (
    *(Case(name, k, "full", 1.0001, 5.0) for name, counts in CLASSICS.items() for k in counts),
    Case("breast cancer", 2, "full", 1.0001, 10.0),
    Case("ORL", 40, "full", 1.008, 15.0),
    Case("load_digits", 10, "auto", 1.03, 2.0),
    Case("load_digits", 10, "full", 1.008, 40.0),
    Case("MNIST 10k", 10, "auto", 1.033, 10.0),
    Case("MNIST 10k", 10, "full", 1.02, 200.0),
    Case("60,000 shifted digits", 10, "auto", 1.035, 70.0),
    Case("60,000 shifted digits", 64, "auto"),
    Case("newsgroups", 20, "auto", metric="cosine"),
    Case("mixture", 30, "auto"),
    *(Case("vehicle_silhouettes", k, "auto") for k in range(2, 11)),
    *(Case("abalone", k, "auto") for k in range(2, 11)),
)

QUICK = ("iris", "ruspini")
NAME = "certificates"

# What tells cases apart.
FIELDS = ("rows", "n_clusters", "method")


def measure(case: Case) -> dict[str, Any]:
    """Return what the proof of one case reached, and what it took."""
    rows = SOURCES[case.rows]()
    model = ProjectedKMeans(case.n_clusters, metric=case.metric, random_state=0, n_threads=1)
    model.fit(rows)  # what is loaded once in a process is not timed
    start = time.process_time()
    model.fit(rows)
    fit_seconds = time.process_time() - start
    before, before_seconds = prove_without_search(case, rows, model)
    start = time.process_time()
    proof = model.set_params(certificate=case.method).fit(rows).certificate_
    seconds = time.process_time() - start - fit_seconds
    assert proof is not None
    return {
        **asdict(case),
        "shape": list(rows.shape),
        "fit_inertia": before.inertia,
        "inertia": proof.inertia,
        "ratio": proof.ratio,
        "bound_by": proof.method,
        "certain": proof.certain,
        "part_rows": proof.part_rows,
        "deal_ratio": proof.deal_ratio,
        "seconds": seconds,
        "other_ratio": before.ratio,
        "other_seconds": before_seconds,
        "other_is_certain": before.certain,
    }


def prove_without_search(case: Case, rows: Rows, model: ProjectedKMeans) -> tuple[Any, float]:
    """Return what the other bounds prove about a fit, and their processor seconds."""
    given = normalize(rows) if case.metric == "cosine" else rows
    effort = replace(EFFORTS[case.method], semidefinite=None)
    start = time.process_time()
    bound = bound_inertia(
        given, None, case.n_clusters, effort=effort, key=0, monitor=Monitor(), n_threads=1
    )
    if case.metric == "cosine":
        bound = to_unit_centers(bound, given)
    seconds = time.process_time() - start
    return Certificate.of(model.inertia_, 0.0, bound), seconds


def measure_all(
    cases: tuple[Case, ...], store: Callable[[list[dict[str, Any]]], object], n_processes: int = 1
) -> None:
    """Measure each case in a new process on one thread, some at a time, and print it.

    ``store`` is called after each case with all that is measured so far.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    found: dict[Case, dict[str, Any]] = {}
    spawn = get_context("spawn")
    with ProcessPoolExecutor(n_processes, spawn, max_tasks_per_child=1) as pool:
        futures = {pool.submit(measure, case): case for case in cases}
        for future in as_completed(futures):
            case = futures[future]
            try:
                found[case] = future.result()
            except NoData as error:
                print(f"{case.rows} is left out: {error}", flush=True)
                continue
            store([found[one] for one in cases if one in found])
            print_case(case, found[case])


def print_case(case: Case, row: Mapping[str, Any]) -> None:
    """Print what a proof reached."""
    sure = "certain" if row["certain"] else "probable"
    print(
        f"{case.rows}, k = {case.n_clusters}, {case.method}: {row['ratio']:.5f} ({sure}, "
        f"{row['bound_by']}, parts of {row['part_rows']}) in {row['seconds']:.1f} s; without "
        f"search {row['other_ratio']:.3f} in {row['other_seconds']:.1f} s",
        flush=True,
    )


def main() -> None:
    """Measure, and store the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two small cases; stores nothing")
    parser.add_argument("--only", nargs="+", help="names of rows; stores nothing")
    parser.add_argument("--resume", action="store_true", help="keep the cases that are stored")
    parser.add_argument("--method", choices=["auto", "full"], help="only these proofs")
    parser.add_argument("--processes", type=int, default=1, help="cases at a time, one core each")
    given = parser.parse_args()
    names = given.only or (QUICK if given.quick else SOURCES)
    cases = tuple(
        case for case in CASES if case.rows in names and given.method in (None, case.method)
    )
    path, origin = RESULTS / f"{NAME}.json", Origin.now()
    stored = json.loads(path.read_text()) if path.is_file() else {"cases": []}
    if given.resume:
        done = {tuple(row[name] for name in FIELDS) for row in stored["cases"]}
        cases = tuple(one for one in cases if (one.rows, one.n_clusters, one.method) not in done)
    partial = given.quick or given.only or given.method

    def store(found: list[dict[str, Any]]) -> None:
        if partial:
            return
        whole = len(found) == len(cases) and not given.resume
        rows = found if whole else replace_rows(stored["cases"], found, FIELDS)
        document = join_rows(stored, rows, found, origin.describe(1))
        store_results(NAME, {**document, "processes": given.processes, "cases": rows})

    measure_all(cases, store, given.processes)


if __name__ == "__main__":
    main()

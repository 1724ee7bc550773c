"""Certificates against exact optima. A short run of the campaign, and its parts."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import fuzz_certificates
import numpy as np
import pytest
from exact_costs import ExactCosts
from fuzz_certificates import check_certificate, draw_instance

from projected_kmeans import Certificate
from tests.support.optima import exact_inertia, partitions

PROOF = Certificate(118.0, 100.0, 1.2, "neighbour", True, 1.0, 0.5, inertia_error=1e-11)


def test_instances_depend_on_seed_and_index_alone() -> None:
    """The same numbers give the same instance, and all kinds appear."""
    found = [draw_instance(1, index) for index in range(60)]
    assert {one.kind for one in found} == set(fuzz_certificates.KINDS)
    assert {one.sparse for one in found} == {True, False}
    again = draw_instance(1, 7)
    assert again.rows.tobytes() == found[7].rows.tobytes()
    assert again.kind == found[7].kind


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_minimum_is_that_of_all_partitions(k: int) -> None:
    """The minimum over sets of rows is the minimum over all partitions, in exact fractions."""
    stream = np.random.default_rng(k)
    rows, weights = stream.normal(size=(6, 2)), stream.random(6)
    costs = ExactCosts(rows, weights)
    every = [exact_inertia(rows, weights, labels) for labels in partitions(6, k)]
    assert costs.minimum(k) == min(every)
    labels = np.array([0, 1, 0, 1, 1, 0])
    assert costs.of_partition(labels) == exact_inertia(rows, weights, tuple(labels))


@pytest.mark.parametrize(
    ("claim", "exact", "minimum"),
    [
        (replace(PROOF, lower_bound=101.0), 118.0, 100.5),
        (PROOF, 118.0, 119.0),
        (replace(PROOF, ratio=1.1), 118.0, 100.5),
        (PROOF, 118.001, 100.5),
        (replace(PROOF, inertia_error=1e-9), 118.0, 100.5),
        (replace(PROOF, inertia=0.0, lower_bound=0.0, inertia_error=0.0), 0.0, 1.0),
    ],
)
def test_a_false_claim_is_seen(claim: Certificate, exact: float, minimum: float) -> None:
    """Each kind of false claim is told."""
    assert check_certificate(PROOF, Fraction(118), Fraction(100)) == []
    assert check_certificate(claim, Fraction(exact), Fraction(minimum))


@pytest.mark.filterwarnings("ignore")
def test_a_short_run_keeps_all_promises(tmp_path: Path) -> None:
    """Forty instances have certificates that agree with exact optima."""
    assert fuzz_certificates.main(["--instances", "40", "--seed", "5", "--out", str(tmp_path)]) == 0
    stored = json.loads((tmp_path / "fuzz_certificates.json").read_text())
    assert (stored["instances"], stored["kept"], stored["failures"]) == (40, 40, [])

"""The goals of a whole fit, judged from stored results."""

from __future__ import annotations

import fit_goals
import pytest
from fit_systems import FAISS, OURS, SKLEARN, SUPERKMEANS

from tests.support.stored_fits import make_entry, make_row


@pytest.mark.parametrize(
    ("seconds", "inertia", "met"),
    [(1.0, 0.5, [True, True]), (1.01, 0.5, [False, False]), (1.0, 0.501, [False, True])],
)
def test_goals_for_few_clusters(seconds: float, inertia: float, met: list[bool]) -> None:
    """FAISS's F~ in a quarter of its time, scikit-learn's and 0.2 % in a twentieth."""
    entry = make_entry(
        make_row(OURS, seconds, inertia), make_row(FAISS, 4.0, 0.5), make_row(SKLEARN, 20.0, 0.5)
    )
    verdicts = list(fit_goals.check_goals(entry))
    assert [verdict.met for verdict in verdicts[:2]] == met
    assert verdicts[3].met


def test_goals_for_many_clusters() -> None:
    """The F~ of superkmeans in half of its time; a peer without a figure leaves the goal open."""
    ours = make_row(OURS, 1.0, 0.5)
    entry = make_entry(ours, make_row(SUPERKMEANS, 2.0, 0.5), k=1000)
    assert next(fit_goals.check_goals(entry)).met
    verdict = next(fit_goals.check_goals(make_entry(ours, k=1000)))
    assert verdict.met is None
    assert verdict.found == "no figure of superkmeans"


def test_goals_of_memory_and_quality() -> None:
    """Two sketches of memory at most; F~ within 1 % of the best effort of any peer."""
    peer = make_row(FAISS, 1.0, 0.5)
    good = make_entry(make_row(OURS, 1.0, 0.505), peer, sparse=True)
    assert [verdict.met for verdict in fit_goals.check_goals(good)] == [None, True, True]
    bad = make_entry(make_row(OURS, 1.0, 0.506, extra_bytes=8_004), peer, k=500)
    assert [verdict.met for verdict in fit_goals.check_goals(bad)] == [False, False]

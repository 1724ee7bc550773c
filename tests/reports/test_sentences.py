"""The texts of a report say what they should, its snippet repeats the fit, and proofs stay true."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.files import load_report, save_report
from projected_kmeans.reports.page import render_report
from projected_kmeans.reports.plots import draw_guarantee, draw_plots
from projected_kmeans.reports.sentences import (
    MAX_LISTED_POINTS,
    TIMES,
    ProvenPoint,
    describe_proof,
    list_points,
    write_members_note,
    write_passes_note,
    write_snippet,
    write_theorem_note,
)
from projected_kmeans.reports.values import CertificateFacts, PassLine, Report
from tests.support.commands import ROWS


def test_the_snippet_repeats_the_fit(
    fitted: ProjectedKMeans, report: Report, wide: NDArray[np.float64]
) -> None:
    """The lines under "How to reproduce" give the same labels."""
    space: dict[str, Any] = {"X": wide}
    exec(write_snippet(report.facts), space)
    np.testing.assert_array_equal(space["model"].labels_, fitted.labels_)


def test_the_notes_follow_the_numbers(report: Report) -> None:
    """Notes mention what is left out: other clusters, a subsample, a theorem without use."""
    assert "Only the" not in write_members_note(report)
    fewer = replace(report, members=report.members[:2])
    assert "Only the 2 largest of 5 clusters are shown." in write_members_note(fewer)
    lines = (PassLine(0, 100, (1,), (2.0,), False), PassLine(0, 300, (1,), (2.0,), True))
    note = write_passes_note(replace(report, passes=lines))
    assert "1 restarts competed on a sample of 100 rows" in note
    assert "2 + eps times the best possible" in write_theorem_note(report)
    many = replace(report, clusters=report.clusters * 20)
    assert "the theorem promises nothing here" in write_theorem_note(many)


def test_the_guarantee_is_the_papers() -> None:
    """From 9 k dimensions on the paper promises 2 + sqrt(k / t); with fewer it promises nothing."""
    dimensions, ratios = draw_guarantee(10, 1000)
    np.testing.assert_allclose(ratios, 2 + np.sqrt(10 / np.array(dimensions)))
    assert dimensions[0] == pytest.approx(90)
    assert draw_guarantee(10, 89) == ([], [])


NORMAL = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


@pytest.fixture(scope="module")
def model() -> ProjectedKMeans:
    """Return a fit with a certificate."""
    return ProjectedKMeans(3, random_state=0, certificate="auto").fit(ROWS)


@pytest.fixture(scope="module")
def proven(model: ProjectedKMeans) -> Report:
    """Return its report."""
    return describe_report(model, ROWS)


def change_proof(report: Report, **changes: Any) -> Report:
    """Return the report with another certificate."""
    results = report.facts.results
    assert results.certificate is not None
    results = replace(results, certificate=replace(results.certificate, **changes))
    return replace(report, facts=replace(report.facts, results=results))


def test_points_are_those_of_the_certificate(model: ProjectedKMeans, proven: Report) -> None:
    """The points are the trace of the certificate, with shares of the inertia."""
    points = list_points(proven)
    assert tuple((point.seconds, point.bound) for point in points) == model.certificate_.trace
    assert points[-1].share == pytest.approx(model.certificate_.lower_bound / model.inertia_)
    assert all(0 < point.share <= 1 for point in points)


def test_the_page_shows_the_interval_and_its_numbers(proven: Report) -> None:
    """The page has the sentence, the plot with words for those who do not see it, and a table."""
    proof = describe_proof(proven)
    assert proof is not None
    certificate = proven.facts.results.certificate
    assert certificate is not None
    assert proof.note.lower().startswith(certificate.sentence.lower())
    page = render_report(proven)
    section = page[page.index('<section id="proof"') :]
    section = section[: section.index("</section>")]
    assert 'id="plot-proof" role="img" aria-label="Staircase plot' in section
    assert section.count("<tr><td>") == len(proof.points) == len(certificate.trace)
    assert f"<td>{proof.points[-1].write_share()}</td>" in section
    assert '<a href="#proof">' in page


def test_the_plot_ends_when_the_proof_ends(proven: Report) -> None:
    """The gap lies between a rising staircase, two corners for each point, and the inertia."""
    certificate = proven.facts.results.certificate
    assert certificate is not None
    sources = find_columns(draw_plots(proven)["plot-proof"])
    gap = next(one for one in sources if "y1" in one)
    assert len(gap["x"]) == 2 * len(certificate.trace)
    assert gap["x"][-1] == certificate.seconds
    assert gap["y1"] == sorted(gap["y1"])
    assert max(gap["y1"]) <= 100
    assert set(gap["y2"]) == {100}


def find_columns(node: Any) -> list[dict[str, Any]]:
    """Return the columns of all sources in the JSON of a plot."""
    if isinstance(node, list):
        return [found for one in node for found in find_columns(one)]
    if not isinstance(node, dict):
        return []
    if node.get("type") == "map" and all(isinstance(one[1], list) for one in node["entries"]):
        return [dict(node["entries"])]
    return [found for one in node.values() for found in find_columns(one)]


@pytest.mark.parametrize("bound", [5e-324, 1 / 3, 1.0, 999999.97, 123456789.9, 1.7e308])
def test_bounds_are_rounded_down(bound: float) -> None:
    """A written bound, and a written share of the inertia, claim no more than is proven."""
    point = ProvenPoint(1.0, bound, min(1.0, bound))
    text = point.write_bound().replace(",", "").replace(f" {TIMES} 10", "e").translate(NORMAL)
    assert 0.9999 * bound < float(text) * (1 + 1e-15) or bound < 1e-300
    assert float(text) <= bound
    assert float(point.write_share().removesuffix(" %")) <= 100 * point.share


def test_long_traces_have_a_short_table(proven: Report) -> None:
    """Of a hundred points the table lists twelve, the first and the last among them."""
    trace = tuple((0.1 * index, 1e-3 * index) for index in range(1, 101))
    proof = describe_proof(change_proof(proven, trace=trace))
    assert proof is not None
    assert len(proof.points) == MAX_LISTED_POINTS
    assert (proof.points[0].seconds, proof.points[-1].seconds) == (trace[0][0], trace[-1][0])


def test_without_points_there_is_no_plot(proven: Report, report: Report) -> None:
    """Without a certificate there is no section; without a trace or an inertia, no plot."""
    assert describe_proof(report) is None
    assert 'id="proof"' not in render_report(report)
    old = change_proof(proven, trace=())
    page = render_report(old)
    assert 'id="proof"' in page
    assert 'id="plot-proof"' not in page
    zero = replace(proven.facts.results, inertia=0.0)
    assert list_points(replace(proven, facts=replace(proven.facts, results=zero))) == []


def test_the_price_of_parts_is_told(proven: Report) -> None:
    """If rows were proven in parts, the note says how large they are and what they cost."""
    at_once = describe_proof(proven)
    assert at_once is not None
    assert "parts" not in at_once.note
    in_parts = describe_proof(change_proof(proven, part_rows=1612, deal_ratio=1.0021))
    assert in_parts is not None
    assert "in parts of up to 1,612 rows" in in_parts.note
    assert "leave 0.21 % of the inertia open" in in_parts.note


@pytest.mark.parametrize(
    "trace",
    [
        [[0.1, -1.0]],
        [[-0.1, 1.0]],
        [[0.1]],
        [[0.2, 1.0], [0.1, 2.0]],
        [[0.1, 2.0], [0.2, 1.0]],
        [[0.1, 1e300]],
        "rising",
    ],
)
def test_a_damaged_trace_is_refused(proven: Report, tmp_path: Path, trace: Any) -> None:
    """A stored report whose trace falls, or tells more than is proven, gives one sentence."""
    path = save_report(proven, tmp_path)
    assert load_report(path) == proven
    document = json.loads(path.read_text())
    document["facts"]["results"]["certificate"]["trace"] = trace
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"is damaged \(.*certificate.*\); fit again$"):
        load_report(path)


def test_extreme_traces_can_be_drawn(proven: Report) -> None:
    """The largest and the smallest numbers that the fields allow make a page."""
    results = proven.facts.results
    for inertia, bound, seconds in ((5e-324, 1.7e308, 0.0), (1.7e308, 5e-324, 1e18)):
        proof = CertificateFacts(
            "", None, True, 1.0, bound, "", trace=((0.0, 0.0), (seconds, bound)), deal_ratio=1.7e308
        )
        facts = replace(proven.facts, results=replace(results, inertia=inertia, certificate=proof))
        assert 'id="plot-proof"' in render_report(replace(proven, facts=facts))

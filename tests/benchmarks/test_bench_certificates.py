"""The benchmark of certificates: a small proof is measured, and has a line on the page."""

from __future__ import annotations

from dataclasses import replace

import bench_certificates
import certificate_tables


def test_a_proof_is_measured() -> None:
    """The iris data is proven nearer by the semidefinite bound than by the others."""
    case = next(case for case in bench_certificates.CASES if case.rows == "iris")
    found = bench_certificates.measure(case)
    assert 1 <= found["ratio"] < 1.0001 < found["other_ratio"]
    assert found["certain"]
    assert found["shape"] == [150, 4]
    page = "# Page\n\n## How near, and how long\nold\n\n## More\n\nText.\n"
    drawn = certificate_tables.render_certificates(page, {"cases": [found]}, "*m*")
    assert "old" not in drawn
    assert "| iris, 150 x 4 | 3 | full | 1.0000" in drawn
    assert "| 1.0001, 5 s |" in drawn
    assert drawn.endswith("\n## More\n\nText.\n")


def test_every_case_has_rows() -> None:
    """Cases name sources that exist, and each is listed once."""
    cases = bench_certificates.CASES
    assert {case.rows for case in cases} <= set(bench_certificates.SOURCES)
    assert len({replace(case, goal_ratio=None, goal_seconds=None) for case in cases}) == len(cases)

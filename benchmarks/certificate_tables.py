"""Draw the section of docs/explanation/certificate.md on measured proofs, from stored results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from measuring import format_table, replace_section

HEADING = "## How near, and how long"


def render_certificates(page: str, document: Mapping[str, Any], machine: str) -> str:
    """Return a page with its section replaced; one line tells machine and versions."""
    n_processes = document.get("processes", 1)
    together = f", with {n_processes} cases at a time" if n_processes > 1 else ""
    parts = [
        HEADING,
        machine,
        "*Ratio* is inertia / bound: no clustering is better by more. Each case is a default fit "
        "with this `certificate`; a proof may improve its clusters. *Without* is the ratio of the "
        "bounds that need no semidefinite search, for the fit as it was before; a ratio with * is "
        f"probable, all others are certain. *s* is processor seconds of one core{together}. *Goal* "
        "is what the method was built to reach. To repeat: "
        "`python benchmarks/bench_certificates.py`, then `python benchmarks/render.py`.",
        certificate_table(document["cases"]),
    ]
    return replace_section(page, parts)


def certificate_table(cases: Sequence[Mapping[str, Any]]) -> str:
    """Return a line for every case."""
    lines = []
    for case in cases:
        n, d = case["shape"]
        mark = "" if case["other_is_certain"] else "*"
        goal = ""
        if case["goal_ratio"] is not None:
            goal = f"{case['goal_ratio']:g}, {case['goal_seconds']:g} s"
        sure = "" if case["certain"] else "*"
        parts = f"{case['part_rows']:,} rows" if case["part_rows"] else "whole"
        lines.append(
            [
                f"{case['rows']}, {n:,} x {d:,}",
                str(case["n_clusters"]),
                case["method"],
                f"{case['ratio']:.5f}{sure}",
                f"{case['seconds']:.1f}",
                parts if case["bound_by"] == "semidefinite" else case["bound_by"],
                f"{case['other_ratio']:.3f}{mark}",
                f"{case['other_seconds']:.1f}",
                goal,
            ]
        )
    head = ["rows", "k", "certificate", "ratio", "s", "parts", "without", "s", "goal"]
    return format_table(head, lines)

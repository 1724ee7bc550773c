"""The section on limits of cluster sizes of docs/benchmarks.md, from the stored results."""

from __future__ import annotations

from typing import Any

from measuring import format_table

NAMES = {"free": "ours, any size", "limited": "ours, within limits"}


def render_sizes(document: dict[str, Any], description: str) -> str:
    """Return the section."""
    versions = {
        one["version"] for work in document["works"] for one in work["rows"] if one.get("version")
    }
    peer = f"k-means-constrained {', '.join(sorted(versions))}".strip()
    parts = [
        "## Limits of cluster sizes",
        description,
        "Gaussian groups of unequal sizes in float32, with `min_cluster_size` and "
        f"`max_cluster_size` at 80 % and 120 % of even sizes, beside one run of {peer} "
        "(`n_init=1`). Inertia is relative to that of a fit without limits.",
        sizes_table(document["works"]),
    ]
    return "\n\n".join(parts)


def sizes_table(works: list[dict[str, Any]]) -> str:
    """Return a line for each work and system."""
    lines = []
    for work in works:
        by_name = {one["system"]: one for one in work["rows"]}
        free, ours = by_name["free"], by_name["limited"]
        for one in work["rows"]:
            ended = one.get("ended", False)
            lines.append(
                [
                    f"{work['n']:,} x {work['d']}, k = {work['k']}: "
                    + NAMES.get(one["system"], one["system"]),
                    f"{'more than ' if ended else ''}{one['seconds']:.2f}",
                    f"{'more than ' if ended else ''}{one['seconds'] / ours['seconds']:.1f}",
                    "" if ended else f"{one['inertia'] / free['inertia']:.5f}",
                    "" if ended else f"{one['smallest']:,} to {one['largest']:,}",
                ]
            )
    head = ["", "seconds", "times ours within limits", "inertia", "sizes"]
    return format_table(head, lines)

"""Draw the section of docs/benchmarks.md on today's k-means systems, from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from measuring import format_table
from separate_fits import TIME_LIMIT

OWN = "projected_kmeans"

# Inertias that differ by less than this share count as equal.
EQUAL = 1e-3


def render_field(document: dict[str, Any], machine: str) -> str:
    """Return the section.

    Parameters
    ----------
    document : dict
        The results that bench_field.py stored.
    machine : str
        One line on machine and versions.
    """
    works = group_fits(document["fits"])
    parts = [
        "## Today's systems",
        machine,
        "Every system has all rows and the same threads and labels all rows, which counts. *s* is "
        "wall time, *CPU* the processor time of all threads, *MB* the memory beyond the rows, and "
        "*inertia* is relative to that of projected_kmeans, so that a positive number is worse. "
        "Slow systems are left out where they would take minutes, and a fit is given up after "
        f"{document.get('limit', TIME_LIMIT):g} s. To repeat: `python benchmarks/bench_field.py`.",
        summary_table(works),
        field_table(works),
    ]
    failures = list_failures(document["fits"])
    return "\n\n".join([*parts, *([f"Not measured: {failures}."] if failures else [])])


def group_fits(fits: Sequence[Any]) -> dict[tuple[str, int], dict[str, dict[str, float]]]:
    """Return for each work and k the medians of each system over its keys."""
    found: dict[tuple[str, int], dict[str, list[Any]]] = {}
    for fit in fits:
        if "failure" not in fit:
            work = name_work(fit), fit["n_clusters"]
            found.setdefault(work, {}).setdefault(fit["system"], []).append(fit)
    names = ("seconds", "cpu_seconds", "megabytes", "normalized_inertia")
    return {
        work: {
            system: {name: float(np.median([one[name] for one in some])) for name in names}
            for system, some in systems.items()
        }
        for work, systems in found.items()
    }


def name_work(fit: dict[str, Any]) -> str:
    """Return the name of some rows with their size."""
    n, d = fit["shape"]
    return f"{fit['work']} {n:,} x {d:,}"


def excess(system: dict[str, float], own: dict[str, float]) -> float:
    """Return by which share the inertia of a system exceeds that of this package."""
    return system["normalized_inertia"] / own["normalized_inertia"] - 1


def summary_table(works: dict[tuple[str, int], dict[str, dict[str, float]]]) -> str:
    """Return for each work the fastest peer, and the fastest that ends as low; who wins."""
    lines = []
    for (name, k), systems in works.items():
        own = systems.get(OWN)
        peers = {system: one for system, one in systems.items() if system != OWN}
        if own is None or not peers:
            continue
        as_low = {system: one for system, one in peers.items() if excess(one, own) <= EQUAL}
        lowest = min(peers, key=lambda system: peers[system]["normalized_inertia"])
        lines.append(
            [
                f"{name}, k = {k:,}",
                f"{own['seconds']:.2f}",
                compare(peers, own),
                compare(as_low, own) if as_low else "none ends as low",
                f"{lowest} {100 * excess(peers[lowest], own):+.2f} %",
            ]
        )
    header = ["", "s", "fastest peer", "fastest peer that ends as low", "lowest peer"]
    return format_table(header, lines)


def compare(peers: dict[str, dict[str, float]], own: dict[str, float]) -> str:
    """Return the fastest of some peers, and how many times longer it takes than this package."""
    fastest = min(peers, key=lambda system: peers[system]["seconds"])
    return f"{fastest} {peers[fastest]['seconds'] / own['seconds']:.2f} x"


def field_table(works: dict[tuple[str, int], dict[str, dict[str, float]]]) -> str:
    """Return a line for every system and work."""
    lines = []
    for (name, k), systems in works.items():
        for system, one in sorted(systems.items(), key=lambda item: item[1]["seconds"]):
            share = excess(one, systems[OWN]) if OWN in systems else float("nan")
            lines.append(
                [
                    f"{name}, k = {k:,}",
                    system,
                    f"{one['seconds']:.2f}",
                    f"{one['cpu_seconds']:.2f}",
                    f"{one['megabytes']:.0f}",
                    f"{100 * share:+.2f} %",
                ]
            )
    return format_table(["", "system", "s", "CPU", "MB", "inertia"], lines)


def list_failures(fits: Sequence[Any]) -> str:
    """Return the systems that failed, with the reason and the works."""
    found: dict[tuple[str, str], list[str]] = {}
    for fit in fits:
        if "failure" in fit:
            work = f"{fit['work']} k = {fit['n_clusters']:,}"
            found.setdefault((fit["system"], fit["failure"]), []).append(work)
    return "; ".join(
        f"{system} ({reason}) on {', '.join(works)}" for (system, reason), works in found.items()
    )

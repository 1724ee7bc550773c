"""Write the section "How fast, and how good" of README.md from stored results.

Measures nothing. Every figure of the section is a stored one, rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Any

from field_tables import OWN, excess, group_fits
from fit_goals import find_main
from fit_systems import FAISS, OURS, SKLEARN
from measuring import replace_section

HEADING = "## How fast, and how good"

# The rows of the table: how each is called, and which stored data set it shows.
SHOWN = {
    "digits-100": "digits {n:,} x {d:,}, k = {k}",
    "digits-10": "digits {n:,} x {d:,}, k = {k}",
    "mixture": "mixture {n:,} x {d:,}, k = {k}",
    "texts": "texts {n:,} x {d:,} sparse, k = {k}",
}
PEERS = (FAISS, SKLEARN)

# Data sets that count as small, where FAISS takes less time and ends higher.
SMALL = ("orl", "coil20")

# The works of today's systems that are told in words: rows, clusters, and what they are called.
TOLD = {("words", 16_384): "word vectors", ("tree", 4096): "a tree"}
RIVAL = "superkmeans hierarchical"

CLOSING = "All data sets, peers and settings: [docs/benchmarks.md](docs/benchmarks.md)."
WIDTH = 120


def render_readme(page: str, fit: Mapping[str, Any], field: Mapping[str, Any]) -> str:
    """Return the README with its section replaced.

    Parameters
    ----------
    page : str
        The present README.
    fit, field : mapping
        The results that bench_fit.py and bench_field.py stored.
    """
    data_sets = fit["data_sets"]
    threads = {data_sets[name]["machine"]["threads"] for name in SHOWN}
    header = "| data | projected_kmeans | FAISS, 25 iterations | scikit-learn, to its end |"
    lines = [table_line(name, data_sets[name], first=not at) for at, name in enumerate(SHOWN)]
    parts = [
        HEADING,
        f"Default call, {', '.join(map(str, sorted(threads)))} threads of one machine"
        f"{name_date(fit)}; F~ is the inertia over the sum of squares, lower is better.",
        "\n".join([header, "|---|---:|---:|---:|", *lines]),
        fill(" ".join([*small_sentence(data_sets), *told_sentences(field), CLOSING]), WIDTH),
    ]
    return replace_section(page, parts)


def name_date(fit: Mapping[str, Any]) -> str:
    """Return the days on which the data sets of the table were measured, if they are stored."""
    stamps = [fit["data_sets"][name].get("measured") for name in SHOWN]
    days = sorted({stamp["start"][:10] for stamp in stamps if stamp})
    return f", measured on {' and '.join(days)}" if days and all(stamps) else ""


def table_line(name: str, entry: Mapping[str, Any], *, first: bool) -> str:
    """Return the line of a data set; the first one says in full what a ratio is."""
    own = find_main(entry, OURS)
    assert own is not None, f"{name} has no figure of this package"
    cells = [SHOWN[name].format(**entry), f"{own['seconds']:.2f} s, F~ {show_inertia(own)}"]
    for at, system in enumerate(PEERS):
        peer = find_main(entry, system)
        if peer is not None:
            ratio = show_ratio(peer["seconds"] / own["seconds"])
            times = "times the time" if first and not at else "times"
            cells.append(f"{ratio} {times}, {show_inertia(peer)}")
        elif entry["sparse"] and system == FAISS:
            cells.append("not for sparse rows")
        else:
            cells.append(f"more than {entry['parameters']['limit']:.0f} s")
    return f"| {' | '.join(cells)} |"


def show_inertia(row: Mapping[str, Any]) -> str:
    """Return F~ with five digits: .35879."""
    return f"{row['normalized_inertia']:.5f}".removeprefix("0")


def show_ratio(value: float) -> str:
    """Return a ratio with two digits: 0.7, 4.6 or 59."""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def small_sentence(data_sets: Mapping[str, Any]) -> list[str]:
    """Return the sentence on small data, if it still holds for every small data set."""
    pairs = [(find_main(data_sets[one], OURS), find_main(data_sets[one], FAISS)) for one in SMALL]
    holds = all(
        ours is not None
        and peer is not None
        and ours["seconds"] > peer["seconds"]
        and ours["normalized_inertia"] < peer["normalized_inertia"]
        for ours, peer in pairs
    )
    return ["FAISS is faster on small data, at higher inertia."] if holds else []


def told_sentences(field: Mapping[str, Any]) -> list[str]:
    """Return a sentence on superkmeans for each work that is told in words."""
    sentences = []
    for work, name in TOLD.items():
        fits = [fit for fit in field["fits"] if (fit["work"], fit["n_clusters"]) == work]
        systems = next(iter(group_fits(fits).values()), {})
        own, rival = systems.get(OWN), systems.get(RIVAL)
        if own is None or rival is None:
            continue
        ratio, share = rival["seconds"] / own["seconds"], 100 * excess(rival, own)
        times = f"{show_ratio(ratio)} times as long" if ratio >= 1 else f"{ratio:.1f} of the time"
        end = f"{abs(share):.0f} % {'higher' if share > 0 else 'lower'}"
        sentences.append(
            f"With {work[1]:,} clusters of {name} superkmeans takes {times} and ends {end}."
        )
    return sentences

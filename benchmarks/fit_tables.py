"""Draw the section of docs/benchmarks.md on whole fits, from stored results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fit_goals import check_goals, find_main
from fit_systems import OURS
from measured_fit import is_disturbed
from measuring import format_table

MET = {True: "met", False: "**not met**", None: "-"}

METHOD = (
    "**How it is measured.** Every system labels all rows. Ours is "
    "`ProjectedKMeans(n_clusters=k, random_state=0).fit(X)`, the line *default*, and three other "
    "efforts. Peers use their default seeding. FAISS and superkmeans take all rows and label them "
    "at the end. KMeans of scikit-learn and of scikit-learn-intelex have `n_init=1`. Reductions of "
    "scikit-learn are followed by its KMeans. Rows are float32, or CSR of float32. Every fit runs "
    "in a process of its own on the same number of threads, after a fit of a few rows that loads "
    "libraries and starts threads. Systems take turns. Seconds are the best of {rounds} of "
    "up to three runs, or those of a single run if it takes long: above 1 s in a round, "
    "above {long:g} s in all. Runs that other processes disturbed are repeated. F~ "
    "is that of the partition on the original rows, computed in float64 by one function for all. "
    "Memory is the peak of resident memory during the fit, minus the memory that was resident "
    "before, which includes the rows. A fit that does not end within {limit:g} s{efforts} is left "
    "out and named."
)


def render_fits(document: Mapping[str, Any], describe: Callable[[Any], str], image: str) -> str:
    """Return the section: goals, picture, and a table for each data set."""
    entries = document["data_sets"].values()
    parts = ["## Whole fits: quality against time"]
    machines = list(dict.fromkeys(describe(entry) for entry in entries))
    if len(machines) == 1:
        parts += machines
    if len({entry["source"] for entry in entries}) > 1:
        parts.append("Data sets were measured with different states of this package.")
    parts += [describe_method(next(iter(entries))["parameters"]), *document["absent"]]
    measured = [entry for entry in entries if "no_data" not in entry]
    parts += [entry["no_data"] for entry in entries if "no_data" in entry]
    if measured:
        parts += ["**Goals** of the default call.", goals_table(measured)]
        parts.append(f"![F~ against seconds, a curve for each system]({image})")
    for entry in measured:
        parts.append(f"**{name_data_set(entry)}**")
        if len(machines) > 1:
            parts.append(describe(entry))
        parts += [fits_table(entry), *entry["left_out"], *disturbed_sentence(entry)]
    return "\n\n".join(parts)


def describe_method(parameters: Mapping[str, Any]) -> str:
    """Return how fits were measured, with the rounds and limits that were used."""
    limit, rounds = parameters.get("effort_limit"), parameters["rounds"]
    return METHOD.format(
        rounds="one round" if rounds == 1 else f"{rounds} rounds, each",
        long=parameters["long"],
        limit=parameters["limit"],
        efforts=f" ({limit:g} s for efforts that no goal compares)" if limit else "",
    )


def name_data_set(entry: Mapping[str, Any]) -> str:
    """Return the title of a data set, its size and its number of clusters."""
    if "no_data" in entry:
        return str(entry["no_data"])
    kind = " CSR" if entry["sparse"] else ""
    return f"{entry['title']}, {entry['n']:,} x {entry['d']:,}{kind}, k = {entry['k']:,}"


def goals_table(entries: list[Mapping[str, Any]]) -> str:
    """Return a table of all goals on all data sets to which they apply."""
    lines = [
        [f"{name_data_set(entry)}: {verdict.goal}", verdict.found, MET[verdict.met]]
        for entry in entries
        for verdict in check_goals(entry)
    ]
    return format_table(["", "found", "goal"], lines)


def fits_table(entry: Mapping[str, Any]) -> str:
    """Return time, quality and memory of every system, beside our default call."""
    if not entry.get("rows"):
        return "No system has a result here."
    ours = find_main(entry, OURS)
    lines = [
        [
            f"{row['system']}, {row['effort']}",
            format_seconds(row["seconds"]),
            f"{row['normalized_inertia']:.5f}",
            format_ratio(row, ours, "seconds", ".2f"),
            format_ratio(row, ours, "normalized_inertia", ".4f"),
            "" if row["extra_bytes"] is None else f"{row['extra_bytes'] / 1e6:.1f}",
        ]
        for row in entry["rows"]
    ]
    header = ["", "seconds", "F~", "times our time", "F~ / ours", "memory, MB"]
    return format_table(header, lines)


def disturbed_sentence(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on the fits that other processes disturbed, if there are any."""
    names = [f"{row['system']}, {row['effort']}" for row in entry["rows"] if is_disturbed(row)]
    if names:
        yield f"Other processes disturbed these fits, so their times are rough: {'; '.join(names)}."


def format_seconds(seconds: float) -> str:
    """Return seconds with about three digits."""
    digits = 1 if seconds >= 100 else 2 if seconds >= 1 else 4
    return f"{seconds:.{digits}f}"


def format_ratio(
    row: Mapping[str, Any], ours: Mapping[str, Any] | None, name: str, digits: str
) -> str:
    """Return a figure divided by that of our default call, or nothing if there is none."""
    return "" if ours is None else format(row[name] / ours[name], digits)

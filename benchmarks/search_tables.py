"""Draw the section of docs/benchmarks.md on the default search, from stored results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from measuring import format_table
from search_goals import BEFORE, CENTER_SETS, NOW, ROW_BYTES, SKETCHES, name_outcome

# The title of each group of works, and a sentence on its rows.
GROUPS: Mapping[str, tuple[str, str]] = {
    "embeddings": (
        "Sentence embeddings",
        "Summaries of Debian packages as vectors of unit length. superkmeans compares all centers "
        "in 25 iterations.",
    ),
    "fashion": (
        "Fashion-MNIST",
        "The 60,000 images that Debian's package dataset-fashion-mnist brings. The goal of inertia "
        "is a number of its own. Published after 25 iterations: scikit-learn 5.7709e10, "
        "superkmeans 5.7758e10, FAISS 5.7761e10.",
    ),
    "digits": ("Shifted digits", "MNIST digits, shifted by up to one pixel."),
    "mixed": (
        "A mixture, noise and texts",
        "Overlapping Gaussian groups, rows without clusters, and sparse rows of unit length.",
    ),
    "tree": ("A tree of 200,000 rows", "64 groups of unequal sizes around each of 64 places."),
    "tails": (
        "Heavy tails",
        "A multivariate t distribution with two degrees of freedom, and lognormal columns.",
    ),
    "far rows": (
        "Single far rows",
        "Even columns are Pareto with exponent 1.5 and odd ones normal, or all are lognormal; a "
        "few rows have most of the inertia. Beside scikit-learn, F is our median over the lowest "
        "inertia of its three runs.",
    ),
    "small": (
        "Small data",
        "Beside the best of ten runs of scikit-learn (`n_init=10`), with 20 keys. *Median* is our "
        "median inertia over its median, and *highest* our highest over its highest. All goals "
        "are 1.",
    ),
    "large tree": (
        "A tree of 500,000 rows",
        "64 groups of unequal sizes around each of 128 places.",
    ),
}

Fits = Mapping[tuple[str, str], Mapping[str, Any]]


def render_search(document: dict[str, Any], machine: str) -> str:
    """Return the section.

    Parameters
    ----------
    document : dict
        The results that bench_search.py stored.
    machine : str
        One line on machine and versions.
    """
    works, fits = document["works"], document["fits"]
    found = {(fit["work"], fit["system"]): fit for fit in fits if "failure" not in fit}
    parts = [
        "## The default search",
        machine,
        f"Default fits of this build (*now*) beside {name_builds(fits)} and beside peers, on the "
        "same rows and threads, with the same keys. Systems take turns. Inertia and seconds are "
        "medians over keys, of which there are three where nothing else is said. A fit of less "
        "than 0.1 s is made three times in its turn, and the fewest seconds count. *F* is our "
        "inertia divided by that of the system of the line, and *T* our seconds divided by its "
        "seconds, so that numbers above 1 are losses. A goal is the highest F or T that is aimed "
        "at. To repeat: "
        "`python benchmarks/bench_search.py --before OTHER_CLONE/.venv/bin/python`.",
        *count_goals(works, document["memory"]),
    ]
    for group, (title, text) in GROUPS.items():
        members = [work for work in works if work["group"] == group]
        if members:
            table = small_table if group == "small" else search_table
            parts += [f"**{title}.** {text}", table(members, found), *tell_growth(members)]
    if document["memory"]:
        parts += render_memory(document["memory"])
    failures = [
        f"{one['system']} on {one['work']} ({one['failure']})"
        for one in (*fits, *document["memory"])
        if "failure" in one
    ]
    return "\n\n".join([*parts, *([f"Not measured: {'; '.join(failures)}."] if failures else [])])


def name_builds(fits: Sequence[Mapping[str, Any]]) -> str:
    """Return the other builds that were measured, with their versions and commits."""
    builds = {
        f"version {build['version']}" + (f" at {build['commit']}" if build["commit"] else "")
        for build in (fit["build"] for fit in fits if "build" in fit)
    }
    return f"{' and '.join(sorted(builds)) or 'another build'} (*before*)"


def count_goals(
    works: Sequence[Mapping[str, Any]], memory: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a sentence on how many goals are met, and one on those that are missed."""
    outcomes = [(work["work"], goal["measure"], goal) for work in works for goal in work["goals"]]
    outcomes += [(one["work"], "memory", one) for one in memory if "met" in one]
    judged = [one for one in outcomes if one[2]["met"] is not None]
    unknown = len(outcomes) - len(judged)
    met = sum(bool(goal["met"]) for _, _, goal in judged)
    told = f"{met} of {len(judged)} goals are met"
    yield told + (f"; {unknown} more lack a figure." if unknown else ".")
    missed: dict[str, list[str]] = {}
    for name, measure, goal in judged:
        if not goal["met"]:
            missed.setdefault(name, []).append(name_goal(measure, goal))
    if missed:
        listed = "; ".join(f"{name} ({', '.join(goals)})" for name, goals in missed.items())
        yield f"Missed: {listed}."


def name_goal(measure: str, goal: Mapping[str, Any]) -> str:
    """Return what a goal limits, in few words."""
    if measure == "memory":
        return measure
    if goal["system"] == NOW:
        return "growth of time"
    beside = "" if goal["system"] in (None, BEFORE) else f" beside {goal['system']}"
    kind = "highest " if goal["pick"] == "highest" else ""
    return f"{kind}{'inertia' if measure == 'inertia' else 'time'}{beside}"


def search_table(works: Sequence[Mapping[str, Any]], fits: Fits) -> str:
    """Return a line for every work and system; the first of a work is that of this build."""
    lines = []
    for work in works:
        systems = [system for name, system in fits if name == work["work"]]
        for system in sorted(systems, key=(NOW, BEFORE).__contains__, reverse=True):
            fit, own = fits[work["work"], system], fits.get((work["work"], NOW))
            lines.append(
                [
                    work["work"],
                    system,
                    f"{median(fit['inertia']):.6g}",
                    show_range(fit["inertia"], ".6g"),
                    f"{median(fit['seconds']):.3g}",
                    show_range(fit["seconds"], ".3g"),
                    f"{median(fit['cpu_seconds']):.3g}",
                    *compare_lines(work, system, "inertia", fit, own),
                    *compare_lines(work, system, "seconds", fit, own),
                ]
            )
    header = ["", "system", "inertia", "lowest to highest", "s", "lowest to highest", "CPU s"]
    return format_table([*header, "F", "goal", "T", "goal"], lines)


def show_range(values: Sequence[float], form: str) -> str:
    """Return the lowest and the highest of some numbers."""
    return f"{min(values):{form}} to {max(values):{form}}"


def compare_lines(
    work: Mapping[str, Any],
    system: str,
    measure: str,
    fit: Mapping[str, Any],
    own: Mapping[str, Any] | None,
) -> tuple[str, str]:
    """Return F or T of a line, and its goal with the outcome, as cells of a table."""
    named = None if system == NOW else system
    goals = [
        goal for goal in work["goals"] if goal["system"] == named and goal["measure"] == measure
    ]
    goal = goals[0] if goals else None
    asked = "" if goal is None else f"{goal['limit']:g}, {name_outcome(goal['met'])}"
    if system == NOW or own is None:
        return "", asked
    if goal is not None and goal["found"] is not None:
        ratio = goal["found"]
    else:
        ratio = median(own[measure]) / median(fit[measure])
    return f"{ratio:.5f}" if measure == "inertia" else f"{ratio:.2f}", asked


def small_table(works: Sequence[Mapping[str, Any]], fits: Fits) -> str:
    """Return a line for every small work, with 20 keys of each system."""
    lines = []
    for work in works:
        own = fits.get((work["work"], NOW))
        if own is None:
            continue
        goals = {(goal["measure"], goal["pick"]): goal for goal in work["goals"]}
        peer = fits.get((work["work"], work["goals"][0]["system"]))
        n, d = own["shape"]
        lines.append(
            [
                f"{work['work']} ({n:,} x {d:,})",
                f"{median(own['inertia']):.6g}",
                show_found(goals["inertia", "median"], ".6f"),
                show_found(goals["inertia", "highest"], ".6f"),
                f"{1e3 * median(own['seconds']):.1f}",
                "" if peer is None else f"{1e3 * median(peer['seconds']):.1f}",
                show_found(goals["seconds", "median"], ".2f"),
                "" if work["F"] is None else f"{work['F']:.5f}",
                "" if work["T"] is None else f"{work['T']:.2f}",
            ]
        )
    header = ["", "inertia", "median", "highest", "ms", "scikit-learn ms", "T"]
    return format_table([*header, "F beside before", "T beside before"], lines)


def show_found(goal: Mapping[str, Any], form: str) -> str:
    """Return what was found for a goal, and the outcome."""
    return "" if goal["found"] is None else f"{goal['found']:{form}}, {name_outcome(goal['met'])}"


def tell_growth(works: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence on each goal that compares two numbers of clusters of this build."""
    for work in works:
        for goal in work["goals"]:
            if goal["system"] == NOW and goal["found"] is not None:
                yield (
                    f"{work['work']} takes {goal['found']:.2f} times as long as "
                    f"k = {goal['n_clusters']:,} (goal: at most {goal['limit']:g}; "
                    f"{name_outcome(goal['met'])})."
                )


def render_memory(memory: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the paragraphs on memory beyond the rows."""
    lines = [
        [
            one["work"],
            str(one["n_components"] or ""),
            f"{one['extra_bytes'] / 1e6:.0f}",
            f"{one['limit_bytes'] / 1e6:.0f}",
            name_outcome(one["met"]),
        ]
        for one in memory
        if "failure" not in one
    ]
    text = (
        f"**Memory beyond the rows** at the peak of a default fit. The limit is {SKETCHES:g} "
        f"sketches of n x t float32 numbers, {ROW_BYTES} bytes a row, and {CENTER_SETS} sets of "
        "k x d float64 centers."
    )
    return [text, format_table(["", "t", "MB", "limit, MB", "goal"], lines)]

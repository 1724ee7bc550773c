"""Write the measured figures of docs/reliability.md from the stored results of all campaigns.

Run ``python campaigns/reliability_page.py``. It measures nothing. What stands outside of the two
marks of the page is written by hand and stays as it is.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from recording import RESULTS

from provenance import describe  # isort: skip; recording says where it is

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
VERSIONS = Path(__file__).parents[1] / "benchmarks" / "results" / "versions.json"
START, STOP = "<!-- figures: make campaigns -->", "<!-- end of figures -->"

# The campaigns in the order of the page: the name of the result, and what was tried.
CAMPAIGNS = {
    "sanitize": "tests of the kernels under sanitizers",
    "fuzz_files": "damaged files, models, reports and checkpoints",
    "fuzz_certificates": "certificates against exact optima",
    "stress_fits": "fits in many threads on a busy machine",
    "kill_runs": "commands ended at random moments",
    "inject_faults": "writes that fail",
    "kill_workers": "Dask workers and schedulers ended",
    "fail_allocations": "allocations that fail",
}
# Entries of a result that every campaign has, or that are shown elsewhere.
OWN_COLUMNS = {"campaign", "date", "command", "machine", "measured", "failures", "seed", "formats"}
MAX_FIGURES = 8


def render_page(page: str, results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page with the figures of these results between its marks."""
    head, start, rest = page.partition(START)
    _, stop, tail = rest.partition(STOP)
    if not (start and stop):
        raise ValueError(f"the page has no {START} and {STOP}; put them around the figures")
    parts = [
        render_table(results),
        *render_machines(results),
        *render_files(results.get("fuzz_files")),
        *render_versions(results.get("versions")),
    ]
    figures = "\n\n".join(parts)
    return f"{head}{START}\n\n{figures}\n\n{STOP}{tail}"


def render_table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return one line a campaign: what was tried, how much of it, and what broke."""
    lines = ["| campaign | tried | broke a promise | when | command |", "|---|---|---|---|---|"]
    for name, tried in CAMPAIGNS.items():
        result = results.get(name)
        if result is None:
            lines.append(f"| {tried} | not measured | not measured | | |")
            continue
        figures = DESCRIBE.get(name, describe_counts)(result)
        failures = len(result["failures"])
        when = f"{result['date']} | `{result['command']}`"
        lines.append(f"| {tried} | {figures} | {failures or 'nothing'} | {when} |")
    return "\n".join(lines)


def render_machines(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a sentence on the machines and versions of all campaigns."""
    machines = [results[name]["machine"] for name in CAMPAIGNS if name in results]
    places = {
        f"{machine['processor']}, {machine['processors']} processors, "
        f"{machine['instruction_set']}, version {machine['versions']['projected_kmeans']}"
        for machine in machines
        if machine
    }
    return [f"*Measured on {'; '.join(sorted(places))}.*"] if places else []


def describe_counts(result: Mapping[str, Any]) -> str:
    """Return the numbers of a result with their names."""
    figures = []
    for name, value in result.items():
        if name in OWN_COLUMNS or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        figures.append(f"{write_count(value)} {name.replace('_', ' ')}")
    return ", ".join(figures[:MAX_FIGURES]) or "see the stored result"


def describe_sanitizers(result: Mapping[str, Any]) -> str:
    """Return how many tests ran under each sanitizer, and how many planted defects were found."""
    runs = [f"{write_count(run['tests'])} tests ({run['run']})" for run in result["runs"]]
    planted = sum(len(run["planted"]) for run in result["runs"])
    return f"{', '.join(runs)}, built with {result['compiler']}; {planted} planted defects found"


def describe_files(result: Mapping[str, Any]) -> str:
    """Return how many files were damaged, and how that ended."""
    outcomes = result["outcomes"]
    return (
        f"{write_count(result['files'])} files of {len(result['formats'])} kinds, "
        f"{write_count(result['by_command'])} of them by the command line: "
        f"{write_count(outcomes.get('rows', 0))} were read, "
        f"{write_count(outcomes.get('sentence', 0))} got one sentence, and "
        f"{write_count(outcomes.get('reader ended', 0))} ended the process that reads for the "
        "program, which is one sentence, too"
    )


DESCRIBE: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "sanitize": describe_sanitizers,
    "fuzz_files": describe_files,
}


def render_files(result: Mapping[str, Any] | None) -> list[str]:
    """Return the table of damaged files, one line a kind."""
    if result is None:
        return []
    lines = [
        "| damaged | files | read | one sentence | its reader ended |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, outcomes in result["formats"].items():
        counts = [outcomes.get(one, 0) for one in ("rows", "sentence", "reader ended")]
        cells = [write_count(number) for number in (sum(outcomes.values()), *counts)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return ["How damaged files ended, by what they were before:", "\n".join(lines)]


def render_versions(result: Mapping[str, Any] | None) -> list[str]:
    """Return the table of ordinary work before and after the checks were added."""
    if result is None:
        return []
    lines = ["| work | before | now | ratio | noise |", "|---|--:|--:|--:|--:|"]
    for work in result["works"]:
        seconds = f"{work['before']:.3f} s | {work['now']:.3f} s"
        ratios = f"{work['ratio']:.2f} | {work['noise']:.2f}"
        lines.append(f"| {work['work']} | {seconds} | {ratios} |")
    title = (
        "What all this costs: seconds of ordinary work in the version before it and now, on "
        f"{result['machine']['threads']} threads, the minimum of {result['rounds']} turns in each "
        f"of {result['launches']} launches (`benchmarks/compare_versions.py`). *Noise* is the same "
        "ratio of two processes of the version before."
    )
    return [title, describe(result), "\n".join(lines)]


def write_count(number: float) -> str:
    """Return a number as people read it."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.4g}"


def load_results(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Return the stored results by the names of their campaigns, and the comparison of versions."""
    paths = [*sorted(folder.glob("*.json")), *VERSIONS.parent.glob(VERSIONS.name)]
    return {path.stem: json.loads(path.read_text()) for path in paths}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args(arguments)
    PAGE.write_text(render_page(PAGE.read_text(), load_results()))
    print(f"written: {PAGE}")


if __name__ == "__main__":
    main()

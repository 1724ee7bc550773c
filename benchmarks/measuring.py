"""What all benchmarks share: timing, the description of the machine, stored results."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native

RESULTS = Path(__file__).parent / "results"

# Seconds after which the threads of a BLAS sleep.
REST = 0.3

# Work that takes more seconds than this is not slowed noticeably by a cold start.
LONG = 0.1

PACKAGES = ("projected_kmeans", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Effort:
    """How work is timed: threads, repeats, and seconds of rest before each."""

    n_threads: int
    repeats: int
    rest: float

    def time(self, works: Mapping[str, Callable[[], object]]) -> dict[str, float]:
        """Return the minimum time of each work."""
        return time_together(works, self.repeats, self.rest)


def time_together(
    works: Mapping[str, Callable[[], object]], repeats: int, rest: float = 0.0
) -> dict[str, float]:
    """Return the minimum time of each work; works take turns, so that load affects all of them.

    The threads of a BLAS spin for a while after their work and would slow down the next work. With
    a rest, every work begins after a rest. Without one, every round does, and work without BLAS
    should come first in it. After a rest caches are cold and threads asleep, so that a work runs
    two or three times in its turn, unless it is so long that this does not matter.
    """
    best = dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        time.sleep(REST)
        for name, work in works.items():
            time.sleep(rest)
            for _ in range(3 if rest else 2):
                start = time.perf_counter()
                work()
                seconds = time.perf_counter() - start
                best[name] = min(best[name], seconds)
                if rest and seconds > LONG:
                    break
    return best


def read_array(array: NDArray[Any], n_threads: int) -> None:
    """Read every byte of an array once, on several threads, to measure memory bandwidth."""
    parts = np.array_split(array.reshape(-1).view(np.int32), n_threads)
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(np.max, parts))


def describe_machine(n_threads: int, peers: Sequence[str] = ()) -> dict[str, Any]:
    """Return processor, threads and versions, which a reader needs to judge a time."""
    names = [
        line.split(":", 1)[1].strip()
        for line in _read_lines("/proc/cpuinfo")
        if line.startswith("model name")
    ]
    return {
        "processor": names[0] if names else platform.processor(),
        "processors": os.cpu_count(),
        "threads": n_threads,
        "instruction_set": _native.instruction_set(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in (*PACKAGES, *peers)},
    }


def store_results(name: str, document: Mapping[str, Any], folder: Path | None = None) -> Path:
    """Write the document of a benchmark as JSON; return the file."""
    folder = RESULTS if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document, indent=1) + "\n")
    os.replace(partial, path)
    return path


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with all columns but the first aligned to the right."""
    lines = [list(header), ["---", *("---:" for _ in header[1:])], *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def replace_section(page: str, parts: Sequence[str]) -> str:
    """Return a Markdown page with one section replaced, or added at the end if it is new.

    Parameters
    ----------
    page : str
        The present page.
    parts : sequence of str
        Paragraphs, of which the first is the heading of the section.
    """
    before, _, after = page.partition(parts[0] + "\n")
    _, mark, rest = after.partition("\n## ")
    return before + "\n\n".join(parts) + "\n" + mark + rest


def replace_marked(page: str, name: str, parts: Sequence[str]) -> str:
    """Return a Markdown page with the paragraphs between two marks replaced.

    Parameters
    ----------
    page : str
        The present page, which has the marks.
    name : str
        What the first mark names.
    parts : sequence of str
        The new paragraphs.
    """
    start, stop = f"<!-- figures: {name} -->", "<!-- end of figures -->"
    before, found, rest = page.partition(start)
    _, end, after = rest.partition(stop)
    if not (found and end):
        raise ValueError(f"the page has no {start} and {stop}; put them around the figures")
    return "\n\n".join([before + start, *parts, stop + after])


def _read_lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None

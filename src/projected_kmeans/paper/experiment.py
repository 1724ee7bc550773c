"""Run an experiment unit by unit, store its results, and continue a run that was stopped.

Every result is on disk as soon as its unit is done. A stored document names the key, the versions,
the machine and all parameters; it is used again only if all of them are the same. Handles files and
parameters; the modules in ``experiments`` decide what is measured and how it is shown.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from projected_kmeans import _native
from projected_kmeans.documents import decode_json
from projected_kmeans.output_files import write_json
from projected_kmeans.paper.charts import Chart
from projected_kmeans.paper.tables import Table
from projected_kmeans.results import Floats
from projected_kmeans.running.interrupts import raise_at_interrupt

FORMAT = "projected_kmeans reproduction"
FORMAT_VERSION = 1
PROCESSORS = Path("/proc/cpuinfo")  # on Linux alone

# The field that holds the checksum of all others. A record that was changed is measured again.
SEAL = "sha256"

# The random stream of rows that are timed; see `known_optima` for the numbers of streams.
TIMED_STREAM = 1006

Document: TypeAlias = Mapping[str, Any]
# Called with the name of the experiment, the number of finished units, and that of all units.
OnUnit: TypeAlias = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Unit:
    """The smallest piece of work that a stopped run does not lose; JSON can hold its result."""

    name: str
    measure: Callable[[], Any]


@dataclass(frozen=True)
class Experiment:
    """What to measure, and how the results of all units become those of the document.

    The parameters hold all that the results depend on besides version and machine.
    """

    name: str
    parameters: Mapping[str, Any]
    units: Sequence[Unit]
    summarize: Callable[[Mapping[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Exhibit:
    """A table, figure or claim of the paper: the experiment behind it, and how it is shown.

    ``plan`` makes the experiment from the face images (or None), ``key=`` and ``sizes=``. The last
    sentence of ``conclude`` is the result in short. What is shown depends on the document alone.
    """

    name: str
    title: str
    opening: str
    plan: Callable[..., Experiment]
    full: Any  # the sizes of a complete run
    quick: Any  # the sizes of a run of under a minute
    tabulate: Callable[[Document], list[Table]]
    conclude: Callable[[Document], list[str]]
    chart: Callable[[Document], list[Chart]]


def split_batches(items: range, size: int) -> list[range]:
    """Return the items in consecutive ranges of at most ``size``, one for each unit."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def time_work(work: Callable[[], object], *, min_seconds: float = 0.0, repeats: int = 3) -> float:
    """Return the median seconds of at least ``repeats`` calls that together take ``min_seconds``.

    One call comes before the clock starts, so that caches and threads are warm.
    """
    work()
    seconds: list[float] = []
    while len(seconds) < repeats or sum(seconds) < min_seconds:
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def measure_band(
    draws: Floats | Sequence[float], axis: int | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return the 5 %, 50 % and 95 % quantiles of draws."""
    low, median, high = np.quantile(draws, [0.05, 0.5, 0.95], axis=axis)
    return low, median, high


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    fresh: bool = False,
    on_unit: OnUnit | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Return the document of an experiment, measuring only what is not stored yet, unless fresh.

    Every finished unit is written to ``<name>.partial.jsonl`` at once; ``<name>.json`` appears when
    all units are finished. The command that repeats the run is stored with date and load.
    """
    identity = identify(experiment)
    path = folder / f"{experiment.name}.json"
    stored = None if fresh else load_document(path)
    if stored is not None and {name: stored.get(name) for name in identity} == identity:
        return stored
    progress = folder / f"{experiment.name}.partial.jsonl"
    measured, load = {} if fresh else _load_units(progress, identity), read_load()
    _start_file(progress, identity, measured)
    _measure_missing(experiment, progress, measured, on_unit)
    results = {unit.name: measured[unit.name]["result"] for unit in experiment.units}
    seconds = sum(measured[unit.name]["seconds"] for unit in experiment.units)
    starts = [record["start"] for record in measured.values()]
    when = {"start": min(starts, default=None), "end": name_time()}
    document = {**identity, "measured": {**when, "command": command, "load": load}}
    document |= {"seconds": seconds, "results": experiment.summarize(results)}
    write_json(path, _seal(document))
    progress.unlink()
    return document


def _measure_missing(
    experiment: Experiment, progress: Path, measured: dict[str, Any], on_unit: OnUnit | None
) -> None:
    """Measure the units that are not measured yet; write each to the file when it is done.

    A Ctrl-C ends the unit, so that no fit that was cut short is stored as a whole one.
    """
    total = len(experiment.units)
    with open(progress, "a", encoding="utf-8") as lines:
        for done, unit in enumerate(experiment.units, start=1):
            if unit.name not in measured:
                start, begin = name_time(), time.perf_counter()
                with raise_at_interrupt():
                    result = unit.measure()
                seconds = time.perf_counter() - begin
                measured[unit.name] = {"result": result, "seconds": seconds, "start": start}
                lines.write(_as_line(_seal({"unit": unit.name, **measured[unit.name]})))
                lines.flush()
            if on_unit is not None:
                on_unit(experiment.name, done, total)


def identify(experiment: Experiment) -> dict[str, Any]:
    """Return all that the results depend on, as JSON holds it."""
    identity = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "experiment": experiment.name,
        "version": version("projected_kmeans"),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        },
        "machine": {
            "processor": name_processor(),
            "processors": os.cpu_count(),
            "architecture": platform.machine(),
            "instruction_set": _native.instruction_set(),
            "threads": os.environ.get("OMP_NUM_THREADS"),
        },
        "key": experiment.parameters.get("key"),
        "parameters": dict(experiment.parameters),
    }
    round_trip: dict[str, Any] = json.loads(json.dumps(identity, allow_nan=False))
    return round_trip


def name_processor() -> str:
    """Return the model of the processor, as Linux or the platform names it."""
    with suppress(OSError), open(PROCESSORS, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def name_time() -> str:
    """Return the date and time now, in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_load() -> float | None:
    """Return the load average of the last minute, or None where the system does not tell."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def load_document(path: Path) -> dict[str, Any] | None:
    """Return a stored document, or None if there is none whose checksum fits."""
    with suppress(OSError, ValueError):
        document = _open_seal(decode_json(path.read_bytes(), str(path)))
        if document.get("format") == FORMAT:
            return document
    return None


def _load_units(path: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the units of a stopped run with the same identity, up to the first damaged line."""
    measured: dict[str, Any] = {}
    with suppress(OSError, ValueError), open(path, "rb") as lines:
        if decode_json(next(lines, b"null"), str(path)) != identity:
            return {}
        for line in lines:
            record = _open_seal(decode_json(line, str(path)))
            if record.keys() != {"unit", "result", "seconds", "start"}:
                break
            measured[str(record.pop("unit"))] = record
    return measured


def _seal(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with its checksum."""
    text = json.dumps(record, sort_keys=True, allow_nan=False)
    return {**record, SEAL: hashlib.sha256(text.encode()).hexdigest()}


def _open_seal(stored: Any) -> dict[str, Any]:
    """Return a record without its checksum; raise a ValueError if the checksum does not fit."""
    if isinstance(stored, dict):
        record = {name: value for name, value in stored.items() if name != SEAL}
        if _seal(record) == stored:
            return record
    raise ValueError("the checksum does not fit")


def _start_file(path: Path, identity: Mapping[str, Any], measured: Mapping[str, Any]) -> None:
    """Write the identity of the run and the units that are already measured."""
    kept = [_as_line(_seal({"unit": name, **record})) for name, record in measured.items()]
    path.write_text(_as_line(identity) + "".join(kept), encoding="utf-8")


def _as_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, allow_nan=False) + "\n"

"""Run an experiment unit by unit, store its results, and continue a run that was stopped.

Handles files and parameters; the experiments decide what is measured, the views how it is shown.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from projected_kmeans import _native
from projected_kmeans.documents import decode_json
from projected_kmeans.output_files import write_json
from projected_kmeans.running.interrupts import raise_at_interrupt

FORMAT = "projected_kmeans reproduction"
FORMAT_VERSION = 1
PROCESSORS = Path("/proc/cpuinfo")  # on Linux alone

# The field that holds the checksum of all others. A record that was changed is measured again.
SEAL = "sha256"

# Called with the name of the experiment, the number of finished units, and that of all units.
OnUnit = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Unit:
    """The smallest piece of work that a stopped run does not lose.

    Attributes
    ----------
    name : str
        Unique in its experiment.
    measure : callable
        Called without arguments; returns a value that JSON can hold.
    """

    name: str
    measure: Callable[[], Any]


@dataclass(frozen=True)
class Experiment:
    """What to measure and how to summarize it.

    Attributes
    ----------
    name : str
        Its name, which is that of its files, too.
    parameters : mapping
        All that the results depend on besides version and machine: key, sizes, data.
    units : sequence of Unit
        What is measured, in this order.
    summarize : callable
        Takes the results of all units by name and returns the results of the document.
    """

    name: str
    parameters: Mapping[str, Any]
    units: Sequence[Unit]
    summarize: Callable[[Mapping[str, Any]], dict[str, Any]]


def split_batches(items: range, size: int) -> list[range]:
    """Return the items in consecutive ranges of at most ``size``, one for each unit.

    Examples
    --------
    >>> split_batches(range(10, 15), 2)
    [range(10, 12), range(12, 14), range(14, 15)]
    """
    return [items[at : at + size] for at in range(0, len(items), size)]


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    fresh: bool = False,
    on_unit: OnUnit | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Return the document of an experiment, measuring only what is not stored yet.

    A stored result or a stopped run is used only if parameters, versions and machine are the same.
    Every finished unit is written to ``<name>.partial.jsonl`` at once; ``<name>.json`` appears when
    all units are finished.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    folder : Path
        Where documents are stored.
    fresh : bool, default=False
        Measure again, whatever is stored.
    on_unit : callable, optional
        Called after every unit.
    command : str, optional
        The command that repeats the run. It is stored with the date and the load of the machine.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> units = [Unit("two", lambda: 2), Unit("three", lambda: 3)]
    >>> total = Experiment("sum", {"key": 0}, units, lambda found: {"sum": sum(found.values())})
    >>> run_experiment(total, folder)["results"]
    {'sum': 5}
    >>> [file.name for file in folder.iterdir()]
    ['sum.json']
    """
    identity = identify(experiment)
    path = folder / f"{experiment.name}.json"
    stored = None if fresh else load_document(path)
    if stored is not None and {name: stored.get(name) for name in identity} == identity:
        return stored
    progress = folder / f"{experiment.name}.partial.jsonl"
    found, load = {} if fresh else _load_units(progress, identity), read_load()
    _start_file(progress, identity, found)
    _measure_missing(experiment, progress, found, on_unit)
    results = {unit.name: found[unit.name]["result"] for unit in experiment.units}
    seconds = sum(found[unit.name]["seconds"] for unit in experiment.units)
    starts = [record["start"] for record in found.values()]
    measured = {"start": min(starts, default=None), "end": name_time()}
    measured |= {"command": command, "load": load}
    document = {**identity, "measured": measured, "seconds": seconds}
    document["results"] = experiment.summarize(results)
    write_json(path, _seal(document))
    progress.unlink()
    return document


def _measure_missing(
    experiment: Experiment, progress: Path, found: dict[str, Any], on_unit: OnUnit | None
) -> None:
    """Measure the units that ``found`` does not hold; write each to the file when it is done.

    A Ctrl-C ends the unit, so that no fit that was cut short is stored as a whole one.
    """
    total = len(experiment.units)
    with open(progress, "a", encoding="utf-8") as lines:
        for done, unit in enumerate(experiment.units, start=1):
            if unit.name not in found:
                start, begin = name_time(), time.perf_counter()
                with raise_at_interrupt():
                    result = unit.measure()
                seconds = time.perf_counter() - begin
                found[unit.name] = {"result": result, "seconds": seconds, "start": start}
                lines.write(_as_line(_seal({"unit": unit.name, **found[unit.name]})))
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
    found: dict[str, Any] = {}
    with suppress(OSError, ValueError), open(path, "rb") as lines:
        if decode_json(next(lines, b"null"), str(path)) != identity:
            return {}
        for line in lines:
            record = _open_seal(decode_json(line, str(path)))
            if record.keys() != {"unit", "result", "seconds", "start"}:
                break
            found[str(record.pop("unit"))] = record
    return found


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


def _start_file(path: Path, identity: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Write the identity of the run and the units that are already measured."""
    kept = [_as_line(_seal({"unit": name, **record})) for name, record in found.items()]
    path.write_text(_as_line(identity) + "".join(kept), encoding="utf-8")


def _as_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, allow_nan=False) + "\n"

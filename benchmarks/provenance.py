"""Where figures come from: when, by which command, of which commit and on which machine.

A benchmark makes an `Origin` before it measures, and stores what `describe` returns beside its
figures. Files that can be renewed in part name the origin of every row (`join_rows`). Nothing is
measured here.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measuring import describe_machine

ROOT = Path(__file__).parents[1]

# What figures depend on. Results and pages are left out, because benchmarks write them.
SOURCES = ("src", "benchmarks/*.py", "campaigns/*.py", "pyproject.toml", "CMakeLists.txt")

# A machine is busy if others keep more processors busy than this. The load average cannot tell: it
# counts what this program and the benchmark before it did in the last minutes.
BUSY = 0.3
SAMPLE_SECONDS = 0.5

# The name of the origin of rows that were stored without one.
NOT_STORED = "date not stored"


@dataclass(frozen=True)
class Origin:
    """A measurement that has begun.

    Attributes
    ----------
    start : datetime
        When it began, in UTC.
    command : str
        The command that repeats it.
    load : float or None
        The load average of the last minute at the start, if the system tells.
    busy : float or None
        The processors that were busy for half a second before the start, if the system tells.
    commit : str or None
        The commit of the sources, with a plus if they were changed, if git is there.
    """

    start: datetime
    command: str
    load: float | None
    busy: float | None
    commit: str | None

    @classmethod
    def now(cls, arguments: Sequence[str] | None = None) -> Origin:
        """Begin a measurement, with the arguments of this program or with others."""
        command = name_command(sys.argv[0], sys.argv[1:] if arguments is None else arguments)
        load, busy, commit = read_load(), measure_busy(), read_commit()
        return cls(datetime.now(UTC), command, load, busy, commit)

    def stamp(self) -> dict[str, Any]:
        """Return when and how it was measured, and the seconds so far."""
        return {
            "start": self.start.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "seconds": round((datetime.now(UTC) - self.start).total_seconds(), 1),
            "command": self.command,
            "load": self.load,
            "busy": self.busy,
            "commit": self.commit,
        }

    def describe(self, n_threads: int, peers: Sequence[str] = ()) -> dict[str, Any]:
        """Return the machine with its versions, and the stamp, for a file of results."""
        return {"machine": describe_machine(n_threads, peers), "measured": self.stamp()}


def name_command(program: str, words: Sequence[str]) -> str:
    """Return a command as it is typed in the project's folder, without folders of this machine."""
    path = Path(program).absolute()
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    hidden = [re.sub(r"(?<![^=])/(?:[^/=]+/)*", ".../", word) for word in words]
    return shlex.join(["python", name, *hidden])


def read_load() -> float | None:
    """Return the load average of the last minute, or None where the system does not tell."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def measure_busy(seconds: float = SAMPLE_SECONDS) -> float | None:
    """Return how many processors others keep busy while this process sleeps, on Linux."""
    before = _read_busy_seconds()
    time.sleep(seconds)
    after = _read_busy_seconds()
    if before is None or after is None:
        return None
    return round(max(0.0, after - before) / seconds, 2)


def _read_busy_seconds() -> float | None:
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return None
    user, nice, system, _idle, _waiting, *interrupts = map(int, fields)
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def read_commit(folder: Path = ROOT) -> str | None:
    """Return the short hash of the commit, with a plus if sources were changed since."""
    if not (folder / ".git").exists():
        return None
    try:
        commit = _run_git(folder, "rev-parse", "--short", "HEAD")
        changed = _run_git(folder, "status", "--porcelain", "--", *SOURCES)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if changed else "")


def _run_git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def join_rows(
    stored: Mapping[str, Any],
    rows: Sequence[dict[str, Any]],
    new: Sequence[dict[str, Any]],
    origin: Mapping[str, Any],
) -> dict[str, Any]:
    """Name the origin of every row; return the origins of a file that is renewed in part.

    Parameters
    ----------
    stored : mapping
        The file as it was, or an empty one.
    rows : sequence of dict
        All rows of the file as it will be. Their entry "origin" is set.
    new : sequence of dict
        Those of the rows that were measured now.
    origin : mapping
        What `Origin.describe` returns for the new rows.
    """
    name, fresh = origin["measured"]["start"], {id(row) for row in new}
    for row in rows:
        row["origin"] = name if id(row) in fresh else row.get("origin", NOT_STORED)
    counts = Counter(row["origin"] for row in rows)
    known = {NOT_STORED: {"machine": stored.get("machine")}, **stored.get("origins", {})}
    origins = {
        one: {**found, "rows": counts[one]}
        for one, found in {**known, name: origin}.items()
        if one in counts
    }
    return {**origin, "origins": origins}


def replace_rows(
    stored: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return stored rows, with those replaced that were measured again and new ones at the end.

    Rows with equal values of the named entries are of the same measurement.
    """
    merged = {tuple(row[name] for name in names): row for row in (*stored, *new)}
    return list(merged.values())


def list_origins(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return where the figures of a file come from: one origin, or several if it is in parts."""
    for name in ("origins", "data_sets"):
        if name in document:
            return list(document[name].values())
    return [document]


def describe(document: Mapping[str, Any]) -> str:
    """Return a line on when, on which machine and by which command figures were measured."""
    origins = list_origins(document)
    if len(origins) == 1:
        return f"*Measured {describe_origin(origins[0])}*"
    counts = ["1 entry" if one["rows"] == 1 else f"{one['rows']} entries" for one in origins]
    lines = zip(counts, map(describe_origin, origins), strict=True)
    return "\n\n".join(f"*{count} measured {line}*" for count, line in lines)


def describe_origin(origin: Mapping[str, Any]) -> str:
    """Return date, machine, command, commit and versions of one origin."""
    machine, measured = origin["machine"], origin.get("measured")
    versions = ", ".join(
        f"{name} {number}" for name, number in machine["versions"].items() if number
    )
    threads = "1 thread" if machine["threads"] == 1 else f"{machine['threads']} threads"
    place = f"on {machine['processor']}, {threads}, {machine['instruction_set']}"
    software = f"Python {machine['python']}, {versions}."
    if measured is None:
        return f"({NOT_STORED}) {place}; {software}"
    commit = f" at {measured['commit']}" if measured["commit"] else ""
    return (
        f"on {measured['start'][:10]} {place}, with `{measured['command']}`{commit}; {software}"
        + describe_load(measured)
    )


def describe_load(measured: Mapping[str, Any]) -> str:
    """Return a sentence on a machine that was busy when the measurement began, or nothing."""
    busy = measured["busy"]
    if busy is None or busy <= BUSY:
        return ""
    return f" The machine was busy: others used {busy:.1f} processors at the start."

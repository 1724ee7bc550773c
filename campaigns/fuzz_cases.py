"""One damaged file: how it is made from a seed, who reads it, and what counts as a good end.

A good end is rows (or labels, a model, a page, a fit) or one sentence of the package. Everything
else breaks a promise: another exception, a sentence of two lines or with unprintable characters,
too much memory. Crashes and hangs are noticed by `fuzz_files`, which runs cases in processes of
their own.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import resource
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_seeds import PROJECTIONS, ROWS, Seed, fit_steps
from mutations import damage, mutate

from projected_kmeans import load_model, open_rows
from projected_kmeans.commands.main import main
from projected_kmeans.messages import MAX_SENTENCE
from projected_kmeans.reports.files import load_report
from projected_kmeans.reports.page import render_report
from projected_kmeans.running import checkpoint as running_checkpoint
from projected_kmeans.sources.open_rows import read_labels

MAX_BYTES = 2**30
BLOCK_BYTES = 2**22
READ_BYTES = 2**26  # rows beyond these are not read

GOOD = ("rows", "sentence", "reader ended")
PROGRAM = "projected-kmeans"
NAMED = ("csv", "parquet", "feather", "feather plain")


@dataclass(frozen=True)
class Case:
    """A seed with one damaged file.

    Attributes
    ----------
    index : int
        The number of the case, which fixes the damage.
    seed : Seed
        The sound files.
    victim : str
        Which of them is damaged.
    content : bytes
        What it holds.
    forged : bool
        Whether its checksums may fit.
    by_command : bool
        Whether it is read by the command line.
    """

    index: int
    seed: Seed
    victim: str
    content: bytes
    forged: bool
    by_command: bool


@dataclass(frozen=True)
class End:
    """How a case ended: one of `GOOD`, or what broke a promise; and the sentence or the error."""

    outcome: str
    detail: str = ""


class Broken(Exception):
    """A reader returned, but not what it promises."""


def make_case(seeds: Sequence[Seed], key: int, index: int, command_share: float) -> Case:
    """Return a case. The same key and index give the same case, in any process."""
    draw = random.Random(f"{key}-{index}")
    seed = draw.choices(seeds, [one.weight for one in seeds])[0]
    victims = [name for name in seed.files if not name.endswith("rows.npy") or seed.kind == "rows"]
    if seed.kind == "report":
        victims = [name for name in victims if name.endswith(("report.json", "result.json"))]
    victim, others = draw.choice(victims), list(draw.choice(seeds).files.values())
    plain = draw.random() < 0.4
    change = damage if plain else lambda *given: mutate(victim, *given)
    content = change(seed.files[victim], draw, others)
    by_command = seed.kind != "checkpoint" and draw.random() < command_share
    return Case(index, seed, victim, content, not plain, by_command)


def write_seed(seed: Seed, folder: Path) -> Path:
    """Write the sound files of a seed; return their folder."""
    place = folder / seed.name.replace(" ", "_")
    shutil.rmtree(place, ignore_errors=True)
    for name, content in seed.files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


def run_case(case: Case, folder: Path) -> End:
    """Write the files of a case into a folder, have them read, and return how that ended."""
    place = folder / case.seed.name.replace(" ", "_")
    if case.seed.kind in ("checkpoint", "report") or not place.exists():
        write_seed(case.seed, folder)
    if case.victim.endswith("result.json"):  # a report.json beside it would be read instead
        (place / case.victim).with_name("report.json").unlink(missing_ok=True)
    path = place / case.victim
    path.write_bytes(case.content)
    try:
        end = judge(lambda: read_case(case, place))
    finally:
        path.write_bytes(case.seed.files[case.victim])
    is_fit = case.seed.kind == "checkpoint" and not case.forged
    if is_fit and end.outcome == "sentence":
        return End("error where time was promised", end.detail)
    if end.outcome in GOOD and peak_bytes() > MAX_BYTES:
        return End("memory", f"{peak_bytes()} bytes")
    return end


def judge(read: Callable[[], None]) -> End:
    """Call a reader and return how it ended."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read()
    except ValueError as error:
        text = str(error)
        own = type(error) is ValueError or type(error).__module__.startswith("projected_kmeans.")
        if not own or not text or not text.isprintable() or len(text) > MAX_SENTENCE:
            return End(type(error).__name__, text[:500])
        return End("reader ended" if "its reader" in text else "sentence", text[:200])
    except MemoryError as error:
        return End("memory", str(error)[:500])
    except Exception as error:
        return End(type(error).__name__, str(error)[:500])
    return End("rows")


def read_case(case: Case, place: Path) -> None:
    """Read the files of a case as a user would."""
    path = place / case.seed.opens
    if case.by_command:
        run_command(case, path, place)
    elif case.seed.kind == "checkpoint":
        go_on(path, same=not case.forged)
    else:
        READERS[case.seed.kind](path)


def read_rows(path: Path) -> None:
    """Read the first rows of a data file, block by block."""
    with open_rows(path) as source:
        n_rows, n_columns = source.shape
        width = max(1, n_columns * source.dtype.itemsize)
        step, stop = max(1, BLOCK_BYTES // width), min(n_rows, max(1, READ_BYTES // width))
        for start in range(0, stop, step):
            end = min(start + step, stop)
            rows = source.read(start, end)
            if rows.shape != (end - start, n_columns) or rows.dtype != source.dtype:
                raise Broken(f"{rows.shape} {rows.dtype} of {source.shape} {source.dtype}")


def predict(path: Path) -> None:
    """Load a model and label rows with it."""
    model = load_model(path)
    labels = model.predict(ROWS)
    if len(labels) != len(ROWS) or labels.max() >= len(model.cluster_centers_):
        raise Broken("labels are out of range")


@cache
def _whole_labels(projection: str) -> tuple[int, ...]:
    return tuple(fit_steps(ROWS, None, projection).labels_.tolist())


def go_on(path: Path, *, same: bool) -> None:
    """Go on with a fit from its checkpoint; if ``same``, to the labels of the whole fit."""
    running_checkpoint.SECONDS_BETWEEN_WRITES = running_checkpoint.WORK_PER_WRITE = 0.0
    projection = PROJECTIONS[path.parent.name]
    labels = fit_steps(ROWS, path, projection).labels_
    if set(labels.tolist()) - {0, 1, 2} or len(labels) != len(ROWS):
        raise Broken("labels are out of range")
    if same and tuple(labels.tolist()) != _whole_labels(projection):
        raise Broken("a damaged checkpoint has changed the labels")


READERS: dict[str, Callable[[Path], object]] = {
    "rows": read_rows,
    "labels": read_labels,
    "model": predict,
    "report": lambda path: render_report(load_report(path)),
}


def run_command(case: Case, path: Path, place: Path) -> None:
    """Read a case by the command line, which must end with exit code 0, or 2 and one sentence."""
    np.save(place / "sound.npy", ROWS)
    np.save(place / "truth.npy", np.arange(len(ROWS)) % 3)
    sound, out = place / "sound.npy", place / "out"
    rows = [
        ["fit", path, "-k", 2, "--quiet", "--threads", 1],
        ["fit", path, "-k", 2, "--out", out],
        ["certify", path, place / "truth.npy", "--quiet"],
    ]
    if case.seed.name in NAMED:  # files whose columns have names
        written = ["--id-column", "a", "--out-labels", place / "ids.csv"]
        rows += [
            ["fit", path, "-k", 2, "--quiet", *written],
            ["fit", path, "-k", 2, "--quiet", "--label-column", "b"],
        ]
    words: dict[str, list[list[Any]]] = {
        "rows": rows,
        "labels": [["certify", sound, path, "--quiet"]],
        "model": [["predict", path, sound, "--quiet"]],
        "report": [["report", path, "--out", place / "page.html"]],
    }
    choices = words[case.seed.kind]
    call = [str(word) for word in choices[case.index % len(choices)]]
    printed, told = io.StringIO(), io.StringIO()
    code: Any = None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(told):
        try:
            main(call)
        except SystemExit as left:
            code = left.code or 0
    lines = told.getvalue().splitlines()
    errors = [line for line in lines if not line.startswith(f"{PROGRAM}: warning: ")]
    sentence = f"{PROGRAM}: error: "
    good = code == 0 and not errors
    refused = code == 2 and len(errors) == 1 and errors[0].startswith(sentence)
    if refused:
        raise ValueError(errors[0].removeprefix(sentence))
    if not good:
        raise Broken(f"{call[0]} ended with {code}: {told.getvalue()[:400]}")


def peak_bytes() -> int:
    """Return the largest memory of this process and of the processes that it started."""
    peaks = [
        resource.getrusage(who).ru_maxrss * 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    with contextlib.suppress(OSError):
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        for child in children:
            status = Path(f"/proc/{child}/status").read_text()
            if "VmHWM:" in status:  # a process that has ended and is not waited for has no memory
                peaks.append(int(status.partition("VmHWM:")[2].split()[0]) * 1024)
    return max(peaks)

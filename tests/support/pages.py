"""The code of a page, run from its top to its bottom in a folder of its own.

What is in a fence of Python or bash runs; a fence of text below it is what that prints.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from projected_kmeans.commands import main as cli

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PROGRAM = "projected-kmeans"

# Words that begin lines of a shell which set up a machine rather than show the program.
NOT_RUN = ("pip", "make", "eval", "man", "python")


class Fence(NamedTuple):
    """A fenced part of a page."""

    language: str
    text: str


def find_fences(page: Path) -> list[Fence]:
    """Return the fenced parts of a page in their order."""
    return [Fence(*found) for found in FENCE.findall(page.read_text(encoding="utf-8"))]


def make_data(folder: Path) -> None:
    """Write the files that pages speak of without making them: rows.npy, more.npy, lake/, ..."""
    stream = np.random.default_rng(0)
    rows = stream.normal(size=(8, 16))[stream.integers(8, size=1200)] * 4
    rows = (rows + stream.normal(size=rows.shape)).astype(np.float32)
    np.save(folder / "rows.npy", rows[:120])
    np.save(folder / "more.npy", rows[120:220])
    # Wide enough to be reduced, because every pass over rows on Dask takes time.
    wide = np.hstack([np.roll(rows, step, axis=0) for step in range(16)])
    table = pd.DataFrame(wide, columns=[f"x{column}" for column in range(wide.shape[1])])
    (folder / "lake").mkdir()
    table[:700].to_parquet(folder / "lake" / "part1.parquet")
    table[700:].to_parquet(folder / "lake" / "part2.parquet")
    table[:300].to_parquet(folder / "lake.parquet")
    table[:100].to_parquet(folder / "more.parquet")


def run_page(page: Path) -> int:
    """Run the code of a page in the present folder; return how many fences were run."""
    names: dict[str, Any] = {"__name__": "page"}
    printed: str | None = None
    n_run = 0
    for fence in find_fences(page):
        if fence.language == "python":
            printed = run_python(fence.text, names, page.name)
            n_run += 1
        elif fence.language == "bash":
            printed = run_shell(fence.text)
            n_run += 1
        elif fence.language == "text" and printed is not None:
            checker = doctest.OutputChecker()
            assert checker.check_output(fence.text, printed, FLAGS), (
                f"{page.name} shows\n{fence.text}\nbut this is printed:\n{printed}"
            )
            printed = None
    return n_run


def run_python(text: str, names: dict[str, Any], name: str) -> str:
    """Run an example with prompts, or a plain program; return what the latter prints."""
    out = io.StringIO()
    if ">>>" in text:
        example = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
        runner = doctest.DocTestRunner(optionflags=0)
        failed = runner.run(example, out=out.write, clear_globs=False).failed
        names.update(example.globs)
        assert failed == 0, out.getvalue()
        return ""
    with contextlib.redirect_stdout(out):
        exec(compile(text, name, "exec"), names)
    return out.getvalue()


def run_shell(text: str) -> str:
    """Run the lines that call the program; return what they print."""
    out, err = io.StringIO(), io.StringIO()
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] in NOT_RUN:
            continue
        assert words[0] == PROGRAM, f"{line!r} is no line that pages may show"
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as left,
        ):
            cli.main(words[1:])
        assert left.value.code == 0, f"{line}\n{err.getvalue()}"
    return out.getvalue()

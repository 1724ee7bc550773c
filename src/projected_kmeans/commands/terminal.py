"""What commands draw on a terminal: the live display of a running fit, and tables.

In a pipe there is no display, and no callback that could slow the fit down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.table import Table

from projected_kmeans.result_tables import ResultTable
from projected_kmeans.results import FitState
from projected_kmeans.running.progress_lines import UNITS

# Steps that always count to their end. The others may converge earlier, so that the time left is a
# maximum.
FIXED = {"check", "reduce", "seed", "lift", "predict"}
# The widest table in characters; wider ones are folded.
MAX_WIDTH = 1000


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[Callable[[FitState], bool] | None]:
    """Open a live display on the standard error stream; yield the callback that feeds it.

    The callback is None if nothing is drawn.
    """
    console = Console(stderr=True)
    if quiet or not console.file.isatty():  # not console.is_terminal, which FORCE_COLOR can turn on
        yield None
        return
    with _open_display(console) as display:
        yield _feed(display)


def describe_pace(state: FitState) -> str:
    """Return the rate of a step and the time that is left, as far as they are known."""
    if state.rate is None:
        return ""
    rate = f"{state.rate:,.0f}" if state.rate >= 100 else f"{state.rate:.3g}"
    words = [f"{rate} {UNITS.get(state.step, 'steps')}/s"]
    if state.read_rate is not None:
        words.append(f"{state.read_rate / 1e6:,.3g} MB/s")
    if state.remaining:
        limit = "" if state.step in FIXED else "at most "
        words.append(f"{limit}{_describe_time(state.remaining)} left")
    return ", ".join(words)


def _describe_time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _open_display(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),  # moves even in a step that reports no progress
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=20),
        TextColumn("{task.completed:>5.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[detail]}"),
        console=console,
        transient=True,
    )


def _feed(display: Progress) -> Callable[[FitState], bool]:
    """Return a callback that draws one line for each step and never stops the fit."""
    tasks: dict[str, TaskID] = {}

    def update(state: FitState) -> bool:
        if state.step not in tasks:
            for task in display.tasks:  # a step that converged early is complete
                done = max(task.completed, 1)
                display.update(task.id, completed=done, total=done)
            tasks[state.step] = display.add_task(state.step, total=state.total, detail="")
        details = [
            f"{state.seconds:.1f} s",
            describe_pace(state),
            f"restart {state.restart + 1}" if state.restart else "",
            "" if state.inertia is None else f"inertia {state.inertia:.6g}",
        ]
        display.update(
            tasks[state.step],
            completed=state.iteration,
            total=max(state.total, state.iteration, 1),
            detail=", ".join(filter(None, details)),
        )
        return False

    return update


def print_results(content: ResultTable, mark: str) -> None:
    """Print a table of results; `mark` stands beside the answer.

    A table that is wider than the terminal keeps all its digits.
    """
    table = Table(title=content.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for place, head in enumerate(content.heads):
        table.add_column(head, justify="right" if place else "left", no_wrap=True)
    for index, row in enumerate(content.rows):
        first = f"{row[0]} {mark}" if index == content.marked else row[0]
        table.add_row(escape(first), *map(escape, row[1:]))
    console = Console()
    needed = Measurement.get(console, console.options.update(max_width=MAX_WIDTH), table).maximum
    Console(width=max(console.width, needed)).print(table)


def list_files(files: Sequence[Path]) -> str:
    """Return the folder that files were written to, and their names."""
    return f"written to {files[0].parent}: {', '.join(file.name for file in files)}"

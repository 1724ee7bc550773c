"""The live display of a fit on a terminal, fed by the estimator's callback.

In a pipe there is no display, and no callback that could slow the fit down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from projected_kmeans.results import FitState
from projected_kmeans.running.progress_lines import UNITS

__all__ = ["describe_pace", "show_progress"]

# Steps that always count to their end. The others may converge earlier, so that the time left is a
# maximum.
FIXED = {"check", "reduce", "seed", "lift", "predict"}


@contextmanager
def show_progress(
    console: Console | None = None, *, quiet: bool = False
) -> Iterator[Callable[[FitState], bool] | None]:
    """Open a live display of a fit.

    Parameters
    ----------
    console : rich.console.Console or None
        Where to draw; None draws on the standard error stream.
    quiet : bool
        Whether to draw nothing, even on a terminal.

    Yields
    ------
    callable or None
        The callback to give to the estimator; None unless the console is a terminal.

    Examples
    --------
    >>> import io
    >>> with show_progress(Console(file=io.StringIO())) as callback:
    ...     print(callback)
    None
    """
    console = console or Console(stderr=True)
    if quiet or not console.file.isatty():  # not console.is_terminal, which FORCE_COLOR can turn on
        yield None
        return
    with _open_display(console) as display:
        yield _feed(display)


def describe_pace(state: FitState) -> str:
    """Return the rate of a step and the time that is left, as far as they are known.

    Examples
    --------
    >>> describe_pace(FitState("reduce", 0, 500, 2000, None, 0.1, 5000.0, 0.3, 4e6))
    '5,000 rows/s, 4 MB/s, 0.3 s left'
    >>> describe_pace(FitState("cluster", 0, 5, 300, 12.5, 0.1, 50.0, 5.9))
    '50 passes/s, at most 5.9 s left'
    """
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

"""Errors on the command line: one sentence and exit code 2, whatever was raised."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from distributed import KilledWorker

from projected_kmeans.blocks.dask.cluster_errors import ClusterError, explain_cluster_error
from projected_kmeans.commands import failures
from projected_kmeans.commands import main as cli
from projected_kmeans.commands.failures import DEFECT, describe_failure
from tests.support.commands import Call, check_refusal


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the command fit end in an error."""

    def work(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("projected_kmeans.commands.fit_job.open_data", work)


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (KeyError("seed"), ["unexpected KeyError ('seed')", DEFECT]),
        (IndexError("list index\nout of range"), ["IndexError (list index out of range)", DEFECT]),
        (OverflowError("too large"), ["unexpected OverflowError (too large)", DEFECT]),
        (RecursionError(), ["unexpected RecursionError; this is a defect", DEFECT]),
        (asyncio.CancelledError(), ["unexpected CancelledError", DEFECT]),
        (concurrent.futures.CancelledError(), ["unexpected CancelledError", DEFECT]),
        (ValueError(), ["unexpected ValueError; this is a defect"]),
        (GeneratorExit(), ["unexpected GeneratorExit"]),
        (ExceptionGroup("two", [KeyError(1), KeyError(2)]), ["unexpected ExceptionGroup", DEFECT]),
        (MemoryError(), ["more memory was asked for than", "at hand; set --memory-limit, or"]),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), ["more memory was asked for than"]),
        (TimeoutError(), ["the system refused an operation (TimeoutError); check"]),
        (
            PermissionError(errno.EACCES, "Permission denied", "rows.npy"),
            ["rows.npy cannot be used (Permission denied); check the path"],
        ),
        (ConnectionResetError(104, "Connection reset by peer"), ["(Connection reset by peer)"]),
        (
            UnicodeEncodeError("ascii", "r\u00e4ume", 1, 2, "ordinal not in range(128)"),
            ["'\\xe4' cannot be written in the encoding ascii; set PYTHONIOENCODING=utf-8"],
        ),
        (ClusterError("the scheduler was lost; start it"), ["error: the scheduler was lost;"]),
        (
            ValueError("a \x1b[2J" + "x" * 9999 + "; give b"),
            ["a \\x1b[2Jxx", " ... xx", "; give b"],
        ),
        (OSError(2, "no file", "a\x07\n"), ["a\\x07 cannot be used (no file);"]),
        (BrokenPipeError(32, "Broken pipe"), ["the system refused an operation (Broken pipe)"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_error_is_one_sentence(
    call: Call,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    parts: list[str],
) -> None:
    """Nothing that is raised inside a command reaches the terminal as a traceback."""
    fail_with(monkeypatch, error)
    check_refusal(call("fit", data, "-k", 3), *parts)


def test_a_killed_worker_is_one_sentence() -> None:
    """What Dask says of a task that ends its workers becomes a sentence with advice."""
    worker = SimpleNamespace(address="tcp://127.0.0.1:1")
    client = SimpleNamespace(scheduler=SimpleNamespace(address="tcp://127.0.0.1:2"))
    told = describe_failure(explain_cluster_error(KilledWorker("task", worker, 3), client))
    assert told.startswith("one task has ended 4 Dask workers, perhaps because their memory is")


def test_debug_adds_the_traceback(call: Call, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--debug before or after the command prints the traceback, then the same sentence."""
    fail_with(monkeypatch, KeyError("seed"))
    sentence = call("fit", data, "-k", 3).err
    for words in (("--debug", "fit", data, "-k", 3), ("fit", "--debug", data, "-k", 3)):
        run = call(*words)
        assert (run.code, run.out) == (2, "")
        assert run.err.startswith("Traceback (most recent call last):\n")
        assert "raise error\nKeyError: 'seed'\n" in run.err
        assert run.err.endswith(sentence)


def test_every_command_takes_debug(call: Call) -> None:
    """The help of every command and of the program names --debug, each once."""
    for name in ([], *([one] for one in cli.COMMANDS)):
        assert call(*name, "--help").out.count("--debug") == 1
        assert call(*name, "--help").out.count("--debug") == 1


def test_too_little_memory_to_describe_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the description of an error fails for want of memory, a shorter one is printed."""

    def fail(error: BaseException) -> str:
        raise MemoryError

    monkeypatch.setattr(failures, "_describe", fail)
    assert describe_failure(MemoryError()).startswith("out of memory; set --memory-limit")


def test_an_error_of_click_is_one_line() -> None:
    """Messages of click that have several lines are joined."""
    assert describe_failure(click.UsageError("one\ntwo")) == "one two"

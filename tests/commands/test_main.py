"""The entry point: help, suggestions, colours, and one sentence with options for every error."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import json
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import KilledWorker

from projected_kmeans.blocks.dask.cluster_errors import ClusterError, explain_cluster_error
from projected_kmeans.commands import main as cli
from projected_kmeans.commands.main import COMMANDS, DEFECT, describe_failure, speak_options
from tests.support.commands import ROWS, Call, check_refusal


def test_help_teaches_with_an_example(call: Call) -> None:
    """The help of every command holds a line that can be typed."""
    for command in ([], *([name] for name in COMMANDS)):
        run = call(*command, "--help")
        assert (run.code, run.err) == (0, "")
        assert "  projected-kmeans " in run.out
    assert call().out == call("--help").out


def test_help_loads_nothing_that_computes() -> None:
    """The help of all commands comes without NumPy, and so without all that is built on it."""
    heavy = "numpy", "scipy", "sklearn", "rich", "dask", "projected_kmeans.estimator"
    script = f"""
import sys
from projected_kmeans.commands.main import commands
for name in {[*COMMANDS]}:
    commands.main([name, "--help"], standalone_mode=False)
print([name for name in {heavy} if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_version(call: Call) -> None:
    """--version names the program and its version."""
    assert call("--version").out.startswith("projected-kmeans, version ")


def test_missing_words_are_named(call: Call, data: Path) -> None:
    """A missing option or argument is named in one sentence."""
    check_refusal(call("fit", data), "Missing option", "-k")
    check_refusal(call("fit"), "Missing argument", "DATA")


def test_a_missing_file_is_named(call: Call, tmp_path: Path) -> None:
    """The sentence says what to do, and nothing stands beside it."""
    path = tmp_path / "none.npy"
    sentence = f"projected-kmeans: error: {path} does not exist; check the path\n"
    for words in (("fit", path, "-k", 3), ("choose-k", path), ("plan", path, "-k", 3)):
        assert (call(*words).err, call(*words).code) == (sentence, 2)


def test_warnings_are_one_line(call: Call, tmp_path: Path) -> None:
    """Fewer distinct points than clusters are a warning on stderr, and a result."""
    np.save(tmp_path / "rows.npy", np.repeat(np.eye(2), 5, axis=0))
    run = call("fit", tmp_path / "rows.npy", "-k", 4, "--json")
    assert run.code == 0, run
    json.loads(run.out)
    assert run.err.startswith("projected-kmeans: warning: ")
    assert run.err.count("\n") == 1


def test_warnings_of_several_lines_are_joined(
    call: Call, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning that quotes a file becomes one printable line, as an error does."""

    def work(*arguments: object, **options: object) -> None:
        warnings.warn("column one\n\x1b[2Jis bad", UserWarning, stacklevel=1)
        raise ValueError("stop")

    monkeypatch.setattr("projected_kmeans.commands.data.open_data", work)
    told, error = call("fit", data, "-k", 3).err.splitlines()
    assert told == "projected-kmeans: warning: column one \\x1b[2Jis bad"
    assert error == "projected-kmeans: error: stop"


@pytest.mark.parametrize("command", ["fit", "demo", "predict"])
def test_output_is_checked_before_the_work(
    call: Call, data: Path, model: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An output path under a regular file is refused before any long work, and nothing is left."""

    def work(*arguments: object, **options: object) -> None:
        pytest.fail("the work has started")

    works = {
        "demo": "demo.comparison.run_demo",
        "fit": "commands.data.open_data",
        "predict": "estimator.model_files.load_model",
    }
    monkeypatch.setattr(f"projected_kmeans.{works[command]}", work)
    before = sorted(data.parent.rglob("*"))
    out = data / "deep" / "labels.npy"
    arguments: dict[str, list[object]] = {
        "fit": [data, "-k", 3],
        "demo": ["--n-samples", 400],
        "predict": [model, data],
    }
    check_refusal(call(command, *arguments[command], "--out", out), "cannot be written", str(data))
    assert sorted(data.parent.rglob("*")) == before


def test_too_little_memory(call: Call, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little memory is one sentence too."""

    def work(*arguments: object, **options: object) -> None:
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr("projected_kmeans.commands.data.open_data", work)
    check_refusal(call("fit", data, "-k", 3), "Unable to allocate 7 TiB")


def test_interruption_leaves_nothing(
    call: Call, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends with one line, exit code 130 and no empty folder."""

    def work(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("projected_kmeans.commands.data.open_data", work)
    run = call("fit", data, "-k", 3, "--out", tmp_path / "out")
    assert run.code == 130
    assert run.err.strip() == "projected-kmeans: interrupted"
    assert not (tmp_path / "out").exists()


def test_mistyped_options_and_commands(call: Call, data: Path) -> None:
    """What is near to a known word is suggested, and else where to look."""
    check_refusal(
        call("fit", data, "--cluster", 3), "no such option '--cluster'; did you mean '--clusters'?"
    )
    check_refusal(call("fit", data, "-k", 3, "--componets", 5), "--componets", "--components")
    check_refusal(call("fit", data, "--zzz"), "'--zzz'; see projected-kmeans fit --help")
    check_refusal(call("predit", data), "no such command 'predit'; did you mean 'predict'?")
    check_refusal(call("zzz"), "no such command 'zzz'; choose among certify, choose-k")
    check_refusal(call("--versoin"), "no such option '--versoin'; did you mean '--version'?")


def test_quiet_prints_only_what_is_asked_for(call: Call, data: Path, model: Path) -> None:
    """With -q there is no summary; JSON, labels and tables without a file are still printed."""
    out = data.parent / "labels.csv"
    curves = data.parent / "curves.csv"
    for arguments in (
        ("fit", data, "-k", 3, "-q"),
        ("fit", data, "-k", 3, "--quiet", "--out-labels", out),
        ("predict", model, data, "-q", "--out", out),
        ("choose-k", data, "--range", "2:4", "-q", "--out", curves),
    ):
        run = call(*arguments)
        assert (run.code, run.out, run.err) == (0, "", ""), arguments
    assert out.exists()
    assert curves.exists()
    assert json.loads(call("fit", data, "-k", 3, "-q", "--json").out)["key"] == 0
    assert len(call("predict", model, data, "-q").out.split()) == len(ROWS)
    assert "ratio" in call("certify", data, model / "labels.npy", "-q").out
    assert "silhouette" in call("choose-k", data, "--range", "2:4", "-q").out
    check_refusal(call("fit", data, "-k", 0, "-q"), "--clusters 0 is too small")


@pytest.mark.parametrize(
    ("terminal", "environment", "coloured"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_colours_are_for_terminals(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, environment: dict[str, str], coloured: bool
) -> None:
    """The kind of a message is in colour on a terminal, unless NO_COLOR or a dumb one says no."""
    said: list[str] = []
    monkeypatch.setattr(click, "echo", lambda text, **options: said.append(text))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        cli.main(["fit", "nowhere.npy", "-k", "3"])
    assert ("\x1b[" in said[0]) is coloured
    assert "nowhere.npy does not exist" in said[0]


def test_pipes_get_plain_tables(call: Call, data: Path) -> None:
    """What goes to a pipe has no escape sequences."""
    for arguments in (("plan", data, "-k", 3), ("choose-k", data, "--range", "2:3")):
        assert "\x1b" not in call(*arguments).out


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the command fit end in an error."""

    def work(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("projected_kmeans.commands.data.open_data", work)


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
    for command in ([], *([name] for name in COMMANDS)):
        assert call(*command, "--help").out.count("--debug") == 1
        assert call(*command, "--help").out.count("--debug") == 1


def test_too_little_memory_to_describe_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the description of an error fails for want of memory, a shorter one is printed."""

    def fail(error: BaseException) -> str:
        raise MemoryError

    monkeypatch.setattr(cli, "_describe", fail)
    assert describe_failure(MemoryError()).startswith("out of memory; set --memory-limit")


def test_an_error_of_click_is_one_line() -> None:
    """Messages of click that have several lines are joined."""
    assert describe_failure(click.UsageError("one\ntwo")) == "one two"


COMMAND = click.Command(
    "fit",
    params=[
        click.Option(["--columns"]),
        click.Option(["-k", "--clusters", "n_clusters"]),
        click.Option(["--image-size"]),
        click.Option(["--memory-limit"]),
        click.Option(["--variable"]),
        click.Option(["--folder-labels"], is_flag=True),
    ],
)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("choose with columns=['a b', 'c']", "choose with --columns a b,c"),
        ("or choose with columns=[...]", "or choose with --columns A,B"),
        ("n_clusters=9 exceeds n_samples=4", "--clusters 9 exceeds n_samples=4"),
        ("give image_size=(64, 48)", "give --image-size 64x48"),
        ("so folder_labels=True cannot be chosen", "so --folder-labels cannot be chosen"),
        ("but memory_limit leaves 9 bytes", "but --memory-limit leaves 9 bytes"),
        ("choose one with variable", "choose one with --variable"),
        ("a.csv has 3 columns; use fewer columns", "a.csv has 3 columns; use fewer columns"),
        ("give --columns; no n_clusters_=1", "give --columns; no n_clusters_=1"),
    ],
)
def test_parameters_become_options(sentence: str, expected: str) -> None:
    """Values are written as they are typed; words of the sentence stay."""
    assert speak_options(sentence, COMMAND) == expected
    assert speak_options(sentence, None) == sentence


def test_the_command_line_speaks_of_its_options(call: Call, tmp_path: Path) -> None:
    """The advice of an error can be typed."""
    vectors = pa.FixedSizeListArray.from_arrays(np.ones(6, np.float32), 2)
    pq.write_table(pa.table({"id": [1, 2, 3], "embedding": vectors}), tmp_path / "e.parquet")
    check_refusal(call("fit", tmp_path / "e.parquet", "-k", 2), "choose with --columns embedding")
    check_refusal(
        call("fit", tmp_path / "e.parquet", "-k", 9, "--columns", "embedding"),
        "--clusters 9 exceeds",
    )

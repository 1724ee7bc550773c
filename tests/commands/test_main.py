"""The entry point: help, suggestions, colours, and one sentence for every error."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import click
import numpy as np
import pytest

from projected_kmeans.commands import main as cli
from projected_kmeans.commands.command_table import COMMANDS
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

    monkeypatch.setattr("projected_kmeans.commands.fit_job.open_data", work)
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

    for module, name in (
        ("demo", "compare_systems"),
        ("fit", "open_data"),
        ("predict", "load_model"),
    ):
        monkeypatch.setattr(f"projected_kmeans.commands.{module}_job.{name}", work)
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

    monkeypatch.setattr("projected_kmeans.commands.fit_job.open_data", work)
    check_refusal(call("fit", data, "-k", 3), "Unable to allocate 7 TiB")


def test_interruption_leaves_nothing(
    call: Call, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends with one line, exit code 130 and no empty folder."""

    def work(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("projected_kmeans.commands.fit_job.open_data", work)
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

"""The command ``completion``, and the words that the program offers to a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete

from projected_kmeans.commands import main as cli
from tests.support.commands import COMMAND, Call, check_refusal


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(call: Call, shell: str) -> None:
    """Each shell gets a script that asks the program; another shell is refused."""
    run = call("completion", shell)
    assert (run.code, run.err) == (0, "")
    assert f"_PROJECTED_KMEANS_COMPLETE={shell}_complete" in run.out
    check_refusal(call("completion", "tcsh"), "tcsh")
    program = shutil.which(shell)
    if program is not None:
        check = [program, "--no-execute"] if shell == "fish" else [program, "-n"]
        subprocess.run(
            [*check, "-"] if shell == "zsh" else check, input=run.out.encode(), check=True
        )


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("fit rows.npy --cl", ["plain --clusters"]),
        ("fit --solver h", ["plain hartigan"]),
        ("fit ro", ["file ro"]),
        ("predict model --out la", ["file la"]),
        ("--v", ["plain --version"]),
    ],
)
def test_words_are_completed(words: str, offered: list[str]) -> None:
    """The program offers what may come next: options, choices, files."""
    shell = BashComplete(cli.commands, {}, "projected-kmeans", "_PROJECTED_KMEANS_COMPLETE")
    *before, last = words.split()
    found = shell.get_completions(before, last)
    assert [f"{item.type} {item.value}" for item in found] == offered


def test_commands_are_completed() -> None:
    """Asked by a shell, the program offers commands, and imports no numerical package for it."""
    environment = os.environ | {
        "_PROJECTED_KMEANS_COMPLETE": "bash_complete",
        "COMP_WORDS": "projected-kmeans c",
        "COMP_CWORD": "1",
    }
    program = f"import sys; sys.modules['numpy'] = None; {COMMAND[-1]}"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.split() == [
        "plain,certify",
        "plain,choose-k",
        "plain,compare",
        "plain,completion",
    ]

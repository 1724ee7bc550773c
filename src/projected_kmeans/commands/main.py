"""The entry point: find the command, run it, and turn every error into one sentence.

It computes nothing and shows a traceback only with ``--debug``. Exit codes: 0 done, 1 the reader of
the output has closed the pipe, 2 an error, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import os
import select
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from projected_kmeans.commands.command_table import (
    COMMANDS,
    INTERRUPTED,
    PROGRAM,
    function_of,
    module_of,
)
from projected_kmeans.commands.failures import describe_failure
from projected_kmeans.commands.option_words import speak_options
from projected_kmeans.messages import one_line, suggest
from projected_kmeans.running.interrupts import Terminated, raise_at_termination

READER_LEFT = 1
DEBUG = "--debug"
DEBUG_HELP = "Print the traceback of an error before its sentence, to report a defect."


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit the process with its exit code.

    Parameters
    ----------
    arguments : sequence of str or None
        The words after the program's name; None takes those that the process was started with.
    """
    _open_missing_streams()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        with raise_at_termination():
            code = _run(arguments)
        sys.exit(code)


def _open_missing_streams() -> None:
    """Let output go nowhere where the caller has closed a stream, which Python sets to None.

    Not all versions of click and rich can write to None.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (open until the end)


def _run(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        # A command that prints how to repeat itself finds its words in the context.
        code = commands.main(words, prog_name=PROGRAM, standalone_mode=False, obj=words)
        sys.stdout.flush()
        return code or 0
    except (click.Abort, KeyboardInterrupt):
        _say(f"{PROGRAM}: interrupted")
        return INTERRUPTED
    except Terminated as ended:
        _say(f"{PROGRAM}: terminated")
        return ended.exit_code
    except SystemExit:
        raise
    except _BrokenPipe as found:
        return _fail(found.error, words)
    except BaseException as error:  # also CancelledError, which is no Exception
        return _fail(error, words)


def _fail(error: BaseException, words: Sequence[str]) -> int:
    """Say what went wrong, unless the reader of the output has left; return the exit code."""
    reader_left = isinstance(error, BrokenPipeError) and _has_reader_left()
    _drop_output_left()
    if reader_left:
        return READER_LEFT
    if DEBUG in words:
        _say("".join(traceback.format_exception(error)).rstrip())
    _tell("error", "red", speak_options(describe_failure(error), _find_command(words)))
    return 2


def _find_command(words: Sequence[str]) -> click.Command | None:
    """Return the command that was called, if its module was imported; it may have failed there."""
    for word in words:
        if word in COMMANDS and module_of(word) in sys.modules:
            found = getattr(sys.modules[module_of(word)], function_of(word), None)
            return found if isinstance(found, click.Command) else None
    return None


def _has_reader_left() -> bool:
    """Return whether the standard output is a pipe whose reader has closed it, as head does."""
    if sys.platform == "win32":
        return True  # it cannot be asked, and the output is the likeliest pipe to break
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLOUT)
    except (AttributeError, OSError):  # no standard output, or one in memory
        return False
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _drop_output_left() -> None:
    """Drop what was printed and cannot be written, because Python would complain at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, *place: object, **options: object) -> None:
    _tell("warning", "yellow", one_line(str(message)))


def _tell(kind: str, colour: str, sentence: str) -> None:
    """Print a sentence to the standard error stream, its kind in colour on a terminal."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    if sys.stderr.isatty() and not plain:
        kind = click.style(kind, fg=colour)
    _say(f"{PROGRAM}: {kind}: {sentence}")


def _say(text: str) -> None:
    """Print to the standard error stream. If it is closed, the exit code must say it all."""
    with suppress(OSError, ValueError):
        click.echo(text, err=True)


# `_run` looks for it among the words, because the context is gone when an error arrives there.
debug_option = click.Option([DEBUG], is_flag=True, expose_value=False, help=DEBUG_HELP)


class _BrokenPipe(Exception):
    """A broken pipe of the output, or of anything else that a command writes to."""

    def __init__(self, error: BrokenPipeError) -> None:
        super().__init__(str(error))
        self.error = error


class LazyCommands(click.Group):
    """The group of all commands, which imports a command when it is called or asked for help."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command; hide a broken pipe from click, which takes each for the output's."""
        try:
            return super().invoke(context)
        except BrokenPipeError as error:
            raise _BrokenPipe(error) from error

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return the command of that name, or None if there is no such command."""
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(module_of(name)), function_of(name))
        if debug_option not in command.params:
            command.params.append(debug_option)
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names, or raise and suggest the nearest name."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            advice = suggest(args[0], COMMANDS, f"choose among {', '.join(COMMANDS)}")
            raise click.UsageError(f"no such command {args[0]!r}; {advice}", context)
        return super().resolve_command(context, args)

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return matching commands and options, from the table.

        The method of click's own group would import all commands for their help.
        """
        found = [
            CompletionItem(name, help=COMMANDS[name])
            for name in self.list_commands(context)
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, context, incomplete)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview from the table.

        The method of click's own group would import all commands for their help.
        """
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(context)])


@click.group(
    cls=LazyCommands,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND] [ARGS]...",  # click 8.1 says by itself that it is needed
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(DEBUG, is_flag=True, expose_value=False, help=DEBUG_HELP)
@click.version_option(package_name="projected_kmeans", prog_name=PROGRAM)
@click.pass_context
def commands(context: click.Context) -> None:
    """Cluster rows of numbers by k-means on projected data.

    Data with many columns is first reduced to a few dozen dimensions: by default the principal
    directions of the rows, or a random projection. The reduced rows are clustered. The centers and
    scores of the result are those of the original columns.

    \b
    Try it on built-in data, then on your own:
      projected-kmeans demo
      projected-kmeans fit rows.npy -k 40 --out model
      projected-kmeans predict model more.npy --out labels.npy
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())

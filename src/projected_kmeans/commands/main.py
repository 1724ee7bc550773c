"""The entry point: find the command, run it, and turn every error into one sentence.

It computes nothing and shows no traceback. Exit codes: 0 done, 1 the reader of the output has
closed the pipe, 2 an error, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from projected_kmeans.commands.command_table import (
    COMMANDS,
    INTERRUPTED,
    PROGRAM,
    function_of,
    module_of,
)
from projected_kmeans.running.interrupts import Terminated, raise_at_termination
from projected_kmeans.suggestions import suggest


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit the process with its exit code.

    Parameters
    ----------
    arguments : sequence of str or None
        The words after the program's name; None takes those that the process was started with.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        with raise_at_termination():
            code = _run(arguments)
        sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        words = sys.argv[1:] if arguments is None else list(arguments)
        # A command that prints how to repeat itself finds its words in the context.
        code = commands.main(words, prog_name=PROGRAM, standalone_mode=False, obj=words)
        sys.stdout.flush()
        return code or 0
    except click.NoSuchOption as error:
        place = PROGRAM if error.ctx is None else error.ctx.command_path
        advice = suggest(error.option_name, error.possibilities or (), f"see {place} --help")
        sentence = f"no such option {error.option_name!r}; {advice}"
    except click.ClickException as error:
        sentence = error.format_message()
    except (click.Abort, KeyboardInterrupt):
        click.echo(f"{PROGRAM}: interrupted", err=True)
        return INTERRUPTED
    except Terminated as ended:
        click.echo(f"{PROGRAM}: terminated", err=True)
        return ended.exit_code
    except BrokenPipeError:  # the reader has closed the pipe, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        sentence = f"out of memory ({error or 'no details'}); use fewer rows"
    except (ValueError, TypeError, OSError) as error:
        sentence = " ".join(str(error).split())
    _tell("error", "red", sentence)
    return 2


def _show_warning(message: Warning | str, *place: object, **options: object) -> None:
    _tell("warning", "yellow", " ".join(str(message).split()))


def _tell(kind: str, colour: str, sentence: str) -> None:
    """Print a sentence to the standard error stream, its kind in colour on a terminal."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    if sys.stderr.isatty() and not plain:
        kind = click.style(kind, fg=colour)
    click.echo(f"{PROGRAM}: {kind}: {sentence}", err=True)


class LazyCommands(click.Group):
    """The group of all commands, which imports a command when it is called or asked for help."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return the command of that name, or None if there is no such command."""
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(module_of(name)), function_of(name))
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
    context_settings={"help_option_names": ["-h", "--help"]},
)
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

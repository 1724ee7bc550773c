"""The command line: the group of all commands, and what becomes of their errors.

It does not compute, and it does not show tracebacks: an error is one sentence and exit code 2.
Exit codes: 0 done, 1 the reader of the output has left, 2 an error, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from projected_kmeans.commands import COMMANDS, INTERRUPTED, PROGRAM
from projected_kmeans.suggestions import suggest


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Parameters
    ----------
    arguments : sequence of str or None
        The words after the program's name; None takes those of the process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        words = sys.argv[1:] if arguments is None else list(arguments)
        # Commands that tell how to repeat themselves find the words in the context.
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
    except BrokenPipeError:  # the reader has left, as in "| head": nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        sentence = f"the memory is too small ({error or 'no more of it'}); give fewer rows"
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
    """The group of `COMMANDS`, which imports a command when it is called or described in full."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return the command of that name; None where there is no such command."""
        if name not in COMMANDS:
            return None
        module = import_module(f"projected_kmeans.{COMMANDS[name][0]}")
        command: click.Command = getattr(module, name.replace("-", "_"))
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names; raise with its neighbour where none is."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            advice = suggest(args[0], COMMANDS, f"choose among {', '.join(COMMANDS)}")
            raise click.UsageError(f"no such command {args[0]!r}; {advice}", context)
        return super().resolve_command(context, args)

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return commands and options that begin so: click itself would import all commands."""
        found = [
            CompletionItem(name, help=COMMANDS[name][1])
            for name in self.list_commands(context)
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, context, incomplete)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview from the sentences of the table: click itself would import all."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(context)])


@click.group(
    cls=LazyCommands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="projected_kmeans", prog_name=PROGRAM)
@click.pass_context
def commands(context: click.Context) -> None:
    """Cluster rows of numbers by k-means on random projections.

    Data with many columns is first reduced to a few dozen random combinations of them, clustered
    there, and brought back: centers and scores are those of the original columns.

    \b
    Try it on embedded data, then on your own:
      projected-kmeans demo
      projected-kmeans fit rows.npy -k 40 --out model
      projected-kmeans predict model more.npy --out labels.npy
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())

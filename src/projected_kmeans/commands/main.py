"""The entry point: find the command, run it, and turn every error into one sentence.

A traceback is shown only with ``--debug``. Exit codes: 0 done, 1 the reader of the output has
closed the pipe, 2 an error, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import ast
import os
import re
import select
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click
from click.shell_completion import CompletionItem

from projected_kmeans.messages import MAX_REASON, one_line, suggest
from projected_kmeans.running.interrupts import Terminated, raise_at_termination

PROGRAM = "projected-kmeans"
READER_LEFT = 1
INTERRUPTED = 130  # the exit code that shells give to a program that Ctrl-C ended
DEBUG = "--debug"
DEBUG_HELP = "Print the traceback of an error before its sentence, to report a defect."
DEFECT = "this is a defect of projected_kmeans: run again with --debug and report it"

# All commands with the sentence that the overview says about each. The overview and completion read
# this table, because asking the commands themselves would import all of them.
COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "certify": "Prove how far the clustering LABELS of DATA can be from the best one.",
        "choose-k": "Compare numbers of clusters for the rows of DATA.",
        "compare": "Compare two clusterings of the same rows.",
        "completion": "Print a script that completes commands, options and files in SHELL.",
        "demo": "Compare with scikit-learn's k-means on built-in data.",
        "describe": "Tell what each cluster of MODEL is, for the rows of DATA.",
        "fit": "Cluster the rows of DATA.",
        "plan": "Show what fit would do with DATA, and its cost in memory.",
        "predict": "Label each row of DATA by the nearest center of MODEL.",
        "report": "Write the results of a fit as one HTML page.",
        "reproduce": "Run the paper's own experiments and print each result beside the paper's.",
        "serve": "Show the report of a fit in a browser, on this machine only.",
    }
)


def module_of(name: str) -> str:
    """Return the full name of the module that holds a command."""
    return f"projected_kmeans.commands.{function_of(name)}"


def function_of(name: str) -> str:
    """Return the name of the function that is the command, which is its module's name too."""
    return name.replace("-", "_")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit; None takes the words that the process was started with."""
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
    except _BrokenPipe as pipe:
        return _fail(pipe.error, words)
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
            command = getattr(sys.modules[module_of(word)], function_of(word), None)
            return command if isinstance(command, click.Command) else None
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


def describe_failure(error: BaseException) -> str:
    """Return one sentence about an error that ended a command, whatever was raised."""
    try:
        return one_line(_describe(error))
    except MemoryError:  # there is too little even to find out more
        return "out of memory; set --memory-limit, or use fewer rows, columns or clusters"


def _describe(error: BaseException) -> str:
    if isinstance(error, click.NoSuchOption):
        place = PROGRAM if error.ctx is None else error.ctx.command_path
        advice = suggest(error.option_name, error.possibilities or (), f"see {place} --help")
        return f"no such option {error.option_name!r}; {advice}"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, (MemoryError, OSError)):
        return _describe_system(error)
    if isinstance(error, UnicodeEncodeError):
        return (
            f"{error.object[error.start : error.end]!a} cannot be written in the encoding "
            f"{error.encoding}; set PYTHONIOENCODING=utf-8, or use names in plain letters"
        )
    if isinstance(error, (ValueError, TypeError)) and str(error):
        return str(error)
    # Imported here, so that an overview or a mistyped option does not wait for it.
    from projected_kmeans.blocks.dask.cluster_errors import ClusterError

    if isinstance(error, ClusterError):
        return str(error)
    details = f" ({one_line(str(error), MAX_REASON)})" if str(error) else ""
    return f"unexpected {type(error).__name__}{details}; {DEFECT}"


def _describe_system(error: MemoryError | OSError) -> str:
    from projected_kmeans.sources.memory import describe_shortage, is_shortage

    if is_shortage(error):
        return str(describe_shortage(error))
    assert isinstance(error, OSError)
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        return (
            f"{error.filename} cannot be used ({reason}); check the path, its rights and the disk"
        )
    return (
        f"the system refused an operation ({reason}); check the disk, the network and "
        "the limits of this process"
    )


# A literal after a name: a list, a tuple, text in quotes, or a number or word.
VALUE = r"(\[[^\]]*\]|\([^)]*\)|'[^']*'|\"[^\"]*\"|[\w.+-]*\w)"


def speak_options(sentence: str, command: click.Command | None) -> str:
    """Return a sentence with the options of a command in place of the parameters behind them.

    Errors are raised by functions that Python programs call, too. They say
    ``columns=['embedding']``; who typed a command wants to read ``--columns embedding``. Names that
    are ordinary words, such as "columns", are replaced only together with a value, or after "with".
    """
    options = {
        parameter.name: max(parameter.opts, key=len)
        for parameter in (() if command is None else command.params)
        if isinstance(parameter, click.Option) and parameter.name is not None
    }
    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    if not names:
        return sentence

    def tell(match: re.Match[str]) -> str:
        return f"{options[match[1]]} {_tell_value(match[1], match[2])}".rstrip()

    told = re.sub(rf"(?<![\w-])({names})={VALUE}", tell, sentence)
    told = re.sub(rf"\bwith ({names})\b(?!=)", lambda match: f"with {options[match[1]]}", told)
    plain = "|".join(name for name in options if "_" in name) or "(?!)"  # which matches nothing
    told = re.sub(rf"(?<![\w/.-])({plain})(?![\w=/.])", lambda match: options[match[1]], told)
    return re.sub(r"(--[\w-]+) \(\1\)", r"\1", told)  # some sentences name both


def _tell_value(name: str, text: str) -> str:
    """Return a literal of Python as it is typed after an option."""
    try:
        value: Any = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return "A,B" if text == "[...]" else text  # a word of the sentence
    if value == [...]:
        return "A,B"
    if value is True:
        return ""
    if isinstance(value, list | tuple):
        return ("x" if name in ("image_size", "image_shape") else ",").join(map(str, value))
    return str(value)


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
        """Return matching commands and options, from the table."""
        matching = [
            CompletionItem(name, help=COMMANDS[name])
            for name in self.list_commands(context)
            if name.startswith(incomplete)
        ]
        return matching + click.Command.shell_complete(self, context, incomplete)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview from the table."""
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

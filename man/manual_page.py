"""The manual page: the help of every command as roff, for ``man projected-kmeans``.

Run as a program it writes the page beside this file. The text comes from the commands themselves,
so that only exit codes and environment variables are described here. The wheel installs the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from inspect import cleandoc
from pathlib import Path

import click

from projected_kmeans.commands.main import COMMANDS, PROGRAM, commands

PAGE = Path(__file__).with_name(f"{PROGRAM}.1")
EXIT_STATUS = {
    "0": "Done.",
    "1": "The reader of the output has closed the pipe, as head does.",
    "2": "An error. One sentence on the standard error stream says what is wrong and what to do. "
    "No file was written, or the file that was there before is still whole.",
    "130": "Stopped by Ctrl-C. A fit that had a result by then has printed and written it.",
}
ENVIRONMENT = {
    "NO_COLOR": "If set, nothing is printed in colour. Colours appear on terminals only.",
    "OMP_NUM_THREADS": "Number of threads, if --threads is not given.",
    "PROJECTED_KMEANS_DATA": "Folder in which reproduce searches the paper's face images.",
    "PROJECTED_KMEANS_INSTRUCTION_SET": "Kernels to use: portable, avx2 or avx512. By default the "
    "best that the processor supports.",
    "TMPDIR": "Folder for the sketch of fit --memory-limit, if it is too large for the limit.",
}


def render_page() -> str:
    """Return the page as the commands describe themselves."""
    root = click.Context(commands, info_name=PROGRAM, **commands.context_settings)
    lines = [
        f'.TH PROJECTED-KMEANS 1 "" "{PROGRAM} {version("projected_kmeans")}" "User Commands"',
        ".ad l",
        ".SH NAME",
        _escape(f"{PROGRAM} - k-means for data with many columns"),
        ".SH SYNOPSIS",
        rf".B {_escape(PROGRAM)}",
        r"[\fB\-\-help\fR] [\fB\-\-version\fR] \fICOMMAND\fR [\fIARGUMENTS\fR]",
        ".SH DESCRIPTION",
        *_describe(commands),
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        command = commands.get_command(root, name)
        assert command is not None
        lines += _render_command(command, click.Context(command, info_name=name, parent=root))
    for title, entries in (("EXIT STATUS", EXIT_STATUS), ("ENVIRONMENT", ENVIRONMENT)):
        lines.append(f".SH {title}")
        for term, text in entries.items():
            lines += [".TP", rf".B {_escape(term)}", _escape(text)]
    return "\n".join(lines) + "\n"


def _render_command(command: click.Command, context: click.Context) -> Iterator[str]:
    words = " ".join(command.collect_usage_pieces(context))
    yield f".SS {_escape(str(command.name))}"
    yield rf"\fB{_escape(f'{PROGRAM} {command.name}')}\fR {_escape(words)}"
    yield ".PP"
    yield from _describe(command)
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            term, text = record
            yield from (".TP", rf"\fB{_escape(term)}\fR", _escape(text))


def _describe(command: click.Command) -> Iterator[str]:
    """Yield the paragraphs of a help text; those that click does not wrap are not wrapped here."""
    for number, paragraph in enumerate(cleandoc(command.help or "").split("\n\n")):
        if number:
            yield ".PP"
        if paragraph.startswith("\b"):
            head, *examples = paragraph.splitlines()[1:]
            yield from (_escape(head), ".RS 4", ".nf", *map(_escape, examples), ".fi", ".RE")
        else:
            yield _escape(" ".join(paragraph.split()))


def _escape(text: str) -> str:
    """Return text that roff prints unchanged, with hyphens that can be copied to a shell."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").strip()
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")

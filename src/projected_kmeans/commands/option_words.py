"""Sentences about parameters of Python, told in options of the command line.

Errors are raised by functions that Python programs call, too. They say ``columns=['embedding']``;
who typed a command wants to read ``--columns embedding``.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import click

# A literal after a name: a list, a tuple, text in quotes, or a number or word.
VALUE = r"(\[[^\]]*\]|\([^)]*\)|'[^']*'|\"[^\"]*\"|[\w.+-]*\w)"


def speak_options(sentence: str, command: click.Command | None) -> str:
    """Return a sentence with the options of a command in place of the parameters behind them.

    Names that are ordinary words, such as "columns", are replaced only together with a value, or
    after "with".

    Parameters
    ----------
    sentence : str
        What is said about an error.
    command : click.Command or None
        The command that was called; None leaves the sentence as it is.

    Examples
    --------
    >>> option = click.Option(["--columns"], metavar="A,B")
    >>> command = click.Command("fit", params=[option, click.Option(["-k", "n_clusters"])])
    >>> speak_options("choose with columns=['a', 'b']", command)
    'choose with --columns a,b'
    >>> speak_options("n_clusters=9 exceeds n_samples=4; use fewer columns", command)
    '-k 9 exceeds n_samples=4; use fewer columns'
    """
    options = {
        parameter.name: max(parameter.opts, key=len)
        for parameter in (() if command is None else command.params)
        if isinstance(parameter, click.Option) and parameter.name is not None
    }
    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    if not names:
        return sentence

    def tell(found: re.Match[str]) -> str:
        return f"{options[found[1]]} {_tell_value(found[1], found[2])}".rstrip()

    told = re.sub(rf"(?<![\w-])({names})={VALUE}", tell, sentence)
    told = re.sub(rf"\bwith ({names})\b(?!=)", lambda found: f"with {options[found[1]]}", told)
    plain = "|".join(name for name in options if "_" in name) or "(?!)"  # which matches nothing
    told = re.sub(rf"(?<![\w/.-])({plain})(?![\w=/.])", lambda found: options[found[1]], told)
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

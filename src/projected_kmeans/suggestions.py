"""Suggest which known name a mistyped one was meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggest(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return "did you mean ...?" with the nearest known word, or other advice if none is near.

    Parameters
    ----------
    word : str
        The word that was typed.
    known : iterable of str
        The words that it could have been.
    otherwise : str
        The advice if none of them is near.

    Examples
    --------
    >>> suggest("hieght", ["width", "height"], "choose among width, height")
    "did you mean 'height'?"
    >>> suggest("depth", ["size", "colour"], "choose among size, colour")
    'choose among size, colour'
    """
    near = get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise

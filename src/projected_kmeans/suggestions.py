"""What a mistyped name may have meant: the nearest of the known ones.

Compares letters; where names come from and what becomes of a suggestion is the caller's business.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggest(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the question whether a known word was meant, or what to say where none is near.

    Parameters
    ----------
    word : str
        As it was typed.
    known : iterable of str
        What it could have been.
    otherwise : str
        The advice where nothing is near.

    Examples
    --------
    >>> suggest("hieght", ["width", "height"], "choose among width, height")
    "did you mean 'height'?"
    """
    near = get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise

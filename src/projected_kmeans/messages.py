"""Words for messages: text from outside as one line, and the name that a mistyped one meant.

Text from outside is another package's message, or a name in a file. A damaged file can put anything
there: line breaks, bytes that a terminal obeys, a million characters. An error of this package is
one line of printable text, and not a long one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

# Characters of another package's message that a sentence quotes, and of a whole sentence.
MAX_REASON, MAX_SENTENCE = 300, 1000
CUT = " ... "
# White space in which there is more than spaces; spaces may be part of a path.
BREAKS = re.compile(r"\s*[^\S ]\s*")


def one_line(text: str, longest: int = MAX_SENTENCE) -> str:
    """Return a text as one line of printable characters.

    A long text loses its middle, because a sentence begins with what is wrong and ends with what to
    do.
    """
    line = BREAKS.sub(" ", text).strip()
    if not line.isprintable():
        line = "".join(
            character
            if character.isprintable()
            else character.encode("unicode_escape").decode("ascii")
            for character in line
        )
    if len(line) <= longest:
        return line
    left = longest - len(CUT)
    return f"{line[: left - left * 2 // 5]}{CUT}{line[len(line) - left * 2 // 5 :]}"


def first_line(error: BaseException) -> str:
    """Return what an error says first, without its full stop and cut if it quotes a whole file."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    line = (one_line(lines[0]) if lines else "").rstrip(".") or type(error).__name__
    return line if len(line) <= MAX_REASON else f"{line[:MAX_REASON]}..."


def suggest(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return "did you mean ...?" with the nearest known word, or other advice if none is near."""
    near = get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise

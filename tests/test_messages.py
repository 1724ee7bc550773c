"""Words for messages: text from outside is one printable line, and mistyped names are suggested."""

from __future__ import annotations

import pytest

from projected_kmeans.messages import MAX_REASON, MAX_SENTENCE, first_line, one_line, suggest

# Line breaks of every kind, what a terminal obeys, bytes of no text, and half a character.
ODD = ["\n", "\r\n", "\x0b", "\x85", "\u2028", "\x00", "\x1b[2J", "\u202e", "\udcff", "\x7f"]


@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_any_text_becomes_one_printable_line(odd: str) -> None:
    """What is around an odd character stays, and the character itself does no harm."""
    line = one_line(f"before {odd}after")
    assert line.isprintable()
    assert line.startswith("before ")
    assert line.endswith("after")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("k=0 is too small;\n use at least 1", "k=0 is too small; use at least 1"),
        ("\x1b[2Jgnd\x00", "\\x1b[2Jgnd\\x00"),
        ("0123456789" * 9, "012345 ... 6789"),
    ],
)
def test_what_becomes_of_a_text(text: str, line: str) -> None:
    """A line break is a space, other characters are written out, and a long text is cut."""
    assert one_line(text, 40 if len(text) < 90 else 15) == line


def test_printable_text_is_not_changed() -> None:
    """Letters of any language stay, and so do the spaces of a path."""
    text = "/data/two  spaces/Größe 大小.npy is empty; fill it"
    assert one_line(text) == text


@pytest.mark.parametrize("text", ["x" * 10**6, "\x00" * 10**6, "x\n" * 10**6])
def test_long_text_loses_its_middle(text: str) -> None:
    """A sentence keeps its first and its last words, and is bounded."""
    line = one_line(f"rows.mat holds {text}; save one matrix")
    assert len(line) == MAX_SENTENCE
    assert line.startswith("rows.mat holds ")
    assert " ... " in line
    assert line.endswith("; save one matrix")


def test_the_first_line_of_an_error_is_bounded() -> None:
    """An error that quotes a whole file gives its first characters."""
    line = first_line(ValueError("\n\n" + "no \x00" * 10**6 + ".\nmore"))
    assert line.isprintable()
    assert len(line) == MAX_REASON + len("...")
    assert line.startswith("no \\x00no ")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("hieght", "did you mean 'height'?"),
        ("widht", "did you mean 'width'?"),
        ("xyz", "choose one"),
        ("", "choose one"),
    ],
)
def test_the_nearest_name_is_suggested(word: str, expected: str) -> None:
    """A near name is offered as a question; without one the other advice is given."""
    assert suggest(word, iter(["width", "height"]), "choose one") == expected


def test_nothing_is_suggested_without_names() -> None:
    """Without any known name there is only the other advice."""
    assert suggest("width", [], "name some") == "name some"

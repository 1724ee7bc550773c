"""Suggestions for mistyped names."""

from __future__ import annotations

import pytest

from projected_kmeans.suggestions import suggest


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

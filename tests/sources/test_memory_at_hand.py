"""How much memory there is, and what is said if data asks for more."""

from __future__ import annotations

import pytest

from projected_kmeans.sources import memory_at_hand
from projected_kmeans.sources.memory_at_hand import available_memory, check_memory, show_size
from projected_kmeans.sources.protocol import UnreadableFile


def test_some_memory_is_available() -> None:
    """The machine that runs the tests has more than 10 MB left, or does not say."""
    assert available_memory() > 1e7


def test_more_than_there_is_gives_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says what was asked for, how much there is and what to do."""
    monkeypatch.setattr(memory_at_hand, "available_memory", lambda: 2.5e9)
    check_memory(2.4e9, "X", "store less")
    with pytest.raises(
        UnreadableFile, match=r"^X takes 3 GB of memory, but 2.5 GB are at hand; store less$"
    ):
        check_memory(3e9, "X", "store less")


def test_sizes_are_shown_in_units() -> None:
    """Three digits and a unit of 1000."""
    assert show_size(15.36e9) == "15.4 GB"
    assert show_size(3000) == "3 KB"

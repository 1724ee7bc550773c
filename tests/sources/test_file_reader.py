"""What formats build on: handles that open lazily, and errors of one sentence."""

from __future__ import annotations

import os
import pickle

import pytest

from projected_kmeans.optional_packages import MissingExtra
from projected_kmeans.sources.file_reader import LazyHandle, explain_errors
from projected_kmeans.sources.protocol import UnreadableFile


def test_a_handle_is_opened_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handle is opened again only after a close, in a pickled copy, and in a forked process."""
    handle = LazyHandle(list)
    first = handle.get()
    assert handle.get() is first
    assert pickle.loads(pickle.dumps(handle)).get() is not first
    monkeypatch.setattr(os, "getpid", lambda: -1)
    second = handle.get()
    assert second is not first
    handle.close()
    assert handle.get() is not second


def raise_inside(error: Exception) -> None:
    """Raise an error where errors are explained."""
    with explain_errors("rows.xyz", ".xyz"):
        raise error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("bad block.\nmore of it"), "bad block"),
        (KeyError("X"), "'X'"),
        (IndexError(), "IndexError"),
        (ValueError("x" * 9999), "x" * 300 + "..."),
        (ValueError("got \x1b[2J\x00"), "got \\x1b[2J\\x00"),
    ],
)
def test_whatever_a_parser_raises_becomes_one_sentence(error: Exception, reason: str) -> None:
    """The sentence has the file, the format, and the first line of the reason."""
    with pytest.raises(UnreadableFile) as caught:
        raise_inside(error)
    assert str(caught.value) == (
        f"rows.xyz cannot be read as .xyz ({reason}); check that it is complete and of that "
        "format, or write it again"
    )
    assert caught.value.__cause__ is error


def test_errors_that_say_enough_are_raised_unchanged() -> None:
    """A sentence on the file is not wrapped."""
    error = UnreadableFile("rows.xyz is empty; fill it")
    with pytest.raises(UnreadableFile) as caught:
        raise_inside(error)
    assert caught.value is error


def test_too_little_memory_is_no_damaged_file() -> None:
    """A lack of memory stays a MemoryError, which names the file."""
    with pytest.raises(MemoryError, match=r"reading rows\.xyz takes more memory than the"):
        raise_inside(MemoryError())


def test_a_missing_package_makes_a_file_unreadable() -> None:
    """The error is an `UnreadableFile` for callers of `open_rows`, and still an ImportError."""
    with pytest.raises(UnreadableFile, match="rows needs h5py") as caught:
        raise_inside(MissingExtra("rows needs h5py; install it"))
    assert isinstance(caught.value, ImportError)

"""The sentence with which reading a bad file is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile


def read_all(path: Path, **options: Any) -> Any:
    """Return all rows of a file."""
    source = open_rows(path, **options)
    return source.read(0, source.shape[0])


def reading_error(path: Path, **options: Any) -> str:
    """Return the message of the error that opening or reading all rows raises.

    It must be one line that names the file or folder and says what to do after a semicolon.
    """
    with pytest.raises(UnreadableFile, match=";") as caught:
        read_all(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert not message.endswith(".")
    assert path.name in message
    return message

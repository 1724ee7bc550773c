"""What the tests of several commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from projected_kmeans.commands import data as data_files
from tests.support.command_tables import make_table


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a text file of rows with ids and kinds."""
    make_table().to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands find a machine whose memory is too small to load any file."""
    monkeypatch.setattr(data_files, "find_machine_memory", lambda: 0)


@pytest.fixture
def enough_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands find a machine with 16 GiB of memory, which loads the files of tests."""
    monkeypatch.setattr(data_files, "find_machine_memory", lambda: 2**34)

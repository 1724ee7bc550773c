"""The process in which campaigns interrupt commands, which their tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from forked_commands import ForkedCommands
from output_states import Bench


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Return outputs that forked commands replace; it takes seconds to start."""
    folder = tmp_path_factory.mktemp("bench")
    with ForkedCommands(folder) as commands:
        yield Bench(commands, folder)

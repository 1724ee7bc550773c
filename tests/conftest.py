"""What all tests share: where the data lie, and how many examples hypothesis tries."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# Threads that wait for one another in a loop are slow beyond measure where cores are shared.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A program that a shell starts in the background ignores Ctrl-C, and so do those that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Derandomized, so that a run is a function of the source alone.
settings.register_profile(
    "projected_kmeans", deadline=None, max_examples=30, derandomize=True, database=None
)
settings.load_profile("projected_kmeans")


@pytest.fixture
def find_data() -> Callable[[str], Path]:
    """Return a function from a file's name to its path, which skips where there is no such file."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("PROJECTED_KMEANS_DATA", default))

    def find(name: str) -> Path:
        path = folder / name
        if not path.is_file():
            pytest.skip(f"{name} is not in {folder}; set PROJECTED_KMEANS_DATA to its folder")
        return path

    return find

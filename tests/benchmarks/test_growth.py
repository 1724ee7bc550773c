"""The memory of a run."""

from __future__ import annotations

import growth
import pytest


def test_memory_is_measured() -> None:
    """The peak of a run is a number of bytes a row."""
    if not growth.can_measure_memory():
        pytest.skip("this system does not keep the peak of resident memory")
    assert growth.run_in_memory(1, 50) >= 0

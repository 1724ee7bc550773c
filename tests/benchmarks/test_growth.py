"""The memory of a run."""

from __future__ import annotations

import growth
import pytest


def test_memory_is_measured() -> None:
    """A run keeps labels and bounds, 38 bytes a row, and some more for its centers."""
    if not growth.can_measure_memory():
        pytest.skip("this system does not keep the peak of resident memory")
    assert 38 <= growth.measure_memory(1, 5)["bytes_a_row"] <= 100

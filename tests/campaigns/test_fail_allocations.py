"""A short run of the campaign that lets allocations fail."""

from __future__ import annotations

import sys

import fail_allocations
import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="loads a library before all others")
def test_failed_allocations_are_memory_errors() -> None:
    """Three allocations of each kind fail: each is a MemoryError, and the next fit is right."""
    counts = fail_allocations.run_campaign(3, ["sparse"])
    if counts is None:
        pytest.skip("there is no C++ compiler")
    assert counts["failures"] == []
    assert counts["tried"] == 12
    assert 6 <= counts["memory_errors"] <= 12

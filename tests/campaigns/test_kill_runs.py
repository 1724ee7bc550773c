"""A short run of the campaign that ends commands at random moments."""

from __future__ import annotations

import shutil
import sys

import pytest
from kill_runs import CASES, kill_runs
from output_states import Bench

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None,
    reason="needs a C compiler, and the way in which Linux replaces functions",
)


def test_no_kill_tears_an_output(bench: Bench) -> None:
    """Whenever a signal comes, outputs are old or new as a whole, and a checkpoint goes on."""
    found = kill_runs(bench, 2 * len(CASES), seed=0)
    assert found["failures"] == []
    assert found["ended by the signal"] > 0
    assert found["pairs"] == 1

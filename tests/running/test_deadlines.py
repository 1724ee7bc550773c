"""Deadlines end work by the clock, or when a monitor asks for it."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.running.deadlines import Deadline, OutOfTime
from projected_kmeans.running.monitor import Monitor


def test_a_deadline_asks_the_monitor_too() -> None:
    """A monitor whose time budget is used up ends the work within a step."""
    monitor = Monitor(None, 0, time_budget=0.0)
    deadline = Deadline(None, monitor.is_over)
    assert deadline.seconds_left == np.inf
    with pytest.raises(OutOfTime):
        deadline.check()
    assert monitor.stopped == "time"
    assert not Deadline(1e6, Monitor(None, 0).is_over).is_over
    assert (Deadline(None).is_over, Deadline(0.0).is_over) == (False, True)

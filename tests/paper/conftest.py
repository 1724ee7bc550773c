"""Images that the tests of the paper's room share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.fixture
def images() -> dict[str, Any]:
    """Return drawn images in the shape of the paper's: 40 people, ten images each."""
    stream = np.random.default_rng(4)
    people = stream.integers(0, 200, size=(40, 4096))
    noise = stream.integers(0, 50, size=(400, 4096))
    rows = (np.repeat(people, 10, axis=0) + noise).astype(np.uint8)
    return {"fea": rows, "gnd": np.repeat(np.arange(1, 41), 10)[:, None]}

"""Checkpoints of earlier versions, whose parts have another layout."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans

OLD = Path(__file__).parent / "data" / "checkpoint_of_version_0_1_0"


def test_a_checkpoint_of_version_0_1_0_is_refused(tmp_path: Path) -> None:
    """The same call raises one sentence that says what to do, and leaves the folder as it was."""
    folder = tmp_path / "checkpoint"
    shutil.copytree(OLD, folder)
    rows = np.arange(60.0).reshape(12, 5) % 7
    model = ProjectedKMeans(2, random_state=1, projection="sign", n_components=2, checkpoint=folder)
    with pytest.raises(ValueError, match="format version 1 and this package reads 4; use another"):
        model.fit(rows)
    for part in OLD.iterdir():
        assert (folder / part.name).read_bytes() == part.read_bytes()

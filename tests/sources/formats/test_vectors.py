"""Files of vectors: lengths that do not fit are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.refused_files import reading_error


@pytest.mark.parametrize(
    ("numbers", "part"),
    [
        ([-1, 5], "does not start with the length"),
        ([2, 5, 5, 2, 5], "has 20 bytes, which is not a multiple of the 12 bytes of a vector"),
        ([2, 5, 5, 7, 5, 5], "row 1 has 7 numbers where the first has 2"),
    ],
)
def test_bad_vectors(numbers: list[int], part: str, tmp_path: Path) -> None:
    """A negative length, a size that does not fit, and a vector of another length are named."""
    path = tmp_path / "rows.fvecs"
    path.write_bytes(np.array(numbers, "<i4").tobytes())
    assert part in reading_error(path)

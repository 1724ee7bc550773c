"""Which named columns are features: kept in the order given, left out, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from projected_kmeans.sources.feature_columns import choose_columns, list_names
from projected_kmeans.sources.protocol import UnreadableFile

NAMES = ["x", "who", "height"]


@pytest.mark.parametrize(
    ("columns", "drop", "kept"),
    [
        (None, None, None),
        (["height", "x"], None, [2, 0]),
        (None, ["who"], [0, 2]),
        (None, [], [0, 1, 2]),
    ],
)
def test_columns_are_chosen(columns: Any, drop: Any, kept: list[int] | None) -> None:
    """Columns are kept in the order of the choice, and those left out do not change the order."""
    assert choose_columns(NAMES, columns, drop, "t.csv") == kept


@pytest.mark.parametrize(
    ("names", "columns", "drop", "part"),
    [
        (NAMES, ["x"], ["who"], "columns and drop both choose from t.csv; give one of them"),
        (None, ["x"], None, "has no column names, so 'x' cannot be found; leave out columns"),
        (NAMES, ["z"], None, "no column 'z'; choose among x, who, height"),
        (NAMES, None, ["hieght"], "no column 'hieght'; did you mean 'height'?"),
        (NAMES, None, NAMES, "no column of t.csv is left; keep at least one"),
        (NAMES, [], None, "no column of t.csv is left; keep at least one"),
    ],
)
def test_choices_that_are_refused(names: Any, columns: Any, drop: Any, part: str) -> None:
    """A choice that cannot be met says why, and what to do."""
    with pytest.raises(UnreadableFile) as caught:
        choose_columns(names, columns, drop, "t.csv")
    assert part in str(caught.value)


def test_long_lists_of_names_are_cut() -> None:
    """An error lists eight names and counts the others."""
    assert list_names("abcdefgh") == "a, b, c, d, e, f, g, h"
    assert list_names("abcdefghij") == "a, b, c, d, e, f, g, h and 2 more"

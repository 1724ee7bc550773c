"""Tables with ids and kinds beside the rows, as commands read them."""

from __future__ import annotations

import pandas as pd

from tests.support.commands import ROWS, TRUTH

NAMES = [f"c{column}" for column in range(ROWS.shape[1])]
IDS = [f"row {index:03}" for index in range(len(ROWS))]
KINDS = [("cat", "dog", "emu")[truth] for truth in TRUTH]


def make_table() -> pd.DataFrame:
    """Return the rows with names, ids in front and kinds at the end."""
    table = pd.DataFrame(ROWS, columns=NAMES)
    table.insert(0, "name", IDS)
    return table.assign(kind=KINDS)

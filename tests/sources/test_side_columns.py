"""Named columns that are not features: ids in the order of rows, and true labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.side_columns import leave_out, list_column_names, open_side_column

TABLE = pa.table({"id": pa.array([7, 8, 9], pa.int16()), "who": ["a", "b", "c"], "x": [0.5] * 3})


def save_lines(path: Path, delimiter: str) -> None:
    """Write the table as text."""
    lines = [delimiter.join(TABLE.column_names)]
    lines += [delimiter.join(map(str, row.values())) for row in TABLE.to_pylist()]
    path.write_text("\n".join(lines))


def save_stream(path: Path) -> None:
    """Write the table as an Arrow stream."""
    with pa.ipc.new_stream(str(path), TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=2)


WRITERS: dict[str, Callable[[Path], Any]] = {
    "t.csv": lambda path: save_lines(path, ","),
    "t.tsv": lambda path: save_lines(path, "\t"),
    "t.parquet": lambda path: pyarrow.parquet.write_table(TABLE, path, row_group_size=2),
    "t.feather": lambda path: pyarrow.feather.write_feather(TABLE, path, chunksize=2),
    "t.arrow": save_stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_columns_of_every_format(name: str, tmp_path: Path) -> None:
    """Ids come in the order of rows, typed as in the file or as text, and labels as an array."""
    WRITERS[name](tmp_path / name)
    assert list_column_names(str(tmp_path / name)) == TABLE.column_names
    ids = open_side_column(str(tmp_path / name), "id").take_ids()
    is_text = name in ("t.csv", "t.tsv")
    assert ids.name == "id"
    assert ids.arrow_type() == (pa.string() if is_text else pa.int16())
    assert ids.take(2) + ids.take(1) == (["7", "8", "9"] if is_text else [7, 8, 9])
    labels = open_side_column(str(tmp_path / name), "who").read_labels()
    np.testing.assert_array_equal(labels, ["a", "b", "c"])
    with pytest.raises(UnreadableFile, match="has too few cells in column 'id'"):
        ids.take(1)


def test_a_column_of_a_folder(tmp_path: Path) -> None:
    """The files of a folder follow one another."""
    (tmp_path / "1.csv").write_text("x,who\n1,a\n")
    (tmp_path / "2.csv").write_text("x,who\n2,b\n\n3,c\n")
    assert list(open_side_column(str(tmp_path), "who").values()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "column", "part"),
    [
        ("t.csv", "whom", "no column 'whom'; did you mean 'who'?"),
        ("t.parquet", "zzz", "no column 'zzz'; choose among id, who, x"),
        ("t.npy", "id", "is read as .npy, which has no named columns, so 'id' cannot be found"),
        ("plain.csv", "id", "no column 'id'; add a line with column names"),
    ],
)
def test_columns_that_are_not_there(name: str, column: str, part: str, tmp_path: Path) -> None:
    """A missing column is answered with the columns that exist, or with formats that have any."""
    for known, write in WRITERS.items():
        write(tmp_path / known)
    np.save(tmp_path / "t.npy", np.ones((2, 2)))
    (tmp_path / "plain.csv").write_text("1,2\n")
    with pytest.raises(UnreadableFile) as caught:
        open_side_column(str(tmp_path / name), column)
    assert part in str(caught.value)


def test_labels_may_not_be_empty(tmp_path: Path) -> None:
    """A row without a label is named."""
    (tmp_path / "t.csv").write_text("x,who\n1,a\n2,\n")
    with pytest.raises(UnreadableFile, match="nothing in column 'who', row 1; fill it"):
        open_side_column(str(tmp_path / "t.csv"), "who").read_labels()


def test_side_columns_are_not_features() -> None:
    """They are added to the columns that are dropped, and may not be chosen as features."""
    assert leave_out({}, []) == {}
    assert leave_out({"drop": ["id"]}, ["id", "who"]) == {"drop": ["id", "who"]}
    assert leave_out({"columns": ["x"]}, ["id"]) == {"columns": ["x"]}
    with pytest.raises(ValueError, match="'id' is chosen as a feature and as an id or label"):
        leave_out({"columns": ["id"]}, ["id"])

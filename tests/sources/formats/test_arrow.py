"""Arrow files: vectors are views of the mapped file."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.formats.arrow import ArrowFile
from projected_kmeans.sources.formats.columnar import ColumnarRows
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.refused_files import reading_error


def test_vectors_of_an_arrow_file_stay_where_they_are(tmp_path: Path) -> None:
    """A range within a record batch is a view of the mapped file; one across batches is a copy."""
    rows = np.arange(60, dtype=np.float32).reshape(20, 3)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 3)
    path = tmp_path / "rows.feather"
    pyarrow.feather.write_feather(
        pa.table({"vector": vectors}), path, compression="uncompressed", chunksize=8
    )
    reader = ColumnarRows(path, ArrowFile)
    assert reader.forward_only
    for start, stop, copied in ((9, 15, False), (0, 8, False), (6, 10, True)):
        found: Any = reader.read(start, stop)
        np.testing.assert_array_equal(found, rows[start:stop])
        assert found.flags.writeable == copied


def test_a_batch_that_claims_too_many_rows_is_refused(tmp_path: Path) -> None:
    """A length in the metadata is compared with the buffers before a number is read."""
    rows = np.arange(60, dtype=np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows), 3)
    path = tmp_path / "rows.arrow"
    table = pa.table({"vector": vectors})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    content = path.read_bytes()
    for count, claimed in ((20, 10**6), (60, 59)):
        old, new = struct.pack("<q", count), struct.pack("<q", claimed)
        assert old in content
        path.write_bytes(content.replace(old, new))
        assert "rows.arrow" in reading_error(path)


def test_a_table_in_memory_that_claims_too_much_is_refused() -> None:
    """A table is validated once, when it becomes a source."""
    offsets = pa.py_buffer(np.array([0, 10**6, 4], np.int32).tobytes())
    kind = pa.list_(pa.float64())
    lists = pa.Array.from_buffers(kind, 2, [None, offsets], children=[pa.array(np.ones(4))])
    with pytest.raises(UnreadableFile, match=r"the table is damaged .*; build it again"):
        as_row_source(pa.table({"a": lists}))

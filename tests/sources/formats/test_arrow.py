"""Arrow files: vectors are views of the mapped file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather

from projected_kmeans.sources.open_rows import open_rows


def test_vectors_of_an_arrow_file_stay_where_they_are(tmp_path: Path) -> None:
    """A range within a record batch is a view of the mapped file; one across batches is a copy."""
    rows = np.arange(60, dtype=np.float32).reshape(20, 3)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 3)
    path = tmp_path / "rows.feather"
    pyarrow.feather.write_feather(
        pa.table({"vector": vectors}), path, compression="uncompressed", chunksize=8
    )
    with open_rows(path) as source:
        assert source.forward_only
        for start, stop, copied in ((9, 15, False), (0, 8, False), (6, 10, True)):
            found: Any = source.read(start, stop)
            np.testing.assert_array_equal(found, rows[start:stop])
            assert found.flags.writeable == copied

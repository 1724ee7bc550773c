"""Files of labels as the command line reads and writes them.

Knows one label a line, .npy and .parquet; which labels to ask for is the command's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from projected_kmeans.file_rows import load_extra
from projected_kmeans.label_formats import read_labels
from projected_kmeans.labelling import LabelledBlock
from projected_kmeans.output_files import write_atomically


def read_labels_of(path: str, n_samples: int) -> NDArray[Any]:
    """Return the labels of a file, one for each of so many rows."""
    truth = read_labels(path)
    if len(truth) != n_samples:
        raise ValueError(f"{path} has {len(truth)} labels for {n_samples} rows; give one for each")
    return truth


def check_label_file(out: str) -> Path:
    """Return where labels are to be written, if their format is known."""
    path = Path(out)
    if path.suffix not in WRITERS:
        raise ValueError(
            f"{out} has the unknown format {path.suffix!r}; use .npy, .csv or .parquet"
        )
    if path.suffix == ".parquet":
        load_extra("pyarrow", "parquet", out)
    if path.is_dir():
        raise ValueError(f"{out} is a folder; name a file in it")
    return path


def write_labels(path: Path, n_rows: int, blocks: Iterable[LabelledBlock]) -> None:
    """Write the labels of all rows as they come, block by block, to a file that appears whole."""
    write_atomically(path, lambda handle: WRITERS[path.suffix](handle, n_rows, blocks))


def join_labels(labels: NDArray[Any]) -> str:
    """Return labels one a line."""
    return "\n".join(map(str, labels.tolist()))


def _write_array(handle: BinaryIO, n_rows: int, blocks: Iterable[LabelledBlock]) -> None:
    kind = npy.dtype_to_descr(np.dtype(np.int32))
    header = {"descr": kind, "fortran_order": False, "shape": (n_rows,)}
    npy.write_array_header_1_0(handle, header)
    for block in blocks:
        handle.write(block.labels.tobytes())


def _write_lines(handle: BinaryIO, n_rows: int, blocks: Iterable[LabelledBlock]) -> None:
    for block in blocks:
        handle.write((join_labels(block.labels) + "\n").encode())


def _write_parquet(handle: BinaryIO, n_rows: int, blocks: Iterable[LabelledBlock]) -> None:
    arrow = load_extra("pyarrow", "parquet", "a .parquet file")
    parquet = load_extra("pyarrow.parquet", "parquet", "a .parquet file")
    schema = arrow.schema([("label", arrow.int32())])
    with parquet.ParquetWriter(handle, schema) as writer:
        for block in blocks:
            writer.write_table(arrow.table({"label": block.labels}, schema=schema))


WRITERS: dict[str, Callable[[BinaryIO, int, Iterable[LabelledBlock]], None]] = {
    ".npy": _write_array,
    ".csv": _write_lines,
    ".parquet": _write_parquet,
}

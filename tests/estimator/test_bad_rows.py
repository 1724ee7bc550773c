"""Files that cannot be read as rows: one sentence each that says what, where, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import zarr
from PIL import Image

from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.row_files import BYTES, FILES, SINGLES, save_images, save_text


def read_all(path: Path, **options: Any) -> Any:
    """Return all rows of a file."""
    source = open_rows(path, **options)
    return source.read(0, source.shape[0])


def sentence(path: Path, **options: Any) -> str:
    """Return the message of the error that opening or reading all raises: one line, with a way."""
    with pytest.raises(UnreadableFile, match=";") as caught:
        read_all(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert not message.endswith(".")
    return message


SINGLE_FILES = [
    name
    for name in FILES
    if not name.startswith(("folder", "images", "zarr", "csv", "tsv", "svmlight"))
]


@pytest.mark.parametrize("name", SINGLE_FILES)
def test_truncated_files(name: str, tmp_path: Path) -> None:
    """A binary file that is cut anywhere, empty or of other bytes gives a sentence on the file."""
    case = FILES[name]
    path = case.make(tmp_path)
    content = path.read_bytes()
    lengths = {0, 1, 3, 8, 60, len(content) // 3 + 1, len(content) - 20, len(content) - 1}
    # The last byte of an HDF5 or MatLab file may be padding, and that of a stream its end mark.
    unsure = name.startswith(("mat", "hdf5", "arrow stream"))
    for length in sorted(lengths - ({len(content) - 1, len(content) - 20} if unsure else set())):
        path.write_bytes(content[:length])
        assert str(path) in sentence(path, **case.options), length
    path.write_bytes(b"\x93\xff\x00 neither here nor there" * 99)
    assert str(path) in sentence(path, **case.options)


def test_empty_folders_and_unknown_files(tmp_path: Path) -> None:
    """A folder without data, one with several formats, and a missing one each say what to do."""
    assert "holds no file of a known format; use one of .npy" in sentence(tmp_path)
    assert "use one of .csv" in sentence(tmp_path, format="csv")
    assert "does not exist" in sentence(tmp_path / "none")
    np.save(tmp_path / "a.npy", SINGLES)
    save_text(tmp_path, "b.csv")
    assert "several formats (a.npy and b.csv); say which by format" in sentence(tmp_path)
    np.testing.assert_array_equal(open_rows(tmp_path, format="npy").read(0, 9000), SINGLES)
    assert "'.xyz'; use one of .npy" in sentence(tmp_path, format="xyz")


def test_files_of_a_folder_must_agree(tmp_path: Path) -> None:
    """Another number, other names, or another kind of columns names both files."""
    np.save(tmp_path / "a.npy", SINGLES)
    np.save(tmp_path / "b.npy", SINGLES[:, :3])
    message = sentence(tmp_path)
    assert "b.npy has 3 columns and " in message
    assert "a.npy has 5; give all" in message
    tables = tmp_path / "tables"
    tables.mkdir()
    for name in ("x", "y"):
        pyarrow.parquet.write_table(pa.table({name: [1.0]}), tables / f"{name}.parquet")
    message = sentence(tables)
    assert "y.parquet and " in message
    assert "x.parquet have different column names; give all files" in message


def test_folder_types_are_widened(tmp_path: Path) -> None:
    """Files of different types are read in one that holds all."""
    np.save(tmp_path / "a.npy", BYTES)
    np.save(tmp_path / "b.npy", BYTES.astype(np.float32) / 3)
    source = open_rows(tmp_path)
    assert source.dtype == source.read(0, 5).dtype == source.read(50, 70).dtype == np.float32


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "holds no rows"),
        ("a,b\n", "holds no rows"),
        ("1,2\n" * 70000 + "3\n", "1 cells on line 70001 and 2 on line 1"),
        ("a,b\n\n" + "1,2\n" * 70000 + "\n3,x\n", "'x' on line 70004, column 2; put a number"),
        ("1,2\n3,\n", "nothing on line 2, column 2"),
        ("a,b\n1,red\n", "or leave the column out with drop=['b']"),
        ('1,2\n"3\n",4\n', "a quote on line 2 that does not end there"),
    ],
)
def test_bad_text_names_the_place(text: str, part: str, tmp_path: Path) -> None:
    """A line that does not fit, near the start or far behind it, is named by its number."""
    (tmp_path / "rows.csv").write_text(text)
    assert part in sentence(tmp_path / "rows.csv")


def test_text_columns_can_be_left_out(tmp_path: Path) -> None:
    """Words, with delimiters in quotes too, do no harm in a column that is left out."""
    (tmp_path / "rows.csv").write_text('x,who,y\n1,"Smith, J",2\n3,,4\n')
    for options in ({"drop": ["who"]}, {"columns": ["x", "y"]}):
        source = open_rows(tmp_path / "rows.csv", **options)
        assert source.feature_names == ("x", "y")
        np.testing.assert_array_equal(source.read(0, 2), [[1, 2], [3, 4]])
    turned = open_rows(tmp_path / "rows.csv", columns=["y", "x"])
    np.testing.assert_array_equal(turned.read(0, 2), [[2, 1], [4, 3]])
    assert "no column 'z'; choose among x, who, y" in sentence(tmp_path / "rows.csv", drop=["z"])
    assert "give one of them" in sentence(tmp_path / "rows.csv", drop=["x"], columns=["y"])
    assert "keep at least one" in sentence(tmp_path / "rows.csv", drop=["x", "y", "who"])


def test_choices_that_mean_nothing(tmp_path: Path) -> None:
    """An option of another format is refused by its name."""
    np.save(tmp_path / "rows.npy", SINGLES)
    message = sentence(tmp_path / "rows.npy", columns=["a"])
    assert "is read as .npy, so columns=['a'] cannot be chosen; leave it out" in message
    save_text(tmp_path)
    assert "has no column names" in sentence(tmp_path / "rows.csv", columns=["a"])


@pytest.mark.parametrize("name", ["rows.parquet", "rows.feather"])
@pytest.mark.parametrize(
    ("table", "part"),
    [
        (pa.table({"id": ["x"], "day": pa.array([0], pa.date32()), "v": [1.0]}), "(id, day)"),
        (pa.table({"id": [1], "v": [[1.0, 2.0]]}), "choose with columns=['v']"),
        (pa.table({"v": [[1.0, 2.0], [3.0]]}), "1 numbers in column 'v', row 1, and 2 before"),
        (pa.table({"v": [[1.0, 2.0], None]}), "no vector in column 'v', row 1"),
        (pa.table({"v": [[], [1.0]]}), "empty vectors"),
        (pa.table({"a": [1, None, 3], "b": [1, 2, 3]}), "nothing in column 'a', row 1"),
        (pa.table({"a": pa.array([], pa.float32())}), "holds no rows"),
    ],
)
def test_bad_tables(name: str, table: pa.Table, part: str, tmp_path: Path) -> None:
    """Columns without numbers, uneven vectors and missing integers are named."""
    if name.endswith("parquet"):
        pyarrow.parquet.write_table(table, tmp_path / name)
    else:
        pyarrow.feather.write_feather(table, tmp_path / name)
    assert part in sentence(tmp_path / name)


def test_missing_floats_are_nan(tmp_path: Path) -> None:
    """A float that is missing is read as NaN, which the reader passes on."""
    table = pa.table({"a": [1.0, None], "b": pa.array([2, 3], pa.int8())})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    for source in (open_rows(tmp_path / "rows.parquet"), as_row_source(table)):
        np.testing.assert_array_equal(source.read(0, 2), [[1, 2], [np.nan, 3]])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1, None, 3]}, dtype="Int64"),
        pl.DataFrame({"a": [1, None, 3]}),
        pd.DataFrame({"a": [1.0, None, 3.0]}),
        pl.DataFrame({"a": [1.0, None, 3.0]}),
    ],
)
def test_missing_numbers_of_tables_are_nan(table: Any) -> None:
    """What is missing in a table becomes NaN among floats."""
    np.testing.assert_array_equal(as_row_source(table).read(0, 3), [[1], [np.nan], [3]])


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"a": [1], "word": ["x"]}),
        pl.DataFrame({"a": [1], "word": ["x"]}),
        pa.table({"a": [1], "word": ["x"]}),
        pl.DataFrame({"a": [1]}).lazy(),
        np.array([["x"]]),
        np.array([[1j]]),
        np.zeros(3),
        np.zeros((2, 0)),
        pd.DataFrame(),
        5.0,
    ],
)
def test_data_that_is_no_matrix(data: Any) -> None:
    """Containers without a matrix of real numbers are refused in a sentence."""
    with pytest.raises(UnreadableFile, match=";"):
        as_row_source(data)


def test_archives_of_new_formats(tmp_path: Path) -> None:
    """HDF5 and Zarr files list what they hold; scalars, deep arrays and words are refused."""
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["a"], file["deep"], file["one"] = SINGLES, np.zeros((2, 2, 2)), 3.0
        file["b"], file["words"] = SINGLES[:2], ["x", "y"]
    path = tmp_path / "rows.h5"
    assert "a (9000 x 5), b (2 x 5), deep (2 x 2 x 2), one (one value)" in sentence(path)
    assert "no variable 'c'; choose among" in sentence(path, variable="c")
    assert "shape (2, 2, 2), but rows and columns" in sentence(path, variable="deep")
    assert "shape ()" in sentence(path, variable="one")
    assert "holds values of type object" in sentence(path, variable="words")
    assert open_rows(path, variable="b").shape == (2, 5)
    zarr.open_group(str(tmp_path / "empty.zarr"), mode="w")
    assert "holds no array" in sentence(tmp_path / "empty.zarr")
    (tmp_path / "broken.zarr").mkdir()
    sentence(tmp_path / "broken.zarr")


def test_bad_svmlight(tmp_path: Path) -> None:
    """A line that is none, too few columns and an empty file are named."""
    path = tmp_path / "rows.svm"
    path.write_text("1 1:2\n" * 10 + "1 x:3\n")
    assert "'1 x:3' on line 11" in sentence(path)
    path.write_text("1 1:2 7:3\n")
    assert "needs 7 columns, but n_features=3" in sentence(path, n_features=3)
    path.write_text("# nothing\n\n")
    assert "holds no rows" in sentence(path)


def test_bad_vectors(tmp_path: Path) -> None:
    """A length that is none, a size that does not fit, and a vector of another length are told."""
    path = tmp_path / "rows.fvecs"
    path.write_bytes(np.array([-1, 5], "<i4").tobytes())
    assert "does not start with the length" in sentence(path)
    path.write_bytes(np.array([2, 5, 5, 2, 5], "<i4").tobytes())
    assert "has 20 bytes, which is not a multiple of the 12" in sentence(path)
    path.write_bytes(np.array([2, 5, 5, 7, 5, 5], "<i4").tobytes())
    assert "row 1 has 7 numbers where the first has 2" in sentence(path)


def test_images(tmp_path: Path) -> None:
    """Images of another size are named, resized if asked; 16 bits and damage are refused."""
    save_images(tmp_path, "L")
    Image.fromarray(np.zeros((5, 5), np.uint8)).save(tmp_path / "zoom.png")
    message = sentence(tmp_path)
    assert "zoom.png has 5 x 5 pixels and " in message
    assert "image000.png has 4 x 3" in message
    source = open_rows(tmp_path, image_size=(2, 3))
    assert source.shape == (61, 6)
    np.testing.assert_array_equal(source.read(60, 61), np.zeros((1, 6)))
    assert "give width and height" in sentence(tmp_path, image_size=(0, 3))
    Image.fromarray(np.full((5, 5, 3), 9, np.uint8)).save(tmp_path / "colour.png")
    assert open_rows(tmp_path, image_size=(2, 3)).shape == (62, 18)
    (tmp_path / "damaged.png").write_bytes((tmp_path / "image000.png").read_bytes()[:48])
    assert "damaged.png" in sentence(tmp_path, image_size=(2, 3))
    deep = tmp_path / "deep.png"
    Image.fromarray(np.zeros((5, 5), np.uint16)).save(deep)
    assert "more than 8 bits" in sentence(deep)


def test_a_file_that_shrinks_is_noticed(tmp_path: Path) -> None:
    """Rows that are no longer there are refused rather than invented."""
    source = open_rows(save_text(tmp_path))
    save_text(tmp_path, rows=np.ones((3, 5)))
    with pytest.raises(UnreadableFile, match="open it again"):
        source.read(8000, 9000)

"""Reading data files: each format, and one sentence for each way a file can be wrong."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from projected_kmeans.sources.open_rows import read_matrix
from projected_kmeans.sources.protocol import UnreadableFile

ROWS = np.arange(12, dtype=np.uint8).reshape(4, 3)
LABELS = np.array([0, 0, 1, 1], dtype=np.int32)
DATA = Path(os.environ.get("PROJECTED_KMEANS_DATA", Path(__file__).parents[3] / "shared/data"))


def write_csv(path: Path, rows: np.ndarray = ROWS) -> None:
    """Write rows as text, with the delimiter of the extension."""
    np.savetxt(path, rows, delimiter="\t" if path.suffix == ".tsv" else ",")


WRITERS: dict[str, Callable[[Path], Any]] = {
    ".npy": lambda path: np.save(path, ROWS),
    ".npz": lambda path: np.savez(path, X=ROWS),
    ".mat": lambda path: scipy.io.savemat(path, {"X": ROWS}),
    ".csv": write_csv,
    ".tsv": write_csv,
}


def sentence(path: Path, **options: Any) -> str:
    """Return the message of the error that reading raises, after checking that it is one line."""
    with pytest.raises(UnreadableFile) as caught:
        read_matrix(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert not message.endswith(".")
    assert path.name in message
    return message


@pytest.mark.parametrize("extension", WRITERS)
def test_rows_come_back(extension: str, tmp_path: Path) -> None:
    """A matrix that was written in a format is read with the same values."""
    path = tmp_path / f"rows{extension}"
    WRITERS[extension](path)
    np.testing.assert_array_equal(read_matrix(path).rows, ROWS)


@pytest.mark.parametrize("extension", [".npy", ".npz", ".mat"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_binary_formats_keep_the_dtype(extension: str, dtype: str, tmp_path: Path) -> None:
    """A binary file gives its own dtype, so that bytes stay bytes."""
    rows = ROWS.astype(dtype)
    path = tmp_path / f"rows{extension}"
    save = {
        ".npy": lambda: np.save(path, rows),
        ".npz": lambda: np.savez_compressed(path, rows),
        ".mat": lambda: scipy.io.savemat(path, {"fea": rows}, do_compression=True),
    }
    save[extension]()
    assert read_matrix(path).rows.dtype == np.dtype(dtype)


def test_foreign_byte_order_becomes_native(tmp_path: Path) -> None:
    """Big-endian numbers are read as the same numbers in the machine's order."""
    np.save(tmp_path / "rows.npy", ROWS.astype(">f4"))
    rows = read_matrix(tmp_path / "rows.npy").rows
    assert rows.dtype == np.float32
    assert rows.dtype.isnative
    np.testing.assert_array_equal(rows, ROWS)


def test_booleans_become_bytes(tmp_path: Path) -> None:
    """True and False are read as 1 and 0."""
    np.save(tmp_path / "rows.npy", ROWS > 4)
    rows = read_matrix(tmp_path / "rows.npy").rows
    assert rows.dtype == np.uint8
    np.testing.assert_array_equal(rows, ROWS > 4)


def test_format_overrides_the_extension(tmp_path: Path) -> None:
    """A format given by name counts more than the extension, with or without its dot."""
    path = tmp_path / "rows.dat"
    with path.open("wb") as handle:
        np.savez(handle, X=ROWS)
    np.testing.assert_array_equal(read_matrix(path, format="npz").rows, ROWS)
    np.testing.assert_array_equal(read_matrix(path, format=".NPZ").rows, ROWS)


# --- .npz and .mat -------------------------------------------------------------------------------


def save_variables(path: Path, **variables: Any) -> None:
    """Write named arrays in the format of the extension."""
    if path.suffix == ".npz":
        np.savez(path, **variables)
    else:
        scipy.io.savemat(path, variables)


@pytest.fixture(params=[".npz", ".mat"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the path of a file that can hold several variables."""
    return tmp_path / f"rows{request.param}"


@pytest.mark.parametrize("name", ["X", "x", "data", "fea", "features"])
@pytest.mark.parametrize("label_name", ["y", "Y", "gnd", "labels", "target"])
def test_usual_names_are_found(archive: Path, name: str, label_name: str) -> None:
    """Rows and labels are found by their usual names beside other matrices."""
    save_variables(archive, other=np.eye(5), **{name: ROWS, label_name: LABELS[:, np.newaxis]})
    matrix = read_matrix(archive)
    np.testing.assert_array_equal(matrix.rows, ROWS)
    assert matrix.labels is not None
    np.testing.assert_array_equal(matrix.labels, LABELS)


def test_the_only_matrix_is_found(archive: Path) -> None:
    """Without a usual name, the one matrix beside vectors is taken."""
    save_variables(archive, pixels=ROWS, train=np.arange(4), y=LABELS)
    np.testing.assert_array_equal(read_matrix(archive).rows, ROWS)


def test_variable_is_chosen(archive: Path) -> None:
    """variable= chooses among the matrices, whatever their names."""
    save_variables(archive, X=ROWS, other=ROWS * 2)
    np.testing.assert_array_equal(read_matrix(archive, variable="other").rows, ROWS * 2)


def test_labels_of_another_length_are_ignored(archive: Path) -> None:
    """Labels are taken only if there is one for each row."""
    save_variables(archive, X=ROWS, y=np.arange(5))
    assert read_matrix(archive).labels is None


def test_missing_variable_lists_the_others(archive: Path) -> None:
    """A variable that is not there is answered with those that are."""
    save_variables(archive, X=ROWS)
    assert "no variable 'Z'; choose among X (4 x 3)" in sentence(archive, variable="Z")


def test_ambiguous_matrices_are_listed(archive: Path) -> None:
    """Several matrices without a usual name are listed with their shapes."""
    save_variables(archive, a=ROWS, b=np.eye(5))
    message = sentence(archive)
    assert "a (4 x 3)" in message
    assert "b (5 x 5)" in message


def test_no_matrix(archive: Path) -> None:
    """A file with vectors of text only is refused with what it holds."""
    save_variables(archive, words=np.array(["a", "b"]))
    assert "words (2) but no matrix; save one" in sentence(archive)


def test_sparse_files_are_not_read_as_dense(tmp_path: Path) -> None:
    """Sparse matrices are row sources, and no dense matrix."""
    matrix = scipy.sparse.csr_array(ROWS.astype(float))
    scipy.sparse.save_npz(tmp_path / "rows.npz", matrix)
    scipy.io.savemat(tmp_path / "rows.mat", {"X": matrix})
    for name in ("rows.npz", "rows.mat"):
        assert "sparse, which is not supported here yet" in sentence(tmp_path / name)


def test_mat_version_4(tmp_path: Path) -> None:
    """The oldest MatLab format is read too."""
    scipy.io.savemat(tmp_path / "rows.mat", {"fea": ROWS.astype(float)}, format="4")
    np.testing.assert_array_equal(read_matrix(tmp_path / "rows.mat").rows, ROWS)


def test_damaged_mat_version_73(tmp_path: Path) -> None:
    """A MatLab 7.3 file that is cut gives one sentence."""
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (tmp_path / "rows.mat").write_bytes(head + b"\x89HDF\r\n\x1a\n" + bytes(600))
    assert "cannot be read as .mat" in sentence(tmp_path / "rows.mat")


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    """Python objects in .npy and .npz files are refused, not unpickled."""
    objects = np.array([[{}, {}]], dtype=object)
    np.save(tmp_path / "rows.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "rows.npz", X=objects)
    sentence(tmp_path / "rows.npy")
    sentence(tmp_path / "rows.npz")
    sentence(tmp_path / "rows.npz", variable="X")


# --- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1,2\n3,4\n", None),
        ("a,b\n1,2\n3,4\n", ("a", "b")),
        ('"a","b, c"\n"1",2\n3,"4"\n', ("a", "b, c")),
        ("# a,b\n1,2\n3,4\n", ("a", "b")),
        ("\n\na,b\n\n1,2\n\n3,4\n\n", ("a", "b")),
        ("\ufeffa,b\r\n1,2\r\n3,4\r\n", ("a", "b")),
        ("\ufeff1,2\n 3 , 4", None),
    ],
)
def test_csv_with_and_without_header(
    text: str, names: tuple[str, ...] | None, tmp_path: Path
) -> None:
    """The first line is a header if it holds no number; quotes and blank lines do no harm."""
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8", newline="")
    matrix = read_matrix(tmp_path / "rows.csv")
    np.testing.assert_array_equal(matrix.rows, [[1, 2], [3, 4]])
    assert matrix.feature_names == names


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "holds no rows"),
        ("\n\n", "holds no rows"),
        ("a,b\n", "holds no rows"),
        ("1,2\n3\n", "1 cells on line 2 and 2 on line 1"),
        ("1,2\n\n3,4,5\n", "3 cells on line 3 and 2 on line 1"),
        ("a,b\n1,2\n3,x\n", "'x' on line 3, column 2; put a number there"),
        ("1,2\n3,\n", "nothing on line 2, column 2"),
        ("1,two\n3,4\n", "'two' on line 1, column 2"),
        ("1,1_000\n3,4\n", "'1_000' on line 1, column 2"),
        ("a,b,c\n1,2\n", "2 cells a line under a header of 3"),
        ("1;2\n3;4\n", "'3;4' on line 2, column 1"),
    ],
)
def test_bad_csv_names_the_place(text: str, part: str, tmp_path: Path) -> None:
    """A line or a cell that does not fit is named by its number."""
    (tmp_path / "rows.csv").write_text(text)
    assert part in sentence(tmp_path / "rows.csv")


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are refused in a sentence."""
    (tmp_path / "rows.csv").write_bytes(b"1,2\n3,\xff\xfe\n")
    assert "utf-8" in sentence(tmp_path / "rows.csv")


def test_large_csv_is_fast(tmp_path: Path) -> None:
    """A quarter of a million numbers take far less than two seconds."""
    line = ",".join(["0.123456"] * 100)
    (tmp_path / "rows.csv").write_text("\n".join([line] * 2500))
    start = time.perf_counter()
    assert read_matrix(tmp_path / "rows.csv").rows.shape == (2500, 100)
    assert time.perf_counter() - start < 2


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 4)),
        elements=st.floats(allow_nan=False),
    )
)
def test_csv_returns_the_same_bits(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    """Numbers written with 17 digits come back bit for bit, infinity too."""
    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    np.savetxt(path, rows, delimiter=",", fmt="%.17g")
    np.testing.assert_array_equal(read_matrix(path).rows, rows)


# --- what is wrong with any format ---------------------------------------------------------------


@pytest.mark.parametrize("extension", WRITERS)
def test_damaged_files(extension: str, tmp_path: Path) -> None:
    """An empty file, any other bytes, and (binary) a file cut anywhere each give one sentence."""
    path = tmp_path / f"rows{extension}"
    WRITERS[extension](path)
    content = path.read_bytes()
    path.write_bytes(b"")
    sentence(path)
    path.write_bytes(b"\x93\xff\x00 neither here nor there" * 9)
    sentence(path)
    if extension not in (".csv", ".tsv"):
        for length in {1, 8, 60, len(content) // 2, len(content) - 20}:
            path.write_bytes(content[:length])
            sentence(path)


@pytest.mark.parametrize("extension", [".npy", ".npz", ".mat"])
@given(position=st.integers(0, 10**6), value=st.integers(0, 255))
def test_flipped_bytes_never_escape(
    extension: str, position: int, value: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whichever byte is changed, reading gives a matrix or one sentence."""
    path = tmp_path_factory.mktemp("flip") / f"rows{extension}"
    WRITERS[extension](path)
    content = bytearray(path.read_bytes())
    content[position % len(content)] = value
    path.write_bytes(bytes(content))
    with contextlib.suppress(UnreadableFile):
        assert read_matrix(path).rows.ndim == 2


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        (ROWS * 1j, "complex numbers"),
        (np.array([["a", "b"]]), "holds values of type <U1"),
        (np.arange(4), "shape (4,)"),
        (np.zeros((2, 2, 2)), "shape (2, 2, 2)"),
        (np.zeros((0, 3)), "shape (0, 3)"),
        (np.zeros((3, 0)), "shape (3, 0)"),
        (np.array(1.0), "shape ()"),
        (np.zeros(2, dtype=[("a", "f8")]), "holds values of type"),
    ],
)
def test_arrays_that_are_no_matrix(rows: Any, part: str, tmp_path: Path) -> None:
    """Complex, textual, flat, deep and empty arrays are refused with what they are."""
    np.save(tmp_path / "rows.npy", rows)
    assert part in sentence(tmp_path / "rows.npy")
    np.savez(tmp_path / "rows.npz", X=rows)
    assert part in sentence(tmp_path / "rows.npz", variable="X")


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    """A missing path, a folder, a pipe, and an unknown extension each say what to do."""
    assert "does not exist; check the path" in sentence(tmp_path / "none.npy")
    assert "holds no file of a known format" in sentence(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a regular file" in sentence(tmp_path / "pipe.csv")
    (tmp_path / "rows.xlsx").write_bytes(b"PK")
    assert "'.xlsx'; use one of .npy, .npz, .mat, .csv, .tsv, .parquet" in sentence(
        tmp_path / "rows.xlsx"
    )
    (tmp_path / "rows").write_bytes(b"1")
    assert "use one of" in sentence(tmp_path / "rows")


def test_variable_of_a_format_without_variables(tmp_path: Path) -> None:
    """variable= is refused where a file holds one matrix only."""
    np.save(tmp_path / "rows.npy", ROWS)
    assert "leave it out" in sentence(tmp_path / "rows.npy", variable="X")


# --- real files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "n_labels"),
    [
        ("ORL_64x64.mat", (400, 4096), "uint8", 40),
        ("COIL20.mat", (1440, 1024), "float64", 20),
        ("mnist_10k.npz", (10000, 784), "uint8", 10),
    ],
)
def test_real_collections(name: str, shape: tuple[int, int], dtype: str, n_labels: int) -> None:
    """The usual collections are read with their labels and without any option."""
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not in PROJECTED_KMEANS_DATA or ../shared/data")
    matrix = read_matrix(DATA / name)
    assert matrix.rows.shape == shape
    assert matrix.rows.dtype == np.dtype(dtype)
    assert matrix.labels is not None
    assert len(np.unique(matrix.labels)) == n_labels

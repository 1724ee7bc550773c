"""Row sources: every format and container gives the same rows, by range, pickled, from threads."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.file_reader import LazyHandle
from projected_kmeans.sources.file_source import FileRows
from projected_kmeans.sources.folder_source import JoinedRows
from projected_kmeans.sources.format_table import FORMATS
from projected_kmeans.sources.formats.columnar import ColumnarRows
from projected_kmeans.sources.formats.parquet import ParquetFile
from projected_kmeans.sources.formats.text import TextRows
from projected_kmeans.sources.open_rows import open_rows, read_matrix
from projected_kmeans.sources.protocol import RowSource
from tests.support.row_files import CONTAINERS, FILES, NAMES, SINGLES, Case, save_text

CASES = FILES | CONTAINERS


def open_case(case: Case, folder: Path) -> RowSource:
    """Return the source of a case."""
    made = case.make(folder)
    return open_rows(made, **case.options) if isinstance(made, Path) else as_row_source(made)


@pytest.fixture(scope="module", params=list(CASES))
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a case and its source, made once for all tests of a case."""
    case = CASES[request.param]
    with open_case(case, tmp_path_factory.mktemp("rows")) as source:
        yield case, source


def check_rows(case: Case, source: RowSource, start: int, stop: int) -> None:
    """Assert that a range has the right numbers, bit for bit, in the promised form."""
    rows = source.read(start, stop)
    assert rows.dtype == source.dtype == case.rows.dtype
    assert scipy.sparse.issparse(rows) == source.sparse == case.sparse
    if isinstance(rows, np.ndarray):
        assert rows.flags.c_contiguous
        assert type(rows.base) is not list
    else:
        assert rows.format == "csr"
        rows = rows.toarray()
    np.testing.assert_array_equal(rows, case.rows[start:stop], strict=True)


def test_what_is_known_after_opening(opened: tuple[Case, RowSource]) -> None:
    """Shape, type, kind and names are known before a row is read."""
    case, source = opened
    assert source.shape == case.rows.shape
    assert source.feature_names == (NAMES if case.names else source.feature_names)
    check_rows(case, source, 0, len(case.rows))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(ends=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_any_range(opened: tuple[Case, RowSource], ends: tuple[float, float]) -> None:
    """Any range has its rows, whatever was read before."""
    case, source = opened
    start, stop = sorted(round(end * len(case.rows)) for end in ends)
    check_rows(case, source, start, stop)


def test_neighbouring_ranges(opened: tuple[Case, RowSource]) -> None:
    """A walk over blocks has all rows once, as has one backwards."""
    case, source = opened
    starts = range(0, len(case.rows), 1300)
    for start in [*starts, *reversed(starts)]:
        check_rows(case, source, start, min(start + 1300, len(case.rows)))
    for row in (0, len(case.rows) // 2, len(case.rows) - 1):
        check_rows(case, source, row, row + 1)
    check_rows(case, source, len(case.rows), len(case.rows))


def test_a_pickled_copy_reads_the_same(opened: tuple[Case, RowSource]) -> None:
    """A copy that travelled reads and is identified as its original, before and after a close."""
    case, source = opened
    copy = pickle.loads(pickle.dumps(source))
    check_rows(case, copy, 3, len(case.rows) - 3)
    assert copy.identity() == source.identity()
    again = pickle.loads(pickle.dumps(copy))
    again.close()
    check_rows(case, again, 0, 7)


@pytest.mark.parametrize("name", [*FILES, "memory map", "Fortran map", "part of a map"])
def test_a_pickle_of_a_file_has_no_rows(name: str, tmp_path: Path) -> None:
    """What is pickled is where the rows are: far less than the rows, labels apart."""
    case = CASES[name]
    source = open_case(case, tmp_path)
    source.read(0, 5)
    labels = 0 if source.labels is None else source.labels.nbytes
    assert len(pickle.dumps(source)) - labels < 8000


def test_several_threads_read_at_once(opened: tuple[Case, RowSource]) -> None:
    """Ranges that are read on eight threads at once have their rows."""
    case, source = opened
    n_rows = len(case.rows)
    starts = np.random.default_rng(0).integers(0, n_rows, 40).tolist()
    with ThreadPoolExecutor(8) as pool:
        done = [
            pool.submit(check_rows, case, source, start, min(n_rows, start + n_rows // 5))
            for start in starts
        ]
        for one in done:
            one.result()


def test_ranges_outside_are_refused(opened: tuple[Case, RowSource]) -> None:
    """A range that is not within the rows is named."""
    case, source = opened
    n_rows = len(case.rows)
    for start, stop in ((-1, 3), (4, 2), (0, n_rows + 1)):
        with pytest.raises(ValueError, match=f"rows {start}:{stop} are not within"):
            source.read(start, stop)


def test_every_extension_is_tested() -> None:
    """The formats of these tests and the table of formats agree."""
    tested = {name.split()[0] for name in FILES if not name.startswith("folder")}
    names = {"parquet", "feather", "arrow", "hdf5", "svmlight", "images", "zarr"}
    for entry in FORMATS.values():
        known = {extension[1:] for extension in entry.extensions}
        assert known & tested or known & names or ".png" in entry.extensions


def test_identity_tells_data_apart(tmp_path: Path) -> None:
    """Another place does not matter, while other rows, another type and another time do."""
    identities = set()
    for number, rows in enumerate((SINGLES, SINGLES + 1, SINGLES.astype("f8"), SINGLES[:-1])):
        for folder in (tmp_path / "one", tmp_path / "two"):
            folder.mkdir(exist_ok=True)
            np.save(folder / "rows.npy", rows)
            stamp(folder / "rows.npy", 10**9)
        here, there = (
            open_rows(tmp_path / name / "rows.npy").identity() for name in ("one", "two")
        )
        assert here == there
        identities |= {here, as_row_source(rows).identity()}
        assert len(identities) == 2 * number + 2
    np.savez(tmp_path / "two.npz", X=SINGLES, Z=SINGLES * 2)
    chosen = {open_rows(tmp_path / "two.npz", variable=name).identity() for name in "XZ"}
    assert len(chosen) == 2
    stamp(tmp_path / "one" / "rows.npy", 10**9 + 1)
    assert open_rows(tmp_path / "one" / "rows.npy").identity() not in identities


def stamp(path: Path, seconds: int) -> None:
    """Set the time of change of a file."""
    os.utime(path, (seconds, seconds))


def test_another_process_opens_its_own_handle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handle is opened once, and again after a close, in a copy, and in a forked process."""
    handle = LazyHandle(list)
    first = handle.get()
    assert handle.get() is first
    assert pickle.loads(pickle.dumps(handle)).get() is not first
    monkeypatch.setattr(os, "getpid", lambda: -1)
    second = handle.get()
    assert second is not first
    handle.close()
    assert handle.get() is not second


def test_folders_keep_few_files_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files have been looked into, only a few of them stay open."""
    closed: list[str] = []
    monkeypatch.setattr(FileRows, "close", lambda self: closed.append(self.files[0].stem))
    for number in range(6):
        np.save(tmp_path / f"{number}.npy", SINGLES[number * 10 : number * 10 + 10])
    source = JoinedRows(cast(JoinedRows, open_rows(tmp_path)).sources, n_open=2)
    closed.clear()
    for number in (0, 1, 2, 3, 2, 4, 0):
        rows = source.read(number * 10, number * 10 + 5)
        np.testing.assert_array_equal(rows, SINGLES[number * 10 : number * 10 + 5])
    assert closed == ["0", "1", "3", "2"]


def test_labels_are_kept(tmp_path: Path) -> None:
    """Labels beside rows are found in MatLab 7.3, svmlight and HDF5 files too."""
    for name in ("mat 7.3", "svmlight from 1"):
        folder = tmp_path / name
        folder.mkdir()
        labels = open_case(FILES[name], folder).labels
        assert labels is not None
        np.testing.assert_array_equal(labels, np.arange(9000))


def test_compressed_and_mapped_archives(tmp_path: Path) -> None:
    """An archive that is not compressed is a view of the file; so is an .npy file."""
    for save in (np.save, np.savez):
        path = tmp_path / ("rows.npy" if save is np.save else "rows.npz")
        save(path, SINGLES)
        rows = read_matrix(path).rows
        assert not rows.flags.owndata
        assert not rows.flags.writeable
        base = rows
        while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)


WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyarrow", "h5py", "zarr", "pandas", "polars"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.array_source import as_row_source
for path in sys.argv[1:]:
    try:
        source = open_rows(path)
        print(float(source.read(0, source.shape[0]).sum()))
    except UnreadableFile as error:
        print(error)
print(as_row_source([[1.0]]).shape)
"""


def test_optional_packages_are_optional(tmp_path: Path) -> None:
    """Without them import works, text is read all the same, and each format names its extra."""
    names = ("csv", "parquet", "feather", "hdf5", "zarr 3", "mat 7.3", "npy")
    paths = []
    for name in names:
        (tmp_path / name).mkdir()
        paths.append(str(FILES[name].make(tmp_path / name)))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT, *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    extras = [None, "parquet", "parquet", "hdf5", "zarr", "hdf5", None]
    for name, line, extra in zip(names, lines, extras, strict=False):
        if extra is None:
            assert float(line) == float(FILES[name].rows.sum())
        else:
            assert f"pip install 'projected_kmeans[{extra}]'" in line
    assert lines[-1] == "(1, 1)"


def test_the_page_names_every_format_and_extra() -> None:
    """docs/files.md has every extension, and every extra, which pyproject.toml has too."""
    root = Path(__file__).parents[2]
    page = (root / "docs" / "files.md").read_text()
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for extension, entry in FORMATS.items():
        assert f"`{extension}`" in page
        assert entry.extra is None or (entry.extra in extras and f"`[{entry.extra}]`" in page)


def test_walks_over_parquet_in_small_batches(tmp_path: Path) -> None:
    """Ranges that end within batches and row groups have their rows, on several threads too."""
    case = FILES["parquet"]
    path = case.make(tmp_path)
    reader = ColumnarRows(path, partial(ParquetFile, batch_rows=300))
    source = FileRows([path], ".parquet", None, reader)
    test_neighbouring_ranges((case, source))
    test_several_threads_read_at_once((case, source))


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 4)),
        elements=st.floats(allow_subnormal=True),
    )
)
def test_both_parsers_of_text_agree(
    tmp_path_factory: pytest.TempPathFactory, rows: np.ndarray
) -> None:
    """By pyarrow and by NumPy, the numbers are those that were written."""
    path = save_text(tmp_path_factory.mktemp("text"), rows=rows)
    reader = TextRows(path, ",")
    content = path.read_bytes()
    by_pyarrow, by_numpy = reader._parse_by_pyarrow(content), reader._parse_by_numpy(content, 0)
    assert by_pyarrow is not None
    np.testing.assert_array_equal(by_pyarrow, rows, strict=True)
    np.testing.assert_array_equal(by_numpy, rows, strict=True)

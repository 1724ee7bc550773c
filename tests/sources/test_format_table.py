"""The table of formats: tested, documented, and the files that a path stands for."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import numpy as np
import zarr

from projected_kmeans.optional_packages import install_command
from projected_kmeans.sources.file_format import Choice
from projected_kmeans.sources.format_table import FORMATS, TABLE, find_files
from projected_kmeans.sources.open_rows import open_rows
from tests.support.refused_files import reading_error
from tests.support.row_cases import FILES
from tests.support.row_files import SINGLES, save_text

ROOT = Path(__file__).parents[2]


def test_every_format_is_tested(tmp_path: Path) -> None:
    """Each entry of the table has a case in `FILES`, on which all tests of sources run."""
    tested = set()
    for number, case in enumerate(FILES.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        tested.add(FORMATS[find_files(case.make(folder), None).extension].extensions)
    assert tested == {entry.extensions for entry in TABLE}


def test_every_choice_belongs_to_a_format() -> None:
    """A format names only fields of `Choice`, and every field has a format that takes it.

    Holes are no choice of a format: all read them as the caller wants.
    """
    names = {field.name for field in fields(Choice)} - {"nan_holes"}
    assert {name for entry in TABLE for name in entry.choices} == names


def test_the_page_names_every_format_and_extra() -> None:
    """docs/files.md has every extension, and every extra, which pyproject.toml has too."""
    page = (ROOT / "docs" / "files.md").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extension, entry in FORMATS.items():
        assert f"`{extension}`" in page
        if entry.extra is not None:
            assert entry.extra in project["optional-dependencies"]
            assert f"`[{entry.extra}]`" in page


ABSENT = ("pyarrow", "h5py", "zarr", "pandas", "polars")
# The process that reads files for this one finds its modules on the same path.
WITHOUT = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.protocol import UnreadableFile
for path in sys.argv[1:]:
    try:
        source = open_rows(path)
        print(float(source.read(0, source.shape[0]).sum()))
    except UnreadableFile as error:
        print(isinstance(error, ImportError), error)
print(as_row_source([[1.0]]).shape)
"""


def test_optional_packages_are_optional(tmp_path: Path) -> None:
    """Without them text is read all the same, and each other format names its extra."""
    extras = {
        "csv": None,
        "parquet": "parquet",
        "feather": "parquet",
        "hdf5": "hdf5",
        "zarr 3": "zarr",
        "mat 7.3": "hdf5",
        "npy": None,
    }
    (tmp_path / "absent").mkdir()
    for name in ABSENT:
        (tmp_path / "absent" / f"{name}.py").write_text("raise ModuleNotFoundError(__name__)")
    paths = [str(tmp_path / "absent")]
    for name in extras:
        (tmp_path / name).mkdir()
        paths.append(str(FILES[name].make(tmp_path / name)))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT, *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    *lines, last = done.stdout.splitlines()
    for (name, extra), line in zip(extras.items(), lines, strict=True):
        if extra is None:
            assert float(line) == float(FILES[name].rows.sum())
        else:
            assert line.startswith("True ")
            assert install_command(extra) in line
    assert last == "(1, 1)"


def test_paths_that_are_not_a_file(tmp_path: Path) -> None:
    """A missing path, an empty folder, a pipe, and unknown extensions each say what to do."""
    assert "does not exist; check the path" in reading_error(tmp_path / "none.npy")
    assert "holds no file of a known format; use one of .npy" in reading_error(tmp_path)
    assert "use one of .csv" in reading_error(tmp_path, format="csv")
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a regular file" in reading_error(tmp_path / "pipe.csv")
    (tmp_path / "rows.xlsx").write_bytes(b"PK")
    assert "'.xlsx'; use one of .npy, .npz, .mat, .csv, .tsv, .parquet" in reading_error(
        tmp_path / "rows.xlsx"
    )
    (tmp_path / "rows").write_bytes(b"1")
    assert "rows has no format; use one of" in reading_error(tmp_path / "rows")


def test_folders_with_several_formats(tmp_path: Path) -> None:
    """A folder with two formats asks which one, and reads the one that is named."""
    np.save(tmp_path / "a.npy", SINGLES)
    save_text(tmp_path, "b.csv")
    assert "several formats (a.npy and b.csv); choose one with format" in reading_error(tmp_path)
    np.testing.assert_array_equal(open_rows(tmp_path, format="npy").read(0, 9000), SINGLES)
    assert "'.xyz'; use one of .npy" in reading_error(tmp_path, format="xyz")


def test_files_of_a_folder_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Folders inside are read too; hidden names and unknown formats are left out."""
    for name in ("b/2.npy", "b/1.NPY", "a.npy", ".hidden/3.npy", "_marks/4.npy", "_5.npy"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "notes.md").write_text("not data")
    found = find_files(tmp_path, None)
    assert [file.relative_to(tmp_path).as_posix() for file in found.files] == [
        "a.npy",
        "b/1.NPY",
        "b/2.npy",
    ]
    assert found.extension == ".npy"


def test_a_store_is_one_file(tmp_path: Path) -> None:
    """A Zarr store is a folder that counts as a file, whatever it is called."""
    zarr.open_group(str(tmp_path / "store"), mode="w")
    assert find_files(tmp_path / "store", None) == ([tmp_path / "store"], ".zarr")
    (tmp_path / "empty.zarr").mkdir()
    assert find_files(tmp_path / "empty.zarr", None) == ([tmp_path / "empty.zarr"], ".zarr")

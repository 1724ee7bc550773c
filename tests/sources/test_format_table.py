"""The table of formats: tested, documented, and usable without the optional packages."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

from projected_kmeans.optional_packages import install_command
from projected_kmeans.sources.file_format import Choice
from projected_kmeans.sources.file_search import find_files
from projected_kmeans.sources.format_table import FORMATS, TABLE
from tests.support.row_cases import FILES

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

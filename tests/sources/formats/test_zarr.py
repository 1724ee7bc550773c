"""Zarr stores: groups, versions, damaged shapes, and codecs that may not run."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from projected_kmeans.sources.formats.zarr import check_codecs
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.refused_files import reading_error
from tests.support.row_files import ROWS, save_zarr


def test_stores_without_an_array(tmp_path: Path) -> None:
    """An empty store, and a folder that is only called like one, are refused."""
    zarr.open_group(str(tmp_path / "empty.zarr"), mode="w")
    assert "holds no array; save one under the name X" in reading_error(tmp_path / "empty.zarr")
    (tmp_path / "broken.zarr").mkdir()
    assert "broken.zarr cannot be read as .zarr" in reading_error(tmp_path / "broken.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_arrays_in_groups(version: int, tmp_path: Path) -> None:
    """Arrays of inner groups are chosen by their path, and labels are found at the top."""
    path = tmp_path / "rows.zarr"
    root = zarr.open_group(str(path), mode="w", zarr_format=version)
    inner = root.require_group("train").require_group("images")
    for group, name, rows in ((inner, "a", ROWS), (inner, "b", ROWS * 2), (root, "y", ROWS[:, 0])):
        array = group.create_array(name, shape=rows.shape, dtype=rows.dtype)
        array[:] = rows
    message = reading_error(path)
    assert "train/images/a (4 x 3), train/images/b (4 x 3), y (4)" in message
    source = open_rows(path, variable="train/images/b")
    np.testing.assert_array_equal(source.read(0, 4), ROWS * 2)
    assert source.labels is not None
    np.testing.assert_array_equal(source.labels, ROWS[:, 0])


@pytest.mark.parametrize("n_rows", [40_000, 2**32, 2**63, 10**30])
@pytest.mark.parametrize("version", [2, 3])
def test_a_shape_that_hardly_any_chunk_fills_is_refused(
    n_rows: int, version: int, tmp_path: Path
) -> None:
    """Rows by the billion in a store of one chunk are not read one constant after another."""
    path = tmp_path / "rows.zarr"
    zarr.create_array(store=path, data=ROWS, zarr_format=version)
    forge_rows(path, n_rows)
    assert f"has {n_rows} rows in" in reading_error(path)


def forge_rows(folder: Path, n_rows: int) -> None:
    """Change the number of rows that the document of an array says."""
    document = next(file for file in folder.iterdir() if file.name in (".zarray", "zarr.json"))
    fields = json.loads(document.read_text())
    fields["shape"][0] = n_rows
    document.write_text(json.dumps(fields))


def test_chunks_of_another_array_do_not_count(tmp_path: Path) -> None:
    """An array with a forged shape is refused, also beside one with as many files as it needs."""
    path = tmp_path / "rows.zarr"
    root = zarr.open_group(str(path), mode="w")
    root.create_array("other", data=np.ones((40, 3)), chunks=(1, 3))
    root.create_array("X", data=ROWS)
    forge_rows(path / "X", 40_000)
    assert "X in " in reading_error(path, variable="X")
    assert "has 40000 rows in 10000 chunks" in reading_error(path, variable="X")


def test_a_file_may_hold_many_chunks(tmp_path: Path) -> None:
    """A shard is one file with thousands of chunks, so that whole shards are counted."""
    path = tmp_path / "rows.zarr"
    rows = np.arange(12_000.0).reshape(4000, 3)
    # With create_array(data=rows), zarr 3.1.0 writes the whole shard again for each chunk.
    array = zarr.create_array(
        store=path, shape=rows.shape, dtype=rows.dtype, chunks=(1, 3), shards=(4000, 3)
    )
    array[:] = rows
    with open_rows(path) as source:
        np.testing.assert_array_equal(source.read(0, 4000), rows)


def test_a_store_may_lack_chunks(tmp_path: Path) -> None:
    """Chunks that hold one constant are not stored, and are read as that constant."""
    path = tmp_path / "rows.zarr"
    array = zarr.create_array(
        store=path, shape=(900, 3), chunks=(1, 3), dtype="float32", fill_value=2.0
    )
    array[:1] = ROWS[:1]
    with open_rows(path) as source:
        np.testing.assert_array_equal(source.read(899, 900), [[2.0, 2.0, 2.0]])


PICKLE = {"id": "pickle", "protocol": 4}


def change(path: Path, **values: Any) -> None:
    """Overwrite fields of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


class Touch:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_pickle_does_not_run(tmp_path: Path) -> None:
    """A store whose filter unpickles chunks is refused before a chunk is read."""
    path = save_zarr(tmp_path, 2, None)
    change(path / ".zarray", compressor=None, filters=[PICKLE], dtype="|O")
    for chunk in path.glob("[0-9]*"):
        chunk.write_bytes(pickle.dumps(Touch(tmp_path / "touched")))
    assert "names the codec 'pickle', which is not known to be safe" in reading_error(path)
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        (2, {"compressor": PICKLE}),
        (2, {"filters": [{"id": "zlib"}, PICKLE]}),
        (3, {"codecs": [{"name": "bytes"}, {"name": "numcodecs.pickle"}]}),
        (3, {"codecs": ["numcodecs.pickle"]}),
        (
            3,
            {
                "codecs": [
                    {"name": "sharding_indexed", "configuration": {"codecs": [{"name": "own"}]}}
                ]
            },
        ),
        (3, {"codecs": [{"configuration": {}}]}),
    ],
)
@pytest.mark.parametrize("name", [None, "X"])
def test_codecs_are_found_in_all_versions(
    tmp_path: Path, version: int, fields: dict[str, Any], name: str | None
) -> None:
    """Filters, compressors, codecs and codecs inside codecs, at the top and in groups."""
    path = save_zarr(tmp_path, version, name)
    check_codecs(path)
    array = path if name is None else path / name
    change(array / (".zarray" if version == 2 else "zarr.json"), **fields)
    with pytest.raises(UnreadableFile, match="names the codec"):
        check_codecs(path)


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
@pytest.mark.parametrize("version", [2, 3])
def test_consolidated_metadata_is_searched(tmp_path: Path, version: int) -> None:
    """What a store says of its arrays in one place counts too; attributes of users do not."""
    path = save_zarr(tmp_path, version, "X")
    group = zarr.open_group(str(path), mode="r+", zarr_format=version)
    group.attrs["codecs"] = ["pickle"]
    zarr.consolidate_metadata(str(path), zarr_format=version)
    check_codecs(path)
    file = path / (".zmetadata" if version == 2 else "zarr.json")
    text = file.read_text()
    for known in ("zstd", "blosc"):
        text = text.replace(f'"{known}"', '"pickle"')
    file.write_text(text)
    with pytest.raises(UnreadableFile, match="names the codec 'pickle'"):
        check_codecs(path)


def test_an_array_that_is_a_group_too_is_searched(tmp_path: Path) -> None:
    """Metadata of both versions in one folder do not hide what lies below."""
    path = save_zarr(tmp_path, 3, "X")
    change(path / "X" / "zarr.json", codecs=[{"name": "own"}])
    (path / ".zarray").write_text("{}")
    with pytest.raises(UnreadableFile, match="names the codec 'own'"):
        check_codecs(path)

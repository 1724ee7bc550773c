"""Codecs of Zarr stores: only those on a list run, wherever the metadata names them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import zarr

from projected_kmeans.sources.formats.zarr_codecs import check_codecs
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.refused_files import reading_error
from tests.support.row_files import save_zarr

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

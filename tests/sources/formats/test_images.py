"""Images as rows: one size or resized, grey or colour, and files that are refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.refused_files import reading_error
from tests.support.row_files import save_images


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of 60 grey images of 4 x 3 pixels, and one of 5 x 5 black pixels."""
    save_images(tmp_path, "L")
    Image.fromarray(np.zeros((5, 5), np.uint8)).save(tmp_path / "zoom.png")
    return tmp_path


def test_images_of_another_size_are_named(folder: Path) -> None:
    """Without a size to resize to, the first image that differs is named."""
    message = reading_error(folder)
    assert "zoom.png has 5 x 5 pixels and " in message
    assert "image000.png has 4 x 3" in message


def test_images_are_resized(folder: Path) -> None:
    """With image_size all images have one size, of which both numbers are positive."""
    source = open_rows(folder, image_size=(2, 3))
    assert source.shape == (61, 6)
    np.testing.assert_array_equal(source.read(60, 61), np.zeros((1, 6)))
    with pytest.raises(UnreadableFile, match="give width and height"):
        open_rows(folder, image_size=(0, 3))


def test_one_image_in_colour_makes_all_rgb(folder: Path) -> None:
    """A pixel then has three bytes, equal ones if its image is grey."""
    Image.fromarray(np.full((5, 5, 3), 9, np.uint8)).save(folder / "colour.png")
    source = open_rows(folder, image_size=(2, 3))
    assert source.shape == (62, 18)
    grey = np.asarray(source.read(1, 2)).reshape(6, 3)
    assert (grey == grey[:, :1]).all()


def test_damaged_images_and_16_bits(folder: Path) -> None:
    """An image that is cut is named when it is read, and one of 16 bits when it is opened."""
    (folder / "damaged.png").write_bytes((folder / "image000.png").read_bytes()[:48])
    assert "damaged.png" in reading_error(folder, image_size=(2, 3))
    Image.fromarray(np.zeros((5, 5), np.uint16)).save(folder / "deep.png")
    assert "more than 8 bits" in reading_error(folder / "deep.png")


def test_only_listed_decoders_run(tmp_path: Path) -> None:
    """Pillow goes by the content of a file; PostScript would be run by Ghostscript."""
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EOF\n")
    assert "cannot identify image file" in reading_error(tmp_path / "a.png")


def test_images_know_their_names_and_shape(tmp_path: Path) -> None:
    """Rows are called by their files, relative to the folder; a copy in a process knows it, too."""
    for name in ("cats/1.png", "dogs/old/1.png"):
        (tmp_path / name).parent.mkdir(parents=True)
        Image.fromarray(np.full((4, 3, 3), len(name), np.uint8)).save(tmp_path / name)
    source = open_rows(tmp_path, folder_labels=True)
    copied = pickle.loads(pickle.dumps(source))
    for one in (source, copied):
        assert one.row_ids == ("cats/1.png", "dogs/old/1.png")
        assert one.labels.tolist() == ["cats", "dogs"]
        assert one.image_shape == (4, 3, 3)
    assert open_rows(tmp_path).labels is None
    only = open_rows(tmp_path / "cats/1.png")
    assert only.row_ids == ("1.png",)
    grey = open_rows(tmp_path / "cats", image_size=(2, 5))
    assert grey.image_shape == (5, 2, 3)


def test_folder_labels_need_folders_of_images(folder: Path, tmp_path: Path) -> None:
    """An image outside of all folders, and a format with many rows in a file, are refused."""
    with pytest.raises(UnreadableFile, match=r"image000\.png lies in no folder inside"):
        open_rows(folder, image_size=(2, 3), folder_labels=True)
    (tmp_path / "texts" / "a").mkdir(parents=True)
    np.save(tmp_path / "texts" / "a" / "rows.npy", np.eye(3))
    with pytest.raises(UnreadableFile, match="folder_labels=True cannot be chosen"):
        open_rows(tmp_path / "texts", folder_labels=True)

"""Rows that are pictures: their shape, and contact sheets checked against hand-made tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from PIL import Image

from projected_kmeans.demo.glyphs import draw_glyphs
from projected_kmeans.reports.pictures import (
    CAPTION_HEIGHT,
    GAP,
    check_image_shape,
    draw_contact_sheet,
    guess_image_shape,
    save_png,
)


def test_sheet_size() -> None:
    """Five tiles in three columns take two lines, with a gap around and between them."""
    sheet = draw_contact_sheet(np.zeros((5, 6)), side=(2, 3), columns=3, captions=[""] * 5)
    assert sheet.mode == "L"
    assert sheet.size == (3 * 3 + 4 * GAP, 2 * (2 + CAPTION_HEIGHT) + 3 * GAP)


def test_pixels_by_hand() -> None:
    """Tiles stand row by row, line by line, at their place, and all the rest is white."""
    images = np.array([[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]])
    pixels = np.asarray(draw_contact_sheet(images, side=(2, 3), columns=2, captions=["", ""]))
    expected = np.full((2 + CAPTION_HEIGHT + 2 * GAP, 6 + 3 * GAP), 255)
    tile = np.array([[0, 51, 102], [153, 204, 255]])
    expected[GAP : GAP + 2, GAP : GAP + 3] = tile
    expected[GAP : GAP + 2, 2 * GAP + 3 : 2 * GAP + 6] = tile[::-1, ::-1]
    np.testing.assert_array_equal(pixels, expected)


def test_each_tile_uses_its_own_range() -> None:
    """Shifting or scaling one row by a positive factor does not change the sheet."""
    row = np.random.default_rng(0).random(16)
    sheet = draw_contact_sheet(np.stack([row, 4 * row + 1]), (4, 4), 1, ["", ""])
    pixels, second = np.asarray(sheet)[:, GAP : GAP + 4], 2 * GAP + 4 + CAPTION_HEIGHT
    np.testing.assert_array_equal(pixels[GAP : GAP + 4], pixels[second : second + 4])


def test_constant_row_is_middle_grey() -> None:
    """A row without contrast becomes one grey, not a division by zero."""
    pixels = np.asarray(draw_contact_sheet(np.full((1, 4), 7.5), (2, 2), 1, [""]))
    np.testing.assert_array_equal(pixels[GAP : GAP + 2, GAP:-GAP], np.full((2, 2), 128))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32"])
def test_any_real_dtype(dtype: str) -> None:
    """Black and white come out the same from every real dtype."""
    sheet = draw_contact_sheet(np.array([[0, 1]], dtype=dtype), (1, 2), 1, [""])
    assert np.asarray(sheet)[GAP, GAP : GAP + 2].tolist() == [0, 255]


def test_extreme_floats() -> None:
    """The range of the largest floats of both signs does not overflow."""
    huge = np.finfo(np.float64).max
    sheet = draw_contact_sheet(np.array([[-huge, 0.0, huge]]), (1, 3), 1, [""])
    assert np.asarray(sheet)[GAP, GAP : GAP + 3].tolist() == [0, 128, 255]


def test_captions_stand_below_their_tiles() -> None:
    """A caption is dark text in the strip below its own tile and leaves the tile alone."""
    images = np.zeros((2, 400))
    plain = np.asarray(draw_contact_sheet(images, (20, 20), columns=2, captions=["", ""]))
    pixels = np.asarray(draw_contact_sheet(images, (20, 20), columns=2, captions=["A", ""]))
    assert pixels.shape == plain.shape
    np.testing.assert_array_equal(pixels[: GAP + 20], plain[: GAP + 20])
    strips = pixels[GAP + 20 : GAP + 20 + CAPTION_HEIGHT]
    assert strips[:, GAP : GAP + 20].min() < 150
    assert strips[:, GAP + 20 :].min() == 255


def test_long_caption_stays_below_its_tile() -> None:
    """A caption that is too long is cut at the edge of its tile."""
    images = np.zeros((2, 400))
    sheet = draw_contact_sheet(images, (20, 20), columns=2, captions=["a very long text", ""])
    assert np.asarray(sheet)[GAP + 20 :, GAP + 20 :].min() == 255


def test_saved_picture_reads_back(tmp_path: Path) -> None:
    """A saved picture has the same pixels when opened, and is the only file in its folder."""
    sheet = draw_contact_sheet(np.arange(6.0)[np.newaxis], (2, 3), 1, [""])
    save_png(sheet, tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as opened:
        assert opened.format == "PNG"
        np.testing.assert_array_equal(np.asarray(opened), np.asarray(sheet))
    assert [file.name for file in tmp_path.iterdir()] == ["sheet.png"]


def test_saving_accepts_a_text_path_and_replaces(tmp_path: Path) -> None:
    """An existing file is replaced by the new picture."""
    path = tmp_path / "sheet.png"
    path.write_bytes(b"old")
    save_png(Image.new("L", (3, 2)), str(path))
    with Image.open(path) as opened:
        assert opened.size == (3, 2)


class _BrokenPicture:
    """A picture that fails after its first bytes are written."""

    def save(self, stream: Any, **_: Any) -> None:
        stream.write(b"half a pic")
        raise OSError("disk full")


@pytest.mark.parametrize("before", [None, b"old"])
def test_failed_save_leaves_the_folder_as_it_was(tmp_path: Path, before: bytes | None) -> None:
    """When saving fails, no part of a file is left and an older picture keeps its bytes."""
    path = tmp_path / "sheet.png"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(ValueError, match="cannot be written"):
        save_png(_BrokenPicture(), path)  # type: ignore[arg-type]
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([before] if before else [])


def test_a_missing_folder_gets_a_sentence(tmp_path: Path) -> None:
    """A folder that does not exist is named, and is not created."""
    with pytest.raises(ValueError, match=r"sheet\.png cannot be written .* choose another place"):
        save_png(Image.new("L", (1, 1)), tmp_path / "absent" / "sheet.png")
    assert list(tmp_path.iterdir()) == []


def test_pictures_are_recognised() -> None:
    """Drawn characters are square pictures; noise, sparse rows and named columns are not."""
    images = draw_glyphs(200, seed=0).images
    assert guess_image_shape(images, None) == (64, 64)
    assert guess_image_shape(images, ["pixel"] * 4096) is None
    noise = np.random.default_rng(0).normal(size=(200, 4096))
    assert guess_image_shape(noise, None) is None
    assert guess_image_shape(scipy.sparse.csr_array(images), None) is None


@pytest.mark.parametrize("shape", [(8, 9), (8,), (64, 1, 2), (-8, -8), ("8", "8")])
def test_wrong_image_shapes_are_refused(shape: Any) -> None:
    """A shape that makes no sense, or does not fit the rows, gives one sentence."""
    with pytest.raises(ValueError, match="image_shape="):
        check_image_shape(shape, 64)


def test_square_pictures_in_colour_are_found() -> None:
    """Smooth pictures with three colours a pixel are told from random numbers of that size."""
    steps = np.random.default_rng(0).normal(size=(200, 12, 12, 3))
    smooth = np.cumsum(np.cumsum(steps, axis=1), axis=2)
    assert guess_image_shape(smooth.reshape(200, -1), None) == (12, 12, 3)
    assert guess_image_shape(steps.reshape(200, -1), None) is None

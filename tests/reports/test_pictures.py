"""Properties of contact sheets and of saving them; pixels are checked against hand-made tiles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from projected_kmeans.reports.pictures import CAPTION_HEIGHT, GAP, draw_contact_sheet, save_png


def test_sheet_size() -> None:
    """Five tiles in three columns take two lines, with a gap around and between them."""
    sheet = draw_contact_sheet(np.zeros((5, 6)), side=(2, 3), columns=3, scale=4)
    assert sheet.mode == "L"
    assert sheet.size == (3 * 12 + 4 * GAP, 2 * 8 + 3 * GAP)


@pytest.mark.parametrize(("n_images", "columns"), [(1, 1), (5, 5), (13, 4), (40, 8), (400, 20)])
def test_default_columns_fill_the_sheet(n_images: int, columns: int) -> None:
    """Without a number of columns the sheet is a full rectangle where one is near a square."""
    sheet = draw_contact_sheet(np.zeros((n_images, 1)), side=(1, 1))
    assert sheet.size[0] == columns * (1 + GAP) + GAP


def test_pixels_by_hand() -> None:
    """Tiles stand row by row, line by line, at their place, and all the rest is white."""
    images = np.array([[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]])
    pixels = np.asarray(draw_contact_sheet(images, side=(2, 3), columns=2))
    expected = np.full((2 + 2 * GAP, 6 + 3 * GAP), 255)
    tile = np.array([[0, 51, 102], [153, 204, 255]])
    expected[GAP : GAP + 2, GAP : GAP + 3] = tile
    expected[GAP : GAP + 2, 2 * GAP + 3 : 2 * GAP + 6] = tile[::-1, ::-1]
    np.testing.assert_array_equal(pixels, expected)


def test_each_tile_uses_its_own_range() -> None:
    """Shifting or scaling one row by a positive factor does not change the sheet."""
    row = np.random.default_rng(0).random(16)
    sheet = draw_contact_sheet(np.stack([row, 4 * row + 1]), side=(4, 4), columns=1)
    pixels = np.asarray(sheet)[:, GAP : GAP + 4]
    np.testing.assert_array_equal(pixels[GAP : GAP + 4], pixels[2 * GAP + 4 : 2 * GAP + 8])


def test_constant_row_is_middle_grey() -> None:
    """A row without contrast becomes one grey, not a division by zero."""
    pixels = np.asarray(draw_contact_sheet(np.full((1, 4), 7.5), side=(2, 2)))
    np.testing.assert_array_equal(pixels[GAP:-GAP, GAP:-GAP], np.full((2, 2), 128))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32"])
def test_any_real_dtype(dtype: str) -> None:
    """Black and white come out the same from every real dtype."""
    sheet = draw_contact_sheet(np.array([[0, 1]], dtype=dtype), side=(1, 2))
    assert np.asarray(sheet)[GAP, GAP : GAP + 2].tolist() == [0, 255]


def test_extreme_floats() -> None:
    """The range of the largest floats of both signs does not overflow."""
    huge = np.finfo(np.float64).max
    sheet = draw_contact_sheet(np.array([[-huge, 0.0, huge]]), side=(1, 3))
    assert np.asarray(sheet)[GAP, GAP : GAP + 3].tolist() == [0, 128, 255]


def test_scale_repeats_pixels() -> None:
    """At scale s each value is a block of s x s equal pixels."""
    images = np.arange(6.0)[np.newaxis]
    small = np.asarray(draw_contact_sheet(images, side=(2, 3)))[GAP:-GAP, GAP:-GAP]
    large = np.asarray(draw_contact_sheet(images, side=(2, 3), scale=3))[GAP:-GAP, GAP:-GAP]
    np.testing.assert_array_equal(large, np.kron(small, np.ones((3, 3))))


def test_captions_stand_below_their_tiles() -> None:
    """A caption adds a strip of dark text below its own tile and leaves the tile alone."""
    images = np.zeros((2, 400))
    plain = np.asarray(draw_contact_sheet(images, side=(20, 20), columns=2))
    pixels = np.asarray(draw_contact_sheet(images, (20, 20), columns=2, captions=["A", ""]))
    assert pixels.shape[0] == plain.shape[0] + CAPTION_HEIGHT
    np.testing.assert_array_equal(pixels[: GAP + 20], plain[: GAP + 20])
    strips = pixels[GAP + 20 : GAP + 20 + CAPTION_HEIGHT]
    assert strips[:, GAP : GAP + 20].min() < 150
    assert strips[:, GAP + 20 :].min() == 255


def test_long_caption_stays_below_its_tile() -> None:
    """A caption that is too long is cut at the edge of its tile."""
    images = np.zeros((2, 400))
    sheet = draw_contact_sheet(images, (20, 20), columns=2, captions=["a very long text", ""])
    assert np.asarray(sheet)[GAP + 20 :, GAP + 20 :].min() == 255


@pytest.mark.parametrize(
    ("images", "side", "options", "sentence"),
    [
        (np.zeros(4), (2, 2), {}, "images has shape (4,); give a 2-dimensional array"),
        (np.zeros((0, 4)), (2, 2), {}, "images has shape (0, 4); give a 2-dimensional array"),
        (np.zeros((1, 4), complex), (2, 2), {}, "images has dtype complex128; give integers"),
        (np.zeros((1, 4)), (2, 3), {}, "images has 4 columns but side=(2, 3) needs 6; give the"),
        (np.zeros((1, 4)), (-2, -2), {}, "side=(-2, -2) is not a height and a width; give two"),
        (np.full((1, 4), np.nan), (2, 2), {}, "images holds NaN or infinite values; replace"),
        (np.zeros((1, 4)), (2, 2), {"columns": 0}, "columns=0 is below 1; use at least one"),
        (np.zeros((1, 4)), (2, 2), {"scale": 0}, "scale=0 is below 1; use a whole number"),
        (np.zeros((1, 4)), (2, 2), {"captions": []}, "captions has 0 texts for 1 images; give"),
    ],
)
def test_bad_input_gets_a_sentence(
    images: NDArray[Any], side: tuple[int, int], options: dict[str, Any], sentence: str
) -> None:
    """Shapes, counts and values that do not fit raise a ValueError that says what to do."""
    with pytest.raises(ValueError, match=re.escape(sentence)):
        draw_contact_sheet(images, side, **options)


def test_saved_picture_reads_back(tmp_path: Path) -> None:
    """A saved picture has the same pixels when opened, and is the only file in its folder."""
    sheet = draw_contact_sheet(np.arange(6.0)[np.newaxis], side=(2, 3))
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

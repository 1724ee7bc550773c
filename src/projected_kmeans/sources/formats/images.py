"""READ: images as rows of bytes, one image a row, by Pillow.

Turns colours into grey or RGB and, if asked, images to one size; it does nothing else to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.file_source import one_sentence
from projected_kmeans.sources.protocol import UnreadableFile

GREY_MODES = {"1", "L", "LA", "La"}
COLOUR_MODES = {"P", "PA", "RGB", "RGBA", "RGBX", "RGBa", "CMYK", "YCbCr", "LAB", "HSV"}

# Pillow decodes without the interpreter's lock.
N_THREADS = 4


class ImageRows:
    """Reader of images; rows are bytes, pixel after pixel, with three bytes a pixel in colour.

    Parameters
    ----------
    paths : sequence of Path
        The images in the order of the rows. If any is in colour, grey ones become RGB too;
        transparency is left out.
    size : (int, int), optional
        Width and height to which all are resized; without it all must have one size.
    """

    sparse = False
    dtype: np.dtype[Any] = np.dtype(np.uint8)
    feature_names: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None

    def __init__(self, paths: Sequence[Path], size: tuple[int, int] | None = None) -> None:
        if size is not None and (len(size) != 2 or min(size) < 1):
            raise UnreadableFile(
                f"image_size={size} is no size; give width and height, such as (64, 64)"
            )
        self._paths = tuple(paths)
        self._resize = size
        self._mode = "L"
        first: tuple[int, int] | None = None
        for path in paths:
            mode, found = _look_at(path)
            first = first or found
            if size is None and found != first:
                raise UnreadableFile(
                    f"{path} has {found[0]} x {found[1]} pixels and {paths[0]} has "
                    f"{first[0]} x {first[1]}; give images of one size, or image_size=(width, "
                    "height)"
                )
            if mode not in GREY_MODES:
                self._mode = "RGB"
        width, height = size or first or (0, 0)
        self.shape = (len(self._paths), width * height * (3 if self._mode == "RGB" else 1))

    def read(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return images of a range as rows."""
        rows = np.empty((stop - start, self.shape[1]), np.uint8)
        with ThreadPoolExecutor(N_THREADS) as pool:
            for _ in pool.map(self._decode, self._paths[start:stop], rows):
                pass  # only to raise what a thread has raised
        return rows

    def close(self) -> None:
        """Do nothing: files are opened for each read."""

    def _decode(self, path: Path, row: NDArray[np.uint8]) -> None:
        from PIL import Image  # here, so that other formats are read without it

        with one_sentence(path, "image"), Image.open(path) as image:
            picture = image.convert(self._mode)
            if self._resize is not None:
                picture = picture.resize(self._resize, Image.Resampling.BILINEAR)
            row[:] = np.asarray(picture, np.uint8).reshape(-1)


def _look_at(path: Path) -> tuple[str, tuple[int, int]]:
    """Return mode and size from an image's head."""
    from PIL import Image

    with one_sentence(path, "image"), Image.open(path) as image:
        mode, size = image.mode, image.size
    if mode not in GREY_MODES | COLOUR_MODES:
        raise UnreadableFile(
            f"{path} has more than 8 bits a sample (mode {mode}); save it with 8, or all as .npy"
        )
    return mode, size

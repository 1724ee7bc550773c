"""Images as rows of bytes, one image a row, read by Pillow.

Images are converted to grey or RGB and, if asked, resized to one size; nothing else is done to
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.file_format import Format, files_together
from projected_kmeans.sources.file_rows import explain_errors
from projected_kmeans.sources.protocol import SourceDefaults, UnreadableFile
from projected_kmeans.thread_pool import ThreadPool

EXTENSIONS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".gif", ".webp", ".pgm", ".ppm")

# Pillow's modes with 8 bits a sample; the others have more and would lose some.
GREY_MODES = {"1", "L", "LA", "La"}
COLOUR_MODES = {"P", "PA", "RGB", "RGBA", "RGBX", "RGBa", "CMYK", "YCbCr", "LAB", "HSV"}

# The decoders that may run. Pillow goes by the content of a file, and some decoders of others start
# programs, such as Ghostscript.
DECODERS = ("PNG", "JPEG", "BMP", "DIB", "TIFF", "GIF", "WEBP", "PPM")

# Threads that decode side by side, which works because Pillow releases the interpreter's lock.
N_THREADS = 4


class ImageRows(SourceDefaults):
    """Reader of images; a row has the bytes of all pixels, three bytes a pixel in colour.

    If any image is in colour, grey ones become RGB too. Transparency is left out. `size` is the
    width and height to which all images are resized; without it all must have one size.
    """

    dtype: np.dtype[Any] = np.dtype(np.uint8)

    def __init__(self, paths: Sequence[Path], size: tuple[int, int] | None = None) -> None:
        if size is not None and (len(size) != 2 or min(size) < 1):
            raise UnreadableFile(
                f"image_size={size} is not a size; give width and height, such as (64, 64)"
            )
        self._paths = tuple(paths)
        self._resize = size
        self._mode = "L"
        first: tuple[int, int] | None = None
        for path in paths:
            mode, extents = _read_header(path)
            first = first or extents
            if size is None and extents != first:
                raise UnreadableFile(
                    f"{path} has {extents[0]} x {extents[1]} pixels and {paths[0]} has "
                    f"{first[0]} x {first[1]}; give images of one size, or image_size=(width, "
                    "height)"
                )
            if mode not in GREY_MODES:
                self._mode = "RGB"
        width, height = size or first or (0, 0)
        self.image_shape = (height, width, 3) if self._mode == "RGB" else (height, width)
        self.shape = (len(self._paths), math.prod(self.image_shape))

    def read(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return images of a range as rows."""
        rows = np.empty((stop - start, self.shape[1]), np.uint8)
        with ThreadPool(N_THREADS) as pool:
            for _ in pool.map(self._decode, self._paths[start:stop], rows):
                pass  # the loop raises what a thread has raised
        return rows

    def _decode(self, path: Path, row: NDArray[np.uint8]) -> None:
        from PIL import Image  # here, so that other formats are read without it

        with explain_errors(path, "image"), Image.open(path, formats=DECODERS) as image:
            picture = image.convert(self._mode)
            if self._resize is not None:
                picture = picture.resize(self._resize, Image.Resampling.BILINEAR)
            row[:] = np.asarray(picture, np.uint8).reshape(-1)


def _read_header(path: Path) -> tuple[str, tuple[int, int]]:
    """Return mode and size of an image without decoding it."""
    from PIL import Image

    with explain_errors(path, "image"), Image.open(path, formats=DECODERS) as image:
        mode, size = image.mode, image.size
    if mode not in GREY_MODES | COLOUR_MODES:
        raise UnreadableFile(
            f"{path} has more than 8 bits a sample (mode {mode}); save it with 8, or all as .npy"
        )
    return mode, size


IMAGES = Format(
    EXTENSIONS,
    files_together(lambda files, choice: ImageRows(files, choice.image_size)),
    choices=("image_size",),
    modules=("PIL.Image",),
    file_is_row=True,
)

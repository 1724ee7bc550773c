"""Draw rows of data as pictures: a sheet of grey tiles, or one PNG for a page.

Knows nothing of clusters or web pages.
"""

from __future__ import annotations

import base64
import io
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from projected_kmeans.output_files import write_atomically

GAP = 2
CAPTION_SIZE = 11
CAPTION_HEIGHT = 15
SHEET_GREY = 255
CAPTION_GREY = 70


def draw_contact_sheet(
    images: NDArray[Any],
    side: tuple[int, int],
    columns: int | None = None,
    captions: Sequence[str] | None = None,
    scale: int = 1,
) -> Image.Image:
    """Draw each row of an array as a grey tile in a grid.

    In every tile the smallest value is black and the largest white, so that a faint center is as
    visible as a sharp image. A constant row becomes middle grey. Tiles are placed line by line from
    the top left, with a gap of 2 pixels around and between them.

    Parameters
    ----------
    images : ndarray of shape (n_images, height * width)
        One image per row, read line by line; integers, floats or booleans, all finite.
    side : (int, int)
        Height and width of an image.
    columns : int, optional
        Tiles per line of the sheet. By default the sheet is a full rectangle close to a square, or
        a square with an incomplete last line if the number of images does not allow that.
    captions : sequence of str, optional
        One short text per image, drawn below its tile and cut off at the edge of the tile.
    scale : int, default=1
        Each value becomes a square of this many pixels.

    Returns
    -------
    PIL.Image.Image
        A picture of mode "L".

    Raises
    ------
    ValueError
        If the shapes, the counts or the values do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.reports.pictures import draw_contact_sheet
    >>> sheet = draw_contact_sheet(np.arange(24.0).reshape(4, 6), side=(2, 3), scale=10)
    >>> sheet.size
    (66, 46)
    """
    tiles = _stretch(_check_images(images, side), side)
    n_images = len(tiles)
    columns = _choose_columns(n_images) if columns is None else columns
    _check_layout(n_images, columns, captions, scale)
    height, width = side[0] * scale, side[1] * scale
    line_height = height + GAP + (CAPTION_HEIGHT if captions is not None else 0)
    lines = math.ceil(n_images / columns)
    sheet = Image.new("L", (columns * (width + GAP) + GAP, lines * line_height + GAP), SHEET_GREY)
    for position, tile in enumerate(tiles):
        line, column = divmod(position, columns)
        corner = (GAP + column * (width + GAP), GAP + line * line_height)
        sheet.paste(Image.fromarray(tile).resize((width, height), Image.Resampling.NEAREST), corner)
        if captions is not None:
            label = _draw_caption(captions[position], width)
            sheet.paste(label, (corner[0], corner[1] + height))
    return sheet


def save_png(image: Image.Image, path: str | os.PathLike[str]) -> None:
    """Write a picture as a PNG file, whole or not at all.

    Parameters
    ----------
    image : PIL.Image.Image
        The picture.
    path : str or path-like
        The file to write; its folder must exist. If writing fails, an older file stays as it was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from projected_kmeans.reports.pictures import save_png
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_png(Image.new("L", (3, 2)), Path(folder, "black.png"))
    ...     [file.name for file in Path(folder).iterdir()]
    ['black.png']
    """
    write_atomically(path, lambda handle: image.save(handle, format="PNG", optimize=True))


def encode_png(values: NDArray[Any], shape: tuple[int, ...], max_values: int = 2304) -> str:
    """Return one row as a PNG in base64; its smallest value is black and its largest white.

    Parameters
    ----------
    values : ndarray of shape (height * width,) or (height * width * 3,)
        The picture, line by line.
    shape : (int, int) or (int, int, 3)
        Height and width, and 3 if every pixel has red, green and blue.
    max_values : int, default=2304
        Pictures with more values are scaled down to at most this many.

    Examples
    --------
    >>> encode_png(np.arange(6.0), (2, 3))[:12]
    'iVBORw0KGgoA'
    """
    tile = _stretch(np.asarray(values, dtype=np.float64)[None], shape)[0]
    picture = Image.fromarray(tile)
    factor = math.sqrt(min(1.0, max_values / tile.size))
    if factor < 1:
        smaller = [max(1, int(side * factor)) for side in picture.size]
        picture = picture.resize((smaller[0], smaller[1]), Image.Resampling.BOX)
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _check_images(images: NDArray[Any], side: tuple[int, int]) -> NDArray[np.float64]:
    """Check that the rows are tiles of the given side, and return them as float64."""
    images = np.asarray(images)
    if images.ndim != 2 or len(images) == 0:
        raise ValueError(
            f"images has shape {images.shape}; give a 2-dimensional array with at least one row"
        )
    if images.dtype.kind not in "biuf":
        raise ValueError(f"images has dtype {images.dtype}; give integers, floats or booleans")
    if len(side) != 2 or min(side) < 1:
        raise ValueError(f"side={side} is not a height and a width; give two positive integers")
    if images.shape[1] != side[0] * side[1]:
        raise ValueError(
            f"images has {images.shape[1]} columns but side={side} needs {side[0] * side[1]}; "
            "give the height and width of one image"
        )
    values = images.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("images holds NaN or infinite values; replace them before drawing")
    return values


def _check_layout(n_images: int, columns: int, captions: Sequence[str] | None, scale: int) -> None:
    if columns < 1:
        raise ValueError(f"columns={columns} is below 1; use at least one column or None")
    if scale < 1:
        raise ValueError(f"scale={scale} is below 1; use a whole number of pixels per value")
    if captions is not None and len(captions) != n_images:
        raise ValueError(
            f"captions has {len(captions)} texts for {n_images} images; give one text per image"
        )


def _stretch(values: NDArray[np.float64], side: tuple[int, ...]) -> NDArray[np.uint8]:
    """Map the range of each row to 0..255, and give the row its height and width."""
    # Divide by 2 first: the difference of two huge values of opposite sign would overflow.
    halves = values / 2
    low = halves.min(axis=1, keepdims=True)
    reach = halves.max(axis=1, keepdims=True) - low
    flat = reach == 0
    shares = np.where(flat, 0.5, (halves - low) / np.where(flat, 1.0, reach))
    tiles: NDArray[np.uint8] = np.rint(shares * 255).astype(np.uint8)
    return tiles.reshape(-1, *side)


def _choose_columns(n_images: int) -> int:
    """Return the smallest divisor of n_images from its square root to twice that, if any."""
    root = math.ceil(math.sqrt(n_images))
    return next((columns for columns in range(root, 2 * root) if n_images % columns == 0), root)


def _draw_caption(text: str, width: int) -> Image.Image:
    """Draw a text in the middle of a strip, or from its left edge if it is too long."""
    strip = Image.new("L", (width, CAPTION_HEIGHT), SHEET_GREY)
    pencil = ImageDraw.Draw(strip)
    font = ImageFont.load_default(CAPTION_SIZE)
    left = max(0, round((width - pencil.textlength(text, font=font)) / 2))
    pencil.text((left, 0), text, fill=CAPTION_GREY, font=font)
    return strip

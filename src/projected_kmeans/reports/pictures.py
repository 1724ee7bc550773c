"""Arrange rows of data as grey tiles on one picture, and save pictures to disk.

It does not choose which rows to show, and it knows nothing of clusters or of web pages.
"""

from __future__ import annotations

import base64
import io
import math
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

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

    Every tile is stretched to its own value range, its smallest value black and its largest white,
    so that a faint center reads as well as a sharp image; a constant row becomes middle grey.
    Tiles stand row by row from the top left, with a gap of 2 pixels around and between them.

    Parameters
    ----------
    images : ndarray of shape (n_images, height * width)
        One image per row, read line by line; integers, floats or booleans, all finite.
    side : (int, int)
        Height and width of an image.
    columns : int, optional
        Tiles per line of the sheet. By default a full rectangle close to a square where the number
        of images allows one, else a square with the last line cut short.
    captions : sequence of str, optional
        One short text per image, drawn below its tile and cut where the tile ends.
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

    The bytes go to a temporary file in the same folder, which then takes the place of `path` in one
    step; when anything fails, an older file at `path` stays as it was.

    Parameters
    ----------
    image : PIL.Image.Image
        The picture.
    path : str or path-like
        The file to write; its folder must exist.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.

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
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"folder {str(target.parent)!r} for {target.name!r} does not exist; create it first"
        )
    # Not tempfile: its files are private to the owner, and the picture would stay so.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with open(temporary, "xb") as stream:
            image.save(stream, format="PNG", optimize=True)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def encode_png(values: NDArray[Any], shape: tuple[int, ...], most_values: int = 2304) -> str:
    """Return one row as a PNG in base64, its smallest value black and its largest white.

    Parameters
    ----------
    values : ndarray of shape (height * width,) or (height * width * 3,)
        The picture, line by line.
    shape : (int, int) or (int, int, 3)
        Height and width; 3 where every pixel has red, green and blue.
    most_values : int, default=2304
        Larger pictures are made smaller until they have no more values than that.

    Examples
    --------
    >>> encode_png(np.arange(6.0), (2, 3))[:12]
    'iVBORw0KGgoA'
    """
    tile = _stretch(np.asarray(values, dtype=np.float64)[None], shape)[0]
    picture = Image.fromarray(tile)
    factor = math.sqrt(min(1.0, most_values / tile.size))
    if factor < 1:
        smaller = [max(1, int(side * factor)) for side in picture.size]
        picture = picture.resize((smaller[0], smaller[1]), Image.Resampling.BOX)
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _check_images(images: NDArray[Any], side: tuple[int, int]) -> NDArray[np.float64]:
    """Return the rows as float64 once they are known to be tiles of the given side."""
    images = np.asarray(images)
    if images.ndim != 2 or len(images) == 0:
        raise ValueError(
            f"images has shape {images.shape}; give a 2-dimensional array with at least one row"
        )
    if images.dtype.kind not in "biuf":
        raise ValueError(f"images has dtype {images.dtype}; give integers, floats or booleans")
    if len(side) != 2 or min(side) < 1:
        raise ValueError(f"side={side} is no height and width; give two positive integers")
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
    """Map each row's own range to 0..255 and give it back its height and width."""
    # Halved first, so that the range of two huge values of opposite sign does not overflow.
    halves = values / 2
    low = halves.min(axis=1, keepdims=True)
    reach = halves.max(axis=1, keepdims=True) - low
    flat = reach == 0
    shares = np.where(flat, 0.5, (halves - low) / np.where(flat, 1.0, reach))
    tiles: NDArray[np.uint8] = np.rint(shares * 255).astype(np.uint8)
    return tiles.reshape(-1, *side)


def _choose_columns(n_images: int) -> int:
    """Take the divisor of n_images just above its square root, if one is near."""
    root = math.ceil(math.sqrt(n_images))
    return next((columns for columns in range(root, 2 * root) if n_images % columns == 0), root)


def _draw_caption(text: str, width: int) -> Image.Image:
    """Draw a text in the middle of a strip, or from its left edge where it is too long."""
    strip = Image.new("L", (width, CAPTION_HEIGHT), SHEET_GREY)
    pencil = ImageDraw.Draw(strip)
    font = ImageFont.load_default(CAPTION_SIZE)
    left = max(0, round((width - pencil.textlength(text, font=font)) / 2))
    pencil.text((left, 0), text, fill=CAPTION_GREY, font=font)
    return strip

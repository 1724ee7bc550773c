"""Rows that are pictures: their shape, and drawings of them as PNG or on a sheet of grey tiles.

Knows nothing of clusters or web pages.
"""

from __future__ import annotations

import base64
import io
import math
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from projected_kmeans.output_files import write_atomically

ImageShape: TypeAlias = tuple[int, ...]  # height and width, and 3 if there are colours

# Rows are taken for pictures if they have at least 8 x 8 pixels, and neighbouring pixels have at
# least this correlation. It is 0.6 to 0.95 for digits, faces and drawn characters, and below 0.2
# for embeddings.
MIN_SIDE = 8
MIN_CORRELATION = 0.5

# Lengths of a contact sheet in pixels, and its greys.
GAP = 2
CAPTION_SIZE = 11
CAPTION_HEIGHT = 15
SHEET_GREY = 255
CAPTION_GREY = 70


def check_image_shape(image_shape: Any, n_features: int) -> ImageShape | None:
    """Return the shape of rows that are pictures, or None; raise if it does not fit the rows.

    Examples
    --------
    >>> check_image_shape((8, 8), 64)
    (8, 8)
    >>> check_image_shape((8, 9), 64)
    Traceback (most recent call last):
    ...
    ValueError: image_shape=(8, 9) has 72 values and rows have 64; give the shape of one row
    """
    if image_shape is None:
        return None
    shape = tuple(image_shape)
    whole = all(isinstance(side, int) and side > 0 for side in shape)
    if not whole or len(shape) not in (2, 3) or shape[2:] not in ((), (3,)):
        raise ValueError(
            f"image_shape={image_shape!r} is not a height and a width; give (height, width), or "
            "(height, width, 3) for colours"
        )
    if math.prod(shape) != n_features:
        raise ValueError(
            f"image_shape={shape} has {math.prod(shape)} values and rows have {n_features}; give "
            "the shape of one row"
        )
    return shape


def guess_image_shape(rows: Any, names: Sequence[str] | None) -> ImageShape | None:
    """Return the shape of rows that look like square pictures, grey or in colour, else None.

    Colours are those of a pixel side by side: red, green, blue. Rows whose columns have names are
    not taken for pictures.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.demo.glyphs import draw_glyphs
    >>> guess_image_shape(draw_glyphs(200, seed=0).images, None)
    (64, 64)
    >>> guess_image_shape(np.random.default_rng(0).normal(size=(200, 64)), None)
    """
    if scipy.sparse.issparse(rows) or names is not None:
        return None
    for colours in ((), (3,)):
        shape = (side := math.isqrt(rows.shape[1] // math.prod(colours)), side, *colours)
        if side < MIN_SIDE or math.prod(shape) != rows.shape[1]:
            continue
        pixels = rows[:500].astype(np.float64).reshape(-1, *shape)
        pixels -= pixels.mean(axis=0)
        beside = _correlate(pixels[:, :, 1:], pixels[:, :, :-1])
        below = _correlate(pixels[:, 1:], pixels[:, :-1])
        if min(beside, below) >= MIN_CORRELATION:
            return shape
    return None


def encode_png(values: NDArray[Any], shape: ImageShape, max_values: int = 2304) -> str:
    """Return one row as a PNG in base64; its smallest value is black and its largest white.

    Pictures with more values than the maximum are scaled down.

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


def draw_contact_sheet(
    images: NDArray[Any], side: tuple[int, int], columns: int, captions: Sequence[str]
) -> Image.Image:
    """Draw each row of an array as a grey tile in a grid, with its caption below it.

    In every tile the smallest value is black and the largest white, so that a faint center is as
    visible as a sharp image. A constant row becomes middle grey. Tiles are placed line by line from
    the top left, with a gap of 2 pixels around and between them. Captions are cut off at the edge
    of their tile.
    """
    tiles, (height, width) = _stretch(images.astype(np.float64), side), side
    line_height = height + GAP + CAPTION_HEIGHT
    lines = math.ceil(len(tiles) / columns)
    sheet = Image.new("L", (columns * (width + GAP) + GAP, lines * line_height + GAP), SHEET_GREY)
    for position, (tile, caption) in enumerate(zip(tiles, captions, strict=True)):
        line, column = divmod(position, columns)
        corner = (GAP + column * (width + GAP), GAP + line * line_height)
        sheet.paste(Image.fromarray(tile), corner)
        sheet.paste(_draw_caption(caption, width), (corner[0], corner[1] + height))
    return sheet


def save_png(image: Image.Image, path: str | os.PathLike[str]) -> None:
    """Write a picture as a PNG file, whole or not at all."""
    write_atomically(path, lambda handle: image.save(handle, format="PNG", optimize=True))


def _correlate(one: NDArray[Any], other: NDArray[Any]) -> float:
    scale = math.sqrt(float(np.sum(one * one)) * float(np.sum(other * other)))
    return float(np.sum(one * other)) / scale if scale > 0 else 0.0


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


def _draw_caption(text: str, width: int) -> Image.Image:
    """Draw a text in the middle of a strip, or from its left edge if it is too long."""
    strip = Image.new("L", (width, CAPTION_HEIGHT), SHEET_GREY)
    pencil = ImageDraw.Draw(strip)
    font = ImageFont.load_default(CAPTION_SIZE)
    left = max(0, round((width - pencil.textlength(text, font=font)) / 2))
    pencil.text((left, 0), text, fill=CAPTION_GREY, font=font)
    return strip

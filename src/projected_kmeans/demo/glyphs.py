"""Draw the demo's data: labelled grey images of 40 characters in 18 styles.

Nothing is read or downloaded: the letter shapes come from the font inside Pillow. A style draws a
character as a mask of ink, which is placed on images.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

# Characters that do not look alike. I, O and the digits 0, 1, 2, 5 and 8 are left out, because they
# resemble other characters.
CHARACTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ34679agmt=&@#%?$"

MIN_SIDE = 16

# A master is the drawing of one character in one style, from which images are resampled. It is
# twice as large as an image, so that edges are smooth.
MASTER_ZOOM = 2

# The numbers of the two random streams of a seed: for the order of classes, and for images.
_ORDER_STREAM, _IMAGE_STREAM = 0, 1


@dataclass(frozen=True)
class Style:
    """How characters look: the pen that draws them, their proportions and their slant."""

    pen: Callable[[str, int], Image.Image]
    width: float = 1.0
    height: float = 1.0
    slant: float = 0.0


@dataclass(frozen=True)
class Glyphs:
    """A labelled collection of square grey images."""

    images: NDArray[np.uint8]  # (n, side * side): one image per row, line by line; C-contiguous
    labels: NDArray[np.int32]  # (n,): the position in `CHARACTERS` of the character of each row
    side: int  # height and width of an image in pixels


@dataclass(frozen=True)
class Placement:
    """Where one image puts its character; lengths are fractions of the side, angles in radians."""

    shift_x: float
    shift_y: float
    slant: float
    rotation: float
    width: float
    height: float


def draw_glyphs(n_samples: int, *, seed: int = 0, side: int = 64) -> Glyphs:
    """Draw a labelled collection of characters, the same for a given seed.

    Every image is a function of (seed, row) alone, so a smaller collection is the beginning of a
    larger one. Each run of 40 rows, counted from the first, holds every character once in a
    shuffled order, so class sizes differ by at most one. The style is drawn at random per image.
    Another release of Pillow may rasterize an edge pixel of its font differently.

    Examples
    --------
    >>> glyphs = draw_glyphs(80, seed=7)
    >>> glyphs.images.shape, glyphs.images.dtype.name
    ((80, 4096), 'uint8')
    >>> sorted(CHARACTERS[label] for label in glyphs.labels[:40]) == sorted(CHARACTERS)
    True
    """
    _check_arguments(n_samples, seed, side)
    labels = _draw_labels(n_samples, seed)
    images = np.empty((n_samples, side * side), dtype=np.uint8)
    masters: dict[tuple[int, int], Image.Image] = {}
    for row, label in enumerate(labels.tolist()):
        rng = np.random.default_rng([seed, _IMAGE_STREAM, row])
        style = int(rng.integers(len(STYLES)))
        if (label, style) not in masters:
            masters[label, style] = _draw_master(CHARACTERS[label], STYLES[style], side)
        placement = _draw_placement(rng, STYLES[style])
        ink = _place(masters[label, style], placement, side)
        images[row] = _shade(ink, rng)
    return Glyphs(images=images, labels=labels, side=side)


def _check_arguments(n_samples: int, seed: int, side: int) -> None:
    if n_samples < 1:
        raise ValueError(f"n_samples={n_samples} is below 1; ask for at least one image")
    if seed < 0:
        raise ValueError(f"seed={seed} is negative; use 0 or a positive integer")
    if side < MIN_SIDE:
        raise ValueError(f"side={side} is too small to show a character; use {MIN_SIDE} or more")


def _draw_labels(n_samples: int, seed: int) -> NDArray[np.int32]:
    """Return the classes, shuffled in each run of 40 rows; the last run may be shorter."""
    n_classes = len(CHARACTERS)
    labels = np.empty(n_samples, dtype=np.int32)
    for run, first in enumerate(range(0, n_samples, n_classes)):
        order = np.random.default_rng([seed, _ORDER_STREAM, run]).permutation(n_classes)
        labels[first : first + n_classes] = order[: n_samples - first]
    return labels


def _draw_placement(rng: np.random.Generator, style: Style) -> Placement:
    """Draw a small random change of the style's position, slant, rotation and size."""
    shift_x, shift_y, slant, rotation, size, aspect = rng.uniform(-1.0, 1.0, size=6).tolist()
    scale = math.exp(0.06 * size)
    stretch = math.exp(0.04 * aspect)
    return Placement(
        shift_x=0.02 * shift_x,
        shift_y=0.02 * shift_y,
        slant=style.slant + 0.05 * slant,
        rotation=0.06 * rotation,
        width=style.width * scale * stretch,
        height=style.height * scale / stretch,
    )


def _place(master: Image.Image, placement: Placement, side: int) -> NDArray[np.uint8]:
    """Resample a master to an image at a placement; 0 is paper and 255 is full ink."""
    cos, sin = math.cos(placement.rotation), math.sin(placement.rotation)
    # Pillow needs the inverse map, from image to master: undo rotation, then slant, then scale.
    x_scale, y_scale = MASTER_ZOOM / placement.width, MASTER_ZOOM / placement.height
    xx = x_scale * (cos - placement.slant * sin)
    xy = x_scale * (sin + placement.slant * cos)
    yx, yy = -y_scale * sin, y_scale * cos
    middle_x = side * (0.5 + placement.shift_x)
    middle_y = side * (0.5 + placement.shift_y)
    middle = MASTER_ZOOM * side / 2
    inverse = (
        *(xx, xy, middle - xx * middle_x - xy * middle_y),
        *(yx, yy, middle - yx * middle_x - yy * middle_y),
    )
    placed = master.transform(
        (side, side), Image.Transform.AFFINE, inverse, Image.Resampling.BILINEAR
    )
    return np.asarray(placed, dtype=np.uint8).ravel()


def _shade(ink: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Turn ink into grey levels: ink and paper get random levels, and every pixel gets noise."""
    paper = np.float32(rng.uniform(214.0, 234.0))
    darkest = np.float32(rng.uniform(20.0, 80.0))
    grey = rng.standard_normal(ink.size, dtype=np.float32)
    grey *= np.float32(7.0)
    grey += paper
    grey += (darkest - paper) / np.float32(255) * ink
    np.clip(np.rint(grey, out=grey), 0, 255, out=grey)
    return grey.astype(np.uint8)


def _draw_master(character: str, style: Style, side: int) -> Image.Image:
    """Draw one character in one style, blurred so that resampling to images does not alias."""
    master = style.pen(character, MASTER_ZOOM * side)
    return master.filter(ImageFilter.GaussianBlur(0.45 * MASTER_ZOOM))


@lru_cache(maxsize=4)
def _load_font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _strike(
    character: str, extent: int, weight: float = 0.0, shift: tuple[float, float] = (0.0, 0.0)
) -> Image.Image:
    """Draw a character in the middle; weight and shift are fractions of the extent.

    A positive weight thickens the strokes on both sides, a negative one thins them.
    """
    font = _load_font(round(0.88 * extent))
    stroke = max(0, round(weight * extent))
    mask = Image.new("L", (extent, extent), 0)
    pencil = ImageDraw.Draw(mask)
    left, top, right, bottom = pencil.textbbox((0, 0), character, font=font, stroke_width=stroke)
    corner = (
        round((extent - left - right) / 2 + shift[0] * extent),
        round((extent - top - bottom) / 2 + shift[1] * extent),
    )
    pencil.text(corner, character, fill=255, font=font, stroke_width=stroke)
    return _thin(mask, max(0, round(-weight * extent)))


def _thin(mask: Image.Image, depth: int) -> Image.Image:
    """Keep the ink that is at least ``depth`` pixels from paper in each of four directions."""
    thinned = mask
    for x, y in ((depth, 0), (-depth, 0), (0, depth), (0, -depth)) if depth else ():
        thinned = ImageChops.darker(thinned, ImageChops.offset(mask, x, y))
    return thinned


def _outline(character: str, extent: int) -> Image.Image:
    """Draw only the contour."""
    return ImageChops.subtract(_strike(character, extent, 0.032), _strike(character, extent))


def _tinted(character: str, extent: int) -> Image.Image:
    """Draw a heavy contour around a pale fill."""
    paleness = _strike(character, extent, -0.008).point([v * 3 // 5 for v in range(256)])
    return ImageChops.subtract(_strike(character, extent, 0.035), paleness)


def _shadow(character: str, extent: int) -> Image.Image:
    """Draw the character in front of its own pale shadow."""
    shade = _strike(character, extent, 0.01, shift=(0.05, 0.05)).point([v // 2 for v in range(256)])
    return ImageChops.lighter(_strike(character, extent, 0.01, shift=(-0.015, -0.015)), shade)


def _fat_face(character: str, extent: int) -> Image.Image:
    """Draw twice with a thin pen, side by side, which gives heavy stems and fine bars."""
    left = _strike(character, extent, -0.008, shift=(-0.035, 0.0))
    return ImageChops.lighter(left, _strike(character, extent, -0.008, shift=(0.035, 0.0)))


def _broad_nib(character: str, extent: int) -> Image.Image:
    """Draw five times along a diagonal, as a broad nib does: strokes across it are thick."""
    mask = Image.new("L", (extent, extent), 0)
    for step in (-1.0, -0.5, 0.0, 0.5, 1.0):
        strike = _strike(character, extent, -0.008, shift=(0.035 * step, -0.035 * step))
        mask = ImageChops.lighter(mask, strike)
    return mask


def _striped(character: str, extent: int) -> Image.Image:
    """Cut heavy strokes by horizontal gaps."""
    lines = np.arange(extent) % max(4, extent // 12) >= max(1, extent // 36)
    blinds = np.repeat(lines[:, np.newaxis], extent, axis=1).astype(np.uint8) * np.uint8(255)
    return ImageChops.multiply(_strike(character, extent, 0.02), Image.fromarray(blinds))


def _melted(character: str, extent: int) -> Image.Image:
    """Round the corners and fill narrow gaps, by a wide blur and a threshold."""
    blurred = _strike(character, extent, 0.012).filter(ImageFilter.GaussianBlur(0.03 * extent))
    return blurred.point([255 if v > 110 else 0 for v in range(256)])


_light = partial(_strike, weight=-0.008)
_bold = partial(_strike, weight=0.018)
_black = partial(_strike, weight=0.036)


STYLES: tuple[Style, ...] = (
    Style(_strike),
    Style(_light),
    Style(_bold),
    Style(_black),
    Style(_outline),
    Style(_tinted),
    Style(_shadow),
    Style(_fat_face),
    Style(_broad_nib),
    Style(_striped),
    Style(_melted),
    Style(_bold, width=0.78),
    Style(_strike, width=1.18),
    Style(_strike, slant=0.22),
    Style(_bold, slant=-0.18),
    Style(_bold, width=0.84, height=0.84),
    Style(_light, width=0.85, slant=0.18),
    Style(_black, width=1.10, height=0.82),
)

"""The styles in which the demo draws characters: pens, proportions and slants.

Draws single characters as masks of ink; `glyphs` places them on images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont


@dataclass(frozen=True)
class Style:
    """How characters look: the pen that draws them, their proportions and their slant."""

    pen: Callable[[str, int], Image.Image]
    width: float = 1.0
    height: float = 1.0
    slant: float = 0.0


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

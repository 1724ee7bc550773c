"""Draw the demo's data: labelled grey images of 40 characters in many styles.

Nothing is read or downloaded: the letter shapes come from the font inside Pillow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from projected_kmeans.demo.lettering import STYLES, Style

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
class Glyphs:
    """A labelled collection of square grey images.

    Attributes
    ----------
    images : ndarray of shape (n_samples, side * side), uint8
        One image per row, read line by line; C-contiguous.
    labels : ndarray of shape (n_samples,), int32
        Position in `CHARACTERS` of the character that each row shows.
    side : int
        Height and width of an image in pixels.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int32]
    side: int


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

    Parameters
    ----------
    n_samples : int
        Number of images, at least 1.
    seed : int, default=0
        Seed of the random numbers; at least 0.
    side : int, default=64
        Height and width of an image in pixels, at least 16; the default gives 4096 features.

    Returns
    -------
    Glyphs
        Images, labels and side.

    Raises
    ------
    ValueError
        If an argument is below its minimum.

    Notes
    -----
    The letter shapes come from the font inside Pillow; another Pillow release may rasterize an
    edge pixel differently.

    Examples
    --------
    >>> from projected_kmeans.demo.glyphs import CHARACTERS, draw_glyphs
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

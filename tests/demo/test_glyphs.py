"""Properties of the demo images; nothing here runs a clustering."""

from __future__ import annotations

import re

import numpy as np
import pytest

from projected_kmeans.demo.glyphs import CHARACTERS, STYLES, draw_glyphs


def test_shape_and_dtype() -> None:
    """Images are C-contiguous uint8 rows of side * side values, labels are int32."""
    glyphs = draw_glyphs(7)
    assert glyphs.images.shape == (7, 4096)
    assert glyphs.images.dtype == np.uint8
    assert glyphs.images.flags.c_contiguous
    assert glyphs.labels.shape == (7,)
    assert glyphs.labels.dtype == np.int32
    assert glyphs.side == 64


@pytest.mark.parametrize("side", [16, 17, 100])
def test_any_side(side: int) -> None:
    """Every side from the smallest on gives images with both ink and paper."""
    images = draw_glyphs(40, side=side).images
    assert images.shape == (40, side * side)
    assert (images.min(axis=1) < 160).all()
    assert (images.max(axis=1) > 200).all()


def test_enough_characters_and_styles() -> None:
    """There are 40 distinct characters and at least 12 distinct styles."""
    assert len(set(CHARACTERS)) == len(CHARACTERS) == 40
    assert len(set(STYLES)) == len(STYLES) >= 12


def test_same_seed_same_images() -> None:
    """Two calls with one seed agree in every byte."""
    first, second = draw_glyphs(50, seed=3), draw_glyphs(50, seed=3)
    np.testing.assert_array_equal(first.images, second.images)
    np.testing.assert_array_equal(first.labels, second.labels)


def test_other_seed_other_images() -> None:
    """Two seeds share no image and do not order the classes alike."""
    first, second = draw_glyphs(50, seed=3), draw_glyphs(50, seed=4)
    assert (first.images != second.images).any(axis=1).all()
    assert (first.labels != second.labels).any()


def test_no_image_repeats() -> None:
    """All rows of a collection are different images."""
    assert len(np.unique(draw_glyphs(400).images, axis=0)) == 400


def test_global_random_state_stays_where_it_was() -> None:
    """Drawing does not advance NumPy's global generator."""
    before = repr(np.random.get_state())  # noqa: NPY002
    draw_glyphs(3)
    assert repr(np.random.get_state()) == before  # noqa: NPY002


@pytest.mark.parametrize("n_samples", [1, 39, 40, 41, 100])
def test_a_small_collection_begins_a_large_one(n_samples: int) -> None:
    """The first rows do not depend on how many follow."""
    small, large = draw_glyphs(n_samples, seed=1), draw_glyphs(130, seed=1)
    np.testing.assert_array_equal(small.images, large.images[:n_samples])
    np.testing.assert_array_equal(small.labels, large.labels[:n_samples])


@pytest.mark.parametrize("n_samples", [1, 40, 97, 200])
def test_classes_are_balanced_up_to_one(n_samples: int) -> None:
    """Class sizes differ by at most one, whatever the number of images."""
    counts = np.bincount(draw_glyphs(n_samples, side=16).labels, minlength=len(CHARACTERS))
    assert len(counts) == len(CHARACTERS)
    assert counts.max() - counts.min() <= 1


def test_classes_are_separable() -> None:
    """The nearest class mean names most held-out images, where chance names one in 40."""
    glyphs = draw_glyphs(1600)
    images, labels = glyphs.images.astype(np.float64), glyphs.labels
    means = np.stack([images[:1200][labels[:1200] == label].mean(axis=0) for label in range(40)])
    held_out = images[1200:]
    distances = (means**2).sum(axis=1) - 2 * held_out @ means.T
    assert (distances.argmin(axis=1) == labels[1200:]).mean() > 0.7


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_samples": 0}, "n_samples=0 is below 1; ask for at least one image"),
        ({"n_samples": 5, "seed": -1}, "seed=-1 is negative; use 0 or a positive integer"),
        (
            {"n_samples": 5, "side": 15},
            "side=15 is too small to show a character; use 16 or more",
        ),
    ],
)
def test_bad_input_gets_a_sentence(arguments: dict[str, int], sentence: str) -> None:
    """An argument below its minimum raises a ValueError that names it and says what to do."""
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        draw_glyphs(**arguments)

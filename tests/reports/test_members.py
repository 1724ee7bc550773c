"""Rows are shown as pictures or by the columns that stand out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from projected_kmeans import ProjectedKMeans
from projected_kmeans.demo.glyphs import draw_glyphs
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.members import check_image_shape, guess_image_shape


def test_pictures_are_recognised() -> None:
    """Drawn characters are square pictures; noise, sparse rows and named columns are not."""
    images = draw_glyphs(200, seed=0).images
    assert guess_image_shape(images, None) == (64, 64)
    assert guess_image_shape(images, ["pixel"] * 4096) is None
    noise = np.random.default_rng(0).normal(size=(200, 4096))
    assert guess_image_shape(noise, None) is None
    assert guess_image_shape(scipy.sparse.csr_array(images), None) is None


@pytest.mark.parametrize("shape", [(8, 9), (8,), (64, 1, 2), (-8, -8), ("8", "8")])
def test_wrong_image_shapes_are_refused(shape: Any) -> None:
    """A shape that makes no sense, or does not fit the rows, gives one sentence."""
    with pytest.raises(ValueError, match="image_shape="):
        check_image_shape(shape, 64)


def test_columns_in_which_a_center_stands_out_come_first() -> None:
    """The column that was moved for one cluster is the first that its members show."""
    X = np.random.default_rng(0).normal(size=(90, 5))
    X[:30, 3] += 50
    table = pd.DataFrame(X, columns=["a", "b", "c", "d", "e"])
    model = ProjectedKMeans(2, random_state=0).fit(table)
    found = describe_report(model, table)
    moved = next(one for one in found.members if one.cluster == model.labels_[0])
    assert moved.columns[0].name == "d"
    assert moved.typical[0].values[0] == X[moved.typical[0].row, 3]


def test_square_pictures_in_colour_are_found() -> None:
    """Smooth pictures with three colours a pixel are told from random numbers of that size."""
    steps = np.random.default_rng(0).normal(size=(200, 12, 12, 3))
    smooth = np.cumsum(np.cumsum(steps, axis=1), axis=2)
    assert guess_image_shape(smooth.reshape(200, -1), None) == (12, 12, 3)
    assert guess_image_shape(steps.reshape(200, -1), None) is None

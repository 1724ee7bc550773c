"""Dot products that zeros do not change."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans.passes.dot_products import SPAN, SomeColumns, dot_error, dot_rows
from tests.support.layouts import seeds


@given(seed=seeds, d=st.sampled_from([1, 7, SPAN - 1, SPAN, SPAN + 1, 3 * SPAN + 5]))
def test_vectors_without_zeros_have_the_bits_of_dense_ones(seed: int, d: int) -> None:
    """Columns in which all vectors are 0 may be left out, and the error is as small as promised."""
    stream = np.random.default_rng(seed)
    left, right = stream.normal(size=(2, 3, d)) * 10.0 ** stream.integers(-9, 9, size=(2, 3, d))
    kept = np.flatnonzero(stream.random(d) < stream.random())
    gone = np.setdiff1d(np.arange(d), kept)
    left[:, gone], right[:, gone] = 0.0, 0.0
    dense = dot_rows(left, right)
    some = dot_rows(left[:, kept], right[:, kept], SomeColumns(kept, d))
    np.testing.assert_array_equal(some, dense)
    for one, other, found in zip(left.tolist(), right.tolist(), dense, strict=True):
        terms = [Fraction(a) * Fraction(b) for a, b in zip(one, other, strict=True)]
        size = math.fsum(abs(float(term)) for term in terms)
        assert abs(Fraction(float(found)) - sum(terms)) <= dot_error(d) * size

"""Settings: the estimator's parameters as one value, and their checks."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.decomposition import PCA

from projected_kmeans import ProjectedKMeans
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.search.settings import (
    Settings,
    Sizes,
    check_parameters,
    check_sizes,
    parse_memory,
)


def test_settings_are_the_parameters_of_the_estimator() -> None:
    """Names, order and defaults are those of `ProjectedKMeans`."""
    parameters = list(inspect.signature(ProjectedKMeans).parameters.values())
    assert [field.name for field in fields(Settings)] == [one.name for one in parameters]
    assert [field.default for field in fields(Settings)] == [one.default for one in parameters]


def test_settings_of_a_model() -> None:
    """Values are taken as they are, and parameters of a subclass are left out."""
    init = [[0.0], [1.0]]
    parameters = ProjectedKMeans(2, init=init, tol=0.5).get_params(deep=False)
    settings = Settings.of(parameters | {"other": 1})
    assert settings.init is init
    assert (settings.n_clusters, settings.tol, settings.solver) == (2, 0.5, "auto")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 is too small"),
        ({"n_init": 2.5}, "n_init=2.5"),
        ({"solver": "newton"}, "solver='newton' is not known"),
        ({"metric": "cubic"}, "metric='cubic' is not known"),
        ({"init": "centre"}, "init='centre' is not known"),
        ({"eps": 2.0}, r"eps=2.0 is outside \(0, 1\)"),
        ({"tol": "none"}, "tol='none'"),
        ({"projection": "pca"}, "projection='pca' is not known"),
        ({"projection": 5}, "projection=5 is not known"),
        ({"n_components": "many"}, "n_components='many'"),
        ({"memory_limit": "much"}, "memory_limit='much' is not a size"),
        ({"time_budget": -1}, "time_budget=-1"),
        ({"n_threads": 0}, "n_threads=0 is too small"),
        ({"n_threads": 2**31}, "n_threads=2147483648 is too large; use at most 2147483647, or"),
    ],
)
def test_bad_parameters_are_named(changed: dict[str, Any], message: str) -> None:
    """Each bad value is refused with its name, and the defaults are accepted."""
    check_parameters(Settings())
    with pytest.raises((TypeError, ValueError), match=message):
        check_parameters(replace(Settings(), **changed))


def test_n_components_is_ignored_without_a_named_map() -> None:
    """Without a projection, or with a transformer, n_components has no meaning."""
    for projection in (None, PCA(2)):
        check_parameters(Settings(projection=projection, n_components="many"))
        check_sizes(Settings(projection=projection, n_components=99), 100, 5)


def test_sizes_are_compared() -> None:
    """More clusters than rows and more components than columns are refused."""
    check_sizes(Settings(8, n_components=5), 8, 5)
    with pytest.raises(ValueError, match="n_clusters=8 exceeds n_samples=7; use at most 7"):
        check_sizes(Settings(8), 7, 5)
    with pytest.raises(ValueError, match="n_components=6 exceeds n_features=5"):
        check_sizes(Settings(8, n_components=6), 8, 5)


# --- sizes ---------------------------------------------------------------------------------------


def test_dense_rows() -> None:
    """Every entry of dense rows is read."""
    sizes = Sizes.of(open_blocks(np.zeros((10, 4), np.float32)), 3)
    assert sizes == Sizes(10, 4, 3, 4)
    assert (sizes.sparse, sizes.n_entries, sizes.data_bytes) == (False, 40, 160)


def test_sparse_rows() -> None:
    """Of sparse rows the nonzeros are read, with 4 bytes for the column of each."""
    sizes = Sizes.of(open_blocks(scipy.sparse.csr_array(np.eye(10))), 3)
    assert sizes == Sizes(10, 10, 3, 8, n_nonzeros=10)
    assert (sizes.sparse, sizes.n_entries, sizes.data_bytes) == (True, 10, 120)


@pytest.mark.parametrize(("itemsize", "expected"), [(1, 4), (2, 4), (4, 4), (8, 8)])
def test_numbers_of_the_sketch(itemsize: int, expected: int) -> None:
    """A sketch is float64 for rows of float64, and float32 for all smaller types."""
    assert Sizes(10, 4, 3, itemsize).sketch_itemsize == expected


# --- limits of memory ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (None, None),
        (5000, 5000),
        ("5000", 5000),
        ("5000B", 5000),
        ("500MB", 500 * 10**6),
        ("2GiB", 2 * 2**30),
        (" 1.5 gb ", 1_500_000_000),
        ("64kib", 65_536),
    ],
)
def test_sizes_are_read(limit: Any, expected: int | None) -> None:
    """Bytes, decimal units and binary units are read, in upper and lower case."""
    assert parse_memory(limit) == expected


@pytest.mark.parametrize("limit", ["much", "0MB", "-1GB", "5 apples", "", "1e9"])
def test_bad_texts_are_refused(limit: str) -> None:
    """A text that is not a size gives one sentence."""
    with pytest.raises(ValueError, match="is not a size; use bytes or a text such as '500MB'"):
        parse_memory(limit)


@pytest.mark.parametrize(("limit", "error"), [(0, ValueError), (2.5, TypeError)])
def test_bad_numbers_are_refused(limit: Any, error: type[Exception]) -> None:
    """A number must be an integer of at least 1."""
    with pytest.raises(error, match="memory_limit="):
        parse_memory(limit)

"""Fits to compare with, and clusters that several tests of Dask share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from typing import Any

import dask
import pytest

from projected_kmeans import ProjectedKMeans
from tests.support.dask_rows import (
    OPTIONS,
    ROWS,
    fit,
    open_cluster,
)


@pytest.fixture(scope="module")
def expected() -> Callable[[str], ProjectedKMeans]:
    """Return fits of the rows in memory, each made once."""
    made: dict[str, ProjectedKMeans] = {}

    def find(name: str) -> ProjectedKMeans:
        if name not in made:
            made[name] = fit(ROWS, OPTIONS[name])
        return made[name]

    return find


@pytest.fixture(scope="module")
def clients() -> Iterator[Callable[[int], Any]]:
    """Return clients of clusters in this process by their number of workers, each started once."""
    with ExitStack() as stack:
        opened: dict[int, Any] = {}

        def find(n_workers: int) -> Any:
            if n_workers not in opened:
                opened[n_workers] = stack.enter_context(open_cluster(n_workers))
            return opened[n_workers]

        yield find


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    """Return the client of a cluster of two processes."""
    with open_cluster(2, processes=True) as client:
        yield client


@pytest.fixture(scope="module")
def schedulers() -> Iterator[dict[str, dict[str, Any]]]:
    """Return Dask's own schedulers as its configuration names them."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield {
            "synchronous": {"scheduler": "synchronous"},
            "threads": {"scheduler": "threads"},
            "processes": {"scheduler": "processes", "pool": pool},
        }


@pytest.fixture
def here() -> Iterator[None]:
    """Let Dask compute in this thread."""
    with dask.config.set(scheduler="synchronous"):
        yield

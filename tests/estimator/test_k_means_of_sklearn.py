"""scikit-learn's own tests of KMeans, run against the estimator without projection.

The tests that fail on purpose stand in the table of docs/howto/moving.md. One that passes though it
stands there is a failure, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.cluster

from projected_kmeans import ProjectedKMeans

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "moving.md"

# Tests of scikit-learn raise warnings that are not meant for us.
pytestmark = pytest.mark.filterwarnings("default")


class KMeans(ProjectedKMeans):
    """The estimator with the parameters of scikit-learn's KMeans."""

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
    ) -> None:
        super().__init__(
            n_clusters,
            projection=None,
            solver="lloyd",
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            verbose=verbose,
            random_state=random_state,
        )
        self.copy_x = copy_x
        self.algorithm = algorithm


def load_tests() -> dict[str, Callable[..., None]]:
    """Return scikit-learn's tests of its class KMeans; none if it was installed without tests."""
    there = pytest.MonkeyPatch()
    there.setattr(sklearn.cluster, "KMeans", KMeans)
    try:
        module = import_module("sklearn.cluster.tests.test_k_means")
    except ImportError:
        return {}
    finally:
        there.undo()
    return {
        name: test
        for name, test in vars(module).items()
        if name.startswith("test_") and is_about_kmeans(test)
    }


def is_about_kmeans(test: Any) -> bool:
    """Return whether a test uses the class, and leave out its cases of other classes."""
    marks, is_asked = [], False
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            is_asked |= any(holds(one, KMeans) for one in mark.args[1])
            cases = [one for one in mark.args[1] if not holds(one, sklearn.cluster.MiniBatchKMeans)]
            mark = pytest.mark.parametrize(mark.args[0], cases, **mark.kwargs).mark
        marks.append(mark)
    test.pytestmark = marks
    return is_asked or "KMeans" in test.__code__.co_names


def holds(case: Any, kind: type) -> bool:
    """Return whether a case of a test is a class or contains it."""
    return case is kind or (isinstance(case, tuple) and any(one is kind for one in case))


def read_justified() -> Iterator[tuple[str, str]]:
    """Return the tests that the table of the page names, each with what differs."""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        for name in re.findall(r"`(test_\w+)`", cells[-1]) if len(cells) == 2 else ():
            yield name, cells[0]


TESTS = load_tests()
JUSTIFIED = dict(read_justified())
for one in TESTS.keys() & JUSTIFIED.keys():
    TESTS[one] = pytest.mark.xfail(strict=True, reason=JUSTIFIED[one])(TESTS[one])
globals().update(TESTS)


@pytest.fixture
def global_random_seed() -> int:
    """Return the seed that scikit-learn's tests use by default."""
    return 42


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request: pytest.FixtureRequest) -> Any:
    """Return the types of rows that scikit-learn's tests use."""
    return request.param


@pytest.mark.skipif(not TESTS, reason="scikit-learn was installed without its tests")
def test_the_table_names_tests_that_exist() -> None:
    """Every name in the table is a test of scikit-learn, and most of its tests pass."""
    assert JUSTIFIED.keys() <= TESTS.keys()
    assert len(JUSTIFIED) < len(TESTS) / 3

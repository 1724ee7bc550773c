"""How much of the package a default fit enters: what a reader has to follow to understand it."""

from __future__ import annotations

import inspect
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from numpy.typing import NDArray

import projected_kmeans
from projected_kmeans import ProjectedKMeans

PACKAGE = Path(projected_kmeans.__file__).parent

COMPREHENSIONS = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}

# One module and one function of these are entered only where another test has mapped a file.
# The most that a default fit of dense rows may enter. 250 functions are aimed at; the limit is what
# there are, so that there will not be more.
MOST_MODULES, MOST_FUNCTIONS = 45, 255

# The most that `predict` may enter: of few clusters, and of so many that bounds rule out centers.
MOST_OF_PREDICT = {10: (19, 58), 100: (21, 75)}


@contextmanager
def watch_functions() -> Iterator[dict[str, set[str]]]:
    """Yield the names of the functions of the package that are called in the block, by module.

    Functions inside functions count on their own, and so do functions that threads call. Bodies of
    modules and classes, which run when a module is imported, do not count, nor do comprehensions,
    which are no functions from Python 3.12 on.
    """
    entered: dict[str, set[str]] = defaultdict(set)
    inside = f"{PACKAGE}/"

    def follow(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and code.co_name not in COMPREHENSIONS
        if event == "call" and is_function and code.co_filename.startswith(inside):
            entered[code.co_filename.removeprefix(inside)].add(code.co_qualname)

    threading.setprofile(follow)
    sys.setprofile(follow)
    try:
        yield entered
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def draw_rows(n_clusters: int) -> NDArray[np.float32]:
    """Return 20,000 rows of 300 columns."""
    stream = np.random.default_rng(0)
    means = 0.3 * stream.normal(size=(n_clusters, 300))
    X = means[stream.integers(n_clusters, size=20_000)] + stream.normal(size=(20_000, 300))
    return X.astype(np.float32)


def print_functions(what: str, entered: dict[str, set[str]]) -> int:
    """Print the functions that were entered, by module; return their number."""
    n_functions = sum(map(len, entered.values()))
    print(f"{what} enters {len(entered)} modules and {n_functions} functions:")
    for module, names in sorted(entered.items()):
        print(f"{module} ({len(names)}): {', '.join(sorted(names))}")
    return n_functions


def test_a_default_fit_enters_few_modules_and_functions() -> None:
    """A fit of dense rows in 100 clusters does not need more code than it does now."""
    X = draw_rows(100)
    with watch_functions() as entered:
        ProjectedKMeans(100, random_state=0).fit(X)
    assert print_functions("a default fit", entered) <= MOST_FUNCTIONS
    assert len(entered) <= MOST_MODULES


@pytest.mark.parametrize("n_clusters", MOST_OF_PREDICT)
def test_predict_enters_few_modules_and_functions(n_clusters: int) -> None:
    """Labels of dense rows do not need more code than they do now."""
    X = draw_rows(n_clusters)
    model = ProjectedKMeans(n_clusters, random_state=0).fit(X)
    with watch_functions() as entered:
        model.predict(X)
    most_modules, most_functions = MOST_OF_PREDICT[n_clusters]
    assert print_functions(f"predict of {n_clusters} clusters", entered) <= most_functions
    assert len(entered) <= most_modules

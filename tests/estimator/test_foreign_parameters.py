"""Habits of scikit-learn and NumPy: what is not taken says what to do instead."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans, as_row_source
from projected_kmeans.search.settings import OTHER_PARAMETERS

ROWS = np.random.default_rng(0).normal(size=(60, 4))


@pytest.mark.parametrize("name", OTHER_PARAMETERS)
def test_parameters_of_sklearn_and_of_earlier_versions_explain_themselves(name: str) -> None:
    """They are refused by name with a reason; other names are refused by Python."""
    with pytest.raises(TypeError, match=f"^{name} is not a parameter here; (use|leave it out)"):
        ProjectedKMeans(3, **{name: 1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        ProjectedKMeans(3, colour=1)  # type: ignore[call-arg]
    assert name not in inspect.signature(ProjectedKMeans).parameters


@pytest.mark.parametrize("path", ["rows.npy", Path("rows.npy")])
def test_a_path_is_not_rows(path: Any) -> None:
    """The error has the call that opens the file."""
    model = ProjectedKMeans(2, random_state=0).fit(ROWS)
    for refuse in (ProjectedKMeans(2).fit, model.predict, as_row_source):
        with pytest.raises(TypeError, match=r"open it: open_rows\('rows\.npy'\)"):
            refuse(path)


def test_a_generator_is_a_random_state() -> None:
    """Generators in the same state give the same key, and the next fit another one."""
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    first = ProjectedKMeans(2, random_state=one).fit(ROWS)
    second = ProjectedKMeans(2, random_state=other).fit(ROWS)
    assert first.key_ == second.key_
    assert ProjectedKMeans(2, random_state=one).fit(ROWS).key_ != first.key_


def test_restarts_from_given_centers_are_one_and_warn() -> None:
    """As in scikit-learn; the result is that of one start, and "auto" is silent."""
    with pytest.warns(RuntimeWarning, match=r"performing only one init .* n_init=5"):
        model = ProjectedKMeans(2, init=ROWS[:2], n_init=5, random_state=0).fit(ROWS)
    assert model.approach_.n_init == 1
    single = ProjectedKMeans(2, init=ROWS[:2], n_init=1, random_state=0).fit(ROWS)
    assert model.inertia_ == single.inertia_
    ProjectedKMeans(2, init=ROWS[:2], random_state=0).fit(ROWS)

"""The promises of `RowSource`, kept by every file format and every container in memory."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projected_kmeans import ProjectedKMeans
from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.protocol import RowSource, SourceDefaults, is_row_source
from tests.support.refused_files import reading_error
from tests.support.row_cases import CONTAINERS, FILES, Case
from tests.support.row_files import NAMES, ROWS

CASES = FILES | CONTAINERS
# Mapped, loaded, joined, decoded forwards, parsed by another process, and parsed as text.
REPRESENTATIVES = (
    "npy Fortran",
    "npz sparse",
    "folder of csv",
    "parquet",
    "hdf5 compressed",
    "svmlight from 1",
)


@pytest.mark.parametrize("name", CASES)
def test_promises_of_every_source(name: str, tmp_path: Path) -> None:
    """Each case is known after opening, and its rows are the same in every way to read them."""
    case = CASES[name]
    with case.open(tmp_path) as source:
        assert source.shape == case.rows.shape
        assert source.feature_names == (NAMES if case.names else source.feature_names)
        case.check_range(source, 0, len(case.rows))
        case.check_walks(source)
        case.check_threads(source)
        for start, stop in ((-1, 3), (4, 2), (0, len(case.rows) + 1)):
            with pytest.raises(ValueError, match=f"rows {start}:{stop} are not within"):
                source.read(start, stop)
        check_pickles(case, source, is_file=name in FILES or "map" in name.lower())


def check_pickles(case: Case, source: RowSource, *, is_file: bool) -> None:
    """Assert that unpickled copies read the same, also after a close; a file's has no rows."""
    pickled = pickle.dumps(source)
    copy = pickle.loads(pickled)
    case.check_range(copy, 3, len(case.rows) - 3)
    assert copy.identity() == source.identity()
    again = pickle.loads(pickle.dumps(copy))
    copy.close()  # its reading process serves the next copy
    again.close()
    case.check_range(again, 0, 7)
    again.close()
    labels = 0 if source.labels is None else source.labels.nbytes
    assert not is_file or len(pickled) - labels < 8000


@pytest.fixture(scope="module", params=REPRESENTATIVES)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a case and its source, made once for all ranges of a case."""
    case = CASES[request.param]
    with case.open(tmp_path_factory.mktemp("rows")) as source:
        yield case, source


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(ends=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_any_range(opened: tuple[Case, RowSource], ends: tuple[float, float]) -> None:
    """Any range has its rows, whatever was read before."""
    case, source = opened
    start, stop = sorted(round(end * len(case.rows)) for end in ends)
    case.check_range(source, start, stop)


# --- sources of the user's own ------------------------------------------------------------------


class SquareNumbers(SourceDefaults):
    """A source that computes its rows."""

    shape = (60, 4)
    dtype: np.dtype[Any] = np.dtype(np.float64)

    def read(self, start: int, stop: int) -> Any:
        """Return the squares of consecutive numbers."""
        return (np.arange(start * 4, stop * 4).reshape(-1, 4) % 97) ** 2.0

    def identity(self) -> str:
        """Return a name, because the rows are always the same."""
        return "squares"


def test_a_class_of_the_users_own_is_a_source() -> None:
    """A class with `shape`, `dtype`, `read` and `identity` that inherits the defaults is fitted."""
    source = SquareNumbers()
    assert is_row_source(source)
    assert as_row_source(source) is source
    with source as entered:
        assert entered is source
    stored = ProjectedKMeans(3, random_state=0).fit(source)
    in_memory = ProjectedKMeans(3, random_state=0).fit(source.read(0, 60))
    np.testing.assert_array_equal(stored.labels_, in_memory.labels_)


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        ROWS.tolist(),
        "rows.npy",
        None,
        pd.DataFrame({"read": [1.0], "identity": [2.0]}),
        open,
    ],
)
def test_other_data_is_not_a_source(data: Any) -> None:
    """Arrays, lists, paths and tables are not sources, whatever their columns are called."""
    assert not is_row_source(data)


# --- matrices -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        (ROWS * 1j, "complex numbers"),
        (np.array([["a", "b"]]), "holds values of type <U1"),
        (np.arange(4), "shape (4,)"),
        (np.zeros((2, 2, 2)), "shape (2, 2, 2)"),
        (np.zeros((0, 3)), "shape (0, 3)"),
        (np.zeros((3, 0)), "shape (3, 0)"),
        (np.array(1.0), "shape ()"),
        (np.zeros(2, dtype=[("a", "f8")]), "holds values of type"),
    ],
)
def test_arrays_that_are_not_a_matrix(rows: Any, part: str, tmp_path: Path) -> None:
    """Complex, textual, flat, deep and empty arrays are refused with what they are."""
    np.save(tmp_path / "rows.npy", rows)
    assert part in reading_error(tmp_path / "rows.npy")
    np.savez(tmp_path / "rows.npz", X=rows)
    assert part in reading_error(tmp_path / "rows.npz", variable="X")


class Incomplete(SourceDefaults):
    """A source of ones whose author forgot the element type."""

    shape = (3, 2)

    def read(self, start: int, stop: int) -> Any:
        """Return rows of ones."""
        return np.ones((stop - start, 2))

    def identity(self) -> str:
        """Return a fingerprint."""
        return "ones"


def test_a_source_that_lacks_a_member_gets_one_sentence() -> None:
    """A class of the user's own is told which member it lacks, before any row is read."""
    with pytest.raises(TypeError, match=r"Incomplete is a row source without 'dtype'; add it"):
        ProjectedKMeans(1).fit(Incomplete())

"""The option ``--as-in-paper`` of ``fit``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from projected_kmeans import random_projection_kmeans
from tests.support.blobs import draw_blobs
from tests.support.commands import Call, check_refusal, read_json

ROWS = draw_blobs(n=60, d=90, k=3)[0]


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """Return a file of rows with more columns than the paper's t."""
    np.save(tmp_path / "wide.npy", ROWS)
    return tmp_path / "wide.npy"


@pytest.mark.parametrize("solver", ["auto", "exact", "orss06", "kss04", "hartigan"])
def test_it_is_the_algorithm_of_the_paper(call: Call, wide: Path, solver: str) -> None:
    """t, F and the bound are those of `random_projection_kmeans` with the same key."""
    words = ("--as-in-paper", "--eps", 0.3, "--solver", solver, "--seed", 4)
    document = read_json(call("fit", wide, "-k", 3, *words, "--json"))
    found = random_projection_kmeans(ROWS, 3, 0.3, solver=solver, random_state=4)
    assert document["results"]["inertia"] == found.inertia
    theorem = document["theorem1"]
    assert (theorem["t"], theorem["rule"], theorem["constant"]) == (34, "boutsidis2010", 1.0)
    assert (theorem["bound"], theorem["statement"]) == (found.bound, found.statement)


def test_the_summary_has_honest_words(call: Call, wide: Path) -> None:
    """T with its rule, F~ and the bound are printed, and that the bound is not proven."""
    words = ("--as-in-paper", "--eps", 0.3, "--solver", "exact")
    run = call("fit", wide, "-k", 3, *words, "--out", wide.parent / "model")
    assert (run.code, run.err) == (0, "")
    assert "t = 34, by the paper's rule t = c k / eps^2, c = 1" in run.out
    assert "normalized F~" in run.out
    assert "F <= 2.3 times the minimum" in run.out
    assert "it is not proven for t = 34 (c = 1): its proof needs t = 20,906,667" in run.out


def test_few_columns_are_told(call: Call, data: Path) -> None:
    """If t would exceed the number of columns, a warning says so and t is that number."""
    run = call("fit", data, "-k", 3, "--as-in-paper", "--eps", 0.3)
    assert run.code == 0
    assert "t = c k / eps^2 = 34 exceeds the 12 columns" in run.err
    assert "t = 12, the number of columns" in run.out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("", "--as-in-paper needs an error parameter; give --eps"),
        ("--eps 0.5", "--eps 0.5 is outside (0, 1/3)"),
        ("--eps 0.3 --projection svd", "--projection and --as-in-paper"),
        ("--eps 0.3 --components 9", "--components and --as-in-paper"),
        ("--eps 0.3 --polish 2", "--polish and --as-in-paper"),
        ("--eps 0.3 --n-init 2", "--n-init and --as-in-paper"),
        ("--eps 0.3 --metric cosine", "no metric but euclidean"),
    ],
)
def test_contradictions_are_refused(call: Call, wide: Path, words: str, part: str) -> None:
    """What --as-in-paper decides cannot be given as well."""
    check_refusal(call("fit", wide, "-k", 3, "--as-in-paper", *words.split()), part)

"""Fits at once on a busy machine: a short run of the campaign, and what it must notice."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import stress_fits
from threadpoolctl import threadpool_limits

SHORT: dict[str, Any] = {"n_threads": 4, "n_burners": 1, "minutes": 0, "seed": 0}

# One kind of work of each sort, those that are quick.
KINDS = (
    *("fit: svd", "fit: svd exact", "fit: svd CSR", "fit: cosine", "fit: sign CSR"),
    *("fit: gaussian", "fit: no projection", "bound: spectral", "bound: neighbour"),
)


def test_fits_at_once_have_the_bits_of_fits_alone() -> None:
    """Work of all sorts in four Python threads beside a busy process has the bits of work alone."""
    work = stress_fits.list_work()
    found = stress_fits.run_campaign({name: work[name] for name in KINDS}, n_fits=18, **SHORT)
    assert found["failures"] == []
    assert found["fits"] == 18


def test_other_bits_are_noticed() -> None:
    """Work that does not repeat its bits is a failure, and named."""
    numbers = itertools.count()
    work = {"odd": lambda threads: str(next(numbers)), "even": lambda threads: "same"}
    found = stress_fits.run_campaign(work, n_fits=4, **SHORT)
    assert [failure["work"] for failure in found["failures"]] == ["odd", "odd"]


def test_a_limit_that_stays_is_noticed() -> None:
    """Work that leaves BLAS with another number of threads is a failure."""

    def leave_limit(threads: int) -> str:
        threadpool_limits(limits=1, user_api="blas")
        return "same"

    found = stress_fits.run_campaign({"work": leave_limit}, n_fits=1, **SHORT | {"n_threads": 1})
    assert [failure["what"][:12] for failure in found["failures"]] == ["BLAS threads"]


def test_results_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The script stores its counts and ends with 0, or with 1 if something broke."""
    monkeypatch.setattr(stress_fits, "list_work", lambda: {"work": lambda threads: "same"})
    options = ["--minutes", "0", "--fits", "3", "--burners", "0", "--folder", str(tmp_path)]
    assert stress_fits.main(options) == 0
    assert "3 fits, 0 failures" in capsys.readouterr().out
    assert json.loads((tmp_path / "stress_fits.json").read_text())["fits"] == 3
    numbers = itertools.count()
    monkeypatch.setattr(
        stress_fits, "list_work", lambda: {"work": lambda threads: str(next(numbers))}
    )
    assert stress_fits.main(options) == 1

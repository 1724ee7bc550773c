"""plan_fit: what a fit would do, measured on a sample, without doing it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans, as_row_source, plan_fit
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.search.settings import Sizes
from tests.support.blobs import draw_blobs
from tests.support.stored_rows import SpyRows


def test_a_plan_does_what_fit_does() -> None:
    """The chosen way is the fit's, changes are those of a sample, the sentence has it all."""
    X, _ = draw_blobs(d=100)
    plan = plan_fit(X, 4, random_state=0)
    model = ProjectedKMeans(4, random_state=0).fit(X)
    assert plan.chosen.approach == model.approach_
    assert plan.sizes == Sizes(*X.shape, 4, 8)
    assert [option.name for option in plan.alternatives] == ["sign", "sparse-sign", "none"]
    assert plan.alternatives[-1].inertia_change == 0.0
    assert all(-0.5 < option.inertia_change < 0.5 for option in (plan.chosen, *plan.alternatives))
    assert plan.describe().startswith(
        "cluster in 14 dimensions (svd), as 14 of 100 directions keep"
    )
    blind = plan_fit(X, 4, probe=False)
    assert (blind.chosen.inertia_change, blind.sample_rows) == (None, 0)


def test_a_plan_without_projection() -> None:
    """Where a sketch cannot win the plan says so, and shows what maps would have cost."""
    plan = plan_fit(np.random.default_rng(0).normal(size=(200, 40)), 8, random_state=0)
    assert plan.chosen.name == "none"
    assert "too few for a sketch to save work" in plan.describe()
    assert [option.name for option in plan.alternatives] == ["svd", "sign", "sparse-sign"]


def test_a_plan_reads_a_sample_of_a_source() -> None:
    """Of rows that are stored only the sample is read, and the plan is that of rows in memory."""
    X = np.random.default_rng(0).normal(size=(9000, 200))
    spy = SpyRows(X)
    plan = plan_fit(spy, 4, random_state=0)
    expected = plan_fit(X, 4, random_state=0)
    assert (plan.sizes.stored, expected.sizes.stored) == (True, False)
    assert plan.chosen.approach == expected.chosen.approach
    assert [one.inertia_change for one in plan.alternatives] == [
        one.inertia_change for one in expected.alternatives
    ]
    assert spy.walked == []
    blind = SpyRows(X)
    plan_fit(blind, 4, probe=False)
    assert blind.selected == blind.walked == []
    assert "; rows are read in blocks of 64 MiB" in plan.describe()
    assert "blocks" not in expected.describe()


def test_a_plan_under_a_limit_tells_what_it_takes() -> None:
    """Memory is within the limit, blocks are smaller, a sketch without room is in a file."""
    rows = np.lib.stride_tricks.as_strided(np.zeros(256, np.float32), (10**6, 256), (0, 4))
    wide = plan_fit(as_row_source(rows), 20, probe=False, projection="sign")
    roomy = plan_fit(as_row_source(rows), 20, probe=False, projection="sign", memory_limit="1GB")
    tight = plan_fit(as_row_source(rows), 20, probe=False, projection="sign", memory_limit="200MB")
    assert wide.chosen.memory.sketch_in_memory
    assert wide.chosen.megabytes * 10**6 > 10**6 * 47 * 4  # the sketch
    assert roomy.chosen.memory.sketch_in_memory
    assert not tight.chosen.memory.sketch_in_memory
    assert tight.describe().endswith("the sketch lies in a temporary file")
    assert tight.chosen.memory.block_bytes < roomy.chosen.memory.block_bytes
    for plan, limit in ((roomy, 1e9), (tight, 2e8)):
        assert plan.chosen.megabytes * 10**6 <= limit
        assert f"; {plan.chosen.megabytes:.3g} MB beyond the data" in plan.describe()
    with pytest.raises(ValueError, match="use at least"):
        plan_fit(as_row_source(rows), 20, probe=False, memory_limit="1MB")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"memory_limit": "20MB"},
        {"projection": None},
        {"metric": "cosine", "max_cluster_size": 700},
        {"certificate": "spectral", "memory_limit": "60MB"},
    ],
)
@pytest.mark.parametrize("stored", [False, True])
def test_a_plan_and_its_fit_tell_the_same_memory(options: dict[str, Any], stored: bool) -> None:
    """Memory is counted once, before the first pass, so that both tell the same number."""
    X = np.random.default_rng(0).normal(size=(2000, 200))
    rows = as_row_source(X) if stored else X
    planned = plan_fit(rows, 4, random_state=0, **options).chosen
    model = ProjectedKMeans(4, random_state=0, **options).fit(rows)
    told = describe_fit(model, X, name="rows")["plan"]
    assert told == {"reason": planned.approach.reason, "megabytes": planned.megabytes}

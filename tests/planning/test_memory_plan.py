"""Plans under a limit of memory: blocks, the place of the sketch, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from projected_kmeans.blocks.memory_blocks import BLOCK_BYTES
from projected_kmeans.planning.approach import Approach, choose_approach
from projected_kmeans.planning.memory_plan import MemoryPlan, plan_labels, plan_memory
from projected_kmeans.planning.settings import Settings
from projected_kmeans.planning.sizes import Sizes

SIZES = Sizes(10**6, 1024, 100, 4)


def choose(projection: str | None) -> Approach:
    """Return the approach for a million rows and a map."""
    return choose_approach(Settings(100, projection=projection), SIZES)


def test_no_limit_needs_no_plan() -> None:
    """Without a limit blocks have their usual size and the sketch stays in memory."""
    assert plan_memory(None, SIZES, choose("sign"), stored=True) == MemoryPlan()


@pytest.mark.parametrize("projection", ["sign", "svd", None])
@pytest.mark.parametrize("limit", ["300MB", "600MB", "1GB", "4GB"])
def test_plans_stay_within_the_limit(limit: str, projection: str | None) -> None:
    """All that is counted is within the limit, with blocks of at least 1 MiB."""
    plan = plan_memory(limit, SIZES, choose(projection), stored=True)
    allowed = int(limit[:-2]) * (10**9 if limit.endswith("GB") else 10**6)
    assert plan.total_bytes is not None
    assert plan.total_bytes <= allowed
    assert 2**20 <= plan.block_bytes <= BLOCK_BYTES
    assert plan.max_selected is not None
    assert 0 < plan.max_selected < allowed


def test_a_small_limit_moves_the_sketch() -> None:
    """The sketch stays in memory if the limit is twice what it takes with its rows' state."""
    approach = choose("sign")
    needed = 2 * 10**6 * (approach.n_components * 4 + 60)
    assert plan_memory(needed, SIZES, approach, stored=True).sketch_in_memory
    assert not plan_memory(needed - 1, SIZES, approach, stored=True).sketch_in_memory


def test_a_larger_limit_allows_larger_blocks() -> None:
    """Blocks grow with the limit up to their usual size."""
    sizes = [
        plan_memory(limit, SIZES, choose("sign"), stored=True).block_bytes
        for limit in ("120MB", "200MB", "300MB", "9GB")
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == BLOCK_BYTES


def test_the_limit_that_is_asked_for_is_enough() -> None:
    """A refusal names a limit, and this limit is accepted."""
    options: list[dict[str, Any]] = [{}, {"spherical": True}, {"needs_all": True}]
    for more in options:
        with pytest.raises(ValueError, match="is too small for 1000000 rows") as refusal:
            plan_memory("1MB", SIZES, choose("svd"), stored=True, **more)
        enough = str(refusal.value).split("use at least '")[1].removesuffix("'")
        plan_memory(enough, SIZES, choose("svd"), stored=True, **more)


def test_labelling_has_a_plan_of_its_own() -> None:
    """Labels and centers are counted; a limit that is too small names one that is enough."""
    assert plan_labels(None, 10**6, 1024, 100) == MemoryPlan()
    assert plan_labels("1GB", 10**6, 1024, 100).block_bytes == BLOCK_BYTES
    with pytest.raises(ValueError, match="is too small to label 1000000 rows") as refusal:
        plan_labels("1MB", 10**6, 1024, 100)
    enough = str(refusal.value).split("use at least '")[1].removesuffix("'")
    assert 2**20 <= plan_labels(enough, 10**6, 1024, 100).block_bytes < BLOCK_BYTES

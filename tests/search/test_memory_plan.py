"""The bytes that a fit takes, and plans under a limit: blocks, where the sketch lies, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from projected_kmeans.blocks.memory_blocks import BLOCK_BYTES
from projected_kmeans.search.approach import choose_approach, count_largest
from projected_kmeans.search.kmeans_plus_plus import SEEDING_COLUMNS
from projected_kmeans.search.memory_plan import (
    MAX_SKETCH_BYTES,
    STATE_BYTES_PER_ROW,
    FitBytes,
    MemoryPlan,
    count_bytes,
    plan_memory,
    size_label_blocks,
    works_there,
)
from projected_kmeans.search.settings import Settings, Sizes, limits_sizes

DIGITS = Sizes(90_000, 784, 100, 4)
MILLION = Sizes(10**6, 1024, 100, 4, stored=True)


def count(sizes: Sizes, **options: Any) -> FitBytes:
    """Return the bytes of a fit with some settings."""
    settings = Settings(sizes.n_clusters, **options)
    approach = choose_approach(settings, sizes)
    return count_bytes(sizes, approach, approach.n_components, limited=limits_sizes(settings))


def plan(limit: int | str | None, projection: str | None = "sign", **options: Any) -> MemoryPlan:
    """Return the plan for a million rows in a file."""
    where = {name: options.pop(name) for name in ("distant", "keeps_rows") if name in options}
    needs_all = options.pop("needs_all", False)
    settings = Settings(100, projection=projection, memory_limit=limit, **options)
    return plan_memory(settings, replace(MILLION, **where), needs_all=needs_all)


# --- bytes ---------------------------------------------------------------------------------------


def test_a_fit_by_hand() -> None:
    """Digits, 100 clusters: centers, the state of every row, the sketch, and samples of it."""
    found = count(DIGITS)
    t = choose_approach(Settings(100), DIGITS).n_components
    assert found.sketch == 90_000 * t * 4
    assert found.state >= 90_000 * (STATE_BYTES_PER_ROW + 8)  # labels, bounds, and a weight
    assert found.tables >= 3 * 8 * 784 * 100  # three sets of centers in float64
    sample = max(choose_approach(Settings(100), DIGITS).level_rows[:-1])
    assert found.subsample >= sample * t * 4


def test_rows_count_alike() -> None:
    """What is kept of every row does not depend on how many there are."""
    many = replace(DIGITS, n_rows=10 * DIGITS.n_rows)
    few, all_rows = count(DIGITS), count(many)
    assert all_rows.state == 10 * few.state
    assert all_rows.sketch == 10 * few.sketch
    assert all_rows.tables == few.tables


def test_float64_rows_have_a_sketch_of_float64() -> None:
    """Numbers of the sketch have eight bytes for rows of float64, and four for smaller types."""
    assert count(replace(DIGITS, itemsize=8)).sketch == 2 * count(DIGITS).sketch
    assert count(replace(DIGITS, itemsize=1)).sketch == count(DIGITS).sketch


def test_rows_that_are_not_projected_need_no_sketch() -> None:
    """Dense rows have no sketch; sparse rows are seeded on one of few columns."""
    sparse = replace(DIGITS, n_nonzeros=10**6)
    assert count(DIGITS, projection=None).sketch == 0
    columns = min(SEEDING_COLUMNS, 784)
    assert count(sparse, projection=None).sketch == 90_000 * columns * 4


def test_limits_of_sizes_count_all_distances() -> None:
    """With limits, distances of all rows to all centers are counted."""
    sizes = Sizes(100_000, 50, 100, 4)
    assert count(sizes, max_cluster_size="equal").state - count(sizes).state >= 4 * 100_000 * 100


def test_starts_inside_a_kernel_hold_all_rows() -> None:
    """Starts inside a kernel hold two copies of the rows in float64."""
    sizes = Sizes(1797, 64, 10, 8)
    assert choose_approach(Settings(10), sizes).in_kernel
    assert count(sizes).subsample >= 1797 * 2 * 8 * 64
    assert count(sizes, solver="lloyd").subsample < count(sizes).subsample


def test_swaps_and_seeding_of_many_clusters_are_counted() -> None:
    """Dividing clusters and seeding in cells copy rows of the sketch; Lloyd's method does not."""
    many = Sizes(10**6, 784, 2000, 4)
    assert sum(count(many, solver="lloyd")) < sum(count(many))
    few = replace(DIGITS, n_clusters=20)
    assert count(few, solver="lloyd").tables < count(few).tables


def test_wide_rows_are_counted_as_hashed() -> None:
    """Directions of wide rows are found in far fewer columns; dense rows are hashed beforehand."""
    wide, narrow = Sizes(3000, 10**6, 20, 4), Sizes(3000, 10**6 // 4, 20, 4)
    centers = 8 * (10**6 - 10**6 // 4) * 20
    grown = count(wide).tables - count(narrow).tables
    assert grown % centers == 0  # only centers have an entry for each column


# --- plans ---------------------------------------------------------------------------------------


def test_no_limit_needs_no_plan() -> None:
    """Without a limit blocks have their usual size and the sketch stays in memory.

    All bytes of the usual dimensions are told.
    """
    told = sum(count(MILLION, projection="sign"))
    assert plan(None) == MemoryPlan(total_bytes=told)
    there = plan(None, distant=True, keeps_rows=True)
    assert there.total_bytes == told


@pytest.mark.parametrize("projection", ["sign", "svd", None])
@pytest.mark.parametrize("limit", ["600MB", "1GB", "4GB"])
def test_plans_stay_within_the_limit(limit: str, projection: str | None) -> None:
    """All that is counted is within the limit, with blocks of at least 1 MiB."""
    found = plan(limit, projection)
    allowed = int(limit[:-2]) * (10**9 if limit.endswith("GB") else 10**6)
    assert 0 < found.total_bytes <= allowed
    assert 2**20 <= found.block_bytes <= BLOCK_BYTES
    assert found.max_selected is not None
    assert 0 < found.max_selected < allowed
    assert found.left_bytes is not None
    assert found.left_bytes > 0


def test_a_small_limit_moves_the_sketch() -> None:
    """The sketch stays in memory if the limit is twice what it takes with its rows' state."""
    t = choose_approach(Settings(100, projection="sign"), MILLION).n_components
    needed = 2 * 10**6 * (t * 4 + STATE_BYTES_PER_ROW)
    assert plan(needed).sketch_in_memory
    assert not plan(needed - 1).sketch_in_memory


def test_a_larger_limit_allows_larger_blocks() -> None:
    """Blocks grow with the limit up to their usual size."""
    with pytest.raises(ValueError, match="use at least") as refusal:
        plan("1MB")
    least = int(str(refusal.value).split("use at least '")[1].removesuffix("MB'"))
    sizes = [plan(f"{least + more}MB").block_bytes for more in (0, 3, 20, 9000)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == BLOCK_BYTES


@pytest.mark.parametrize("projection", ["sign", "svd", None])
@pytest.mark.parametrize(
    "more", [{}, {"metric": "cosine"}, {"needs_all": True}, {"max_cluster_size": "equal"}]
)
def test_the_limit_that_is_asked_for_is_enough(
    projection: str | None, more: dict[str, Any]
) -> None:
    """A refusal names a limit, and this limit is accepted."""
    with pytest.raises(ValueError, match="is too small for 1000000 rows") as refusal:
        plan("1MB", projection, **more)
    enough = str(refusal.value).split("use at least '")[1].removesuffix("'")
    plan(enough, projection, **more)
    with pytest.raises(ValueError, match="is too small"):
        plan(f"{int(enough.removesuffix('MB')) - 2}MB", projection, **more)


def test_memory_is_planned_for_the_largest_sketch() -> None:
    """Where the spectrum may ask for more directions, the limit must hold these as well."""
    settings = Settings(100, memory_limit="20GB")
    largest = count_largest(settings, MILLION)
    approach = choose_approach(settings, MILLION)
    assert largest > approach.n_components
    found = plan_memory(settings, MILLION)
    assert found.total_bytes >= 10**6 * largest * 4


def test_a_large_sketch_stays_with_the_workers() -> None:
    """With a cluster, a sketch above a limit stays where the rows are; a small one comes here."""
    assert 10**6 * choose_approach(Settings(100), MILLION).n_components * 4 > MAX_SKETCH_BYTES
    assert not plan(None, distant=True, keeps_rows=True).sketch_in_memory
    few = replace(MILLION, n_rows=10_000, n_clusters=10, distant=True, keeps_rows=True)
    assert plan_memory(Settings(10), few).sketch_in_memory


@pytest.mark.parametrize(
    ("options", "there"),
    [
        ({}, True),
        ({"max_cluster_size": "equal"}, False),
        ({"solver": "hartigan"}, False),
        ({"init": list(range(100))}, False),
    ],
)
def test_what_works_on_the_workers(options: dict[str, Any], there: bool) -> None:
    """Seeding on all rows, single-point moves and limits of sizes bring arrays to this process."""
    settings = Settings(100, **options)
    assert works_there(settings, choose_approach(settings, MILLION)) == there


def test_labelling_has_a_plan_of_its_own() -> None:
    """Labels and centers are counted; a limit that is too small names one that is enough."""
    assert size_label_blocks("1GB", 10**6, 1024, 100) == BLOCK_BYTES
    with pytest.raises(ValueError, match="is too small to label 1000000 rows") as refusal:
        size_label_blocks("1MB", 10**6, 1024, 100)
    enough = str(refusal.value).split("use at least '")[1].removesuffix("'")
    assert 2**20 <= size_label_blocks(enough, 10**6, 1024, 100) < BLOCK_BYTES

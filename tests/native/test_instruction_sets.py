"""The kernels of every instruction set agree up to rounding."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from projected_kmeans import _native
from projected_kmeans.blocks.element_types import NATIVE_TYPES
from tests import reference

VARIABLE = "PROJECTED_KMEANS_INSTRUCTION_SET"

PROGRAM = """
import sys
import numpy as np
import scipy.sparse
from projected_kmeans import ProjectedKMeans, _native
from projected_kmeans.blocks.block_source import ArrayBlocks, SparseBlocks, scan_columns
from projected_kmeans.passes.cluster_sums import ClusterSums
from projected_kmeans.solvers.lloyd import run_lloyd
from projected_kmeans.passes.problem import Problem, assign_rows, measure_rows, own_distances

stream = np.random.default_rng(0)
rows = stream.integers(0, 100, size=(75, 1100))
centers = stream.integers(0, 100, size=(14, 1100)).astype(float)
results = {}
for name in sys.argv[2:]:
    X = rows.astype(name)
    wide = np.float64 if name == "float64" else np.float32
    for t in (5, 50, 150):
        out = np.empty((len(X), t), wide)
        _native.sign_product(X, 2**63 + 7, 0.3, out, 2)
        results[f"{name} product {t}"] = out
    source = ArrayBlocks(X)
    labels = np.zeros(len(X), np.int32)
    near = assign_rows(source, centers, labels, keep_ties=False)
    results[f"{name} distances"], results[f"{name} second"] = near.nearest, near.second
    results[f"{name} labels"] = labels.copy()
    results[f"{name} all distances"] = measure_rows(source, centers)
    lowered, origin = np.full(len(X), 1e6, wide), np.full(1100, 50, wide)
    _native.lower_distances(X, origin, 0.5, centers.astype(wide), lowered, 2)
    results[f"{name} lowered"] = lowered
    tiles = (X[:64].astype(wide) - origin).reshape(2, 32, 1100).transpose(0, 2, 1).copy()
    inside, after, left = centers.astype(wide) - origin, np.empty((14, 64), wide), np.empty(14)
    _native.weigh_candidates(tiles, inside, lowered[:64], lowered[:64], after, left, 2)
    results[f"{name} after"], results[f"{name} left"] = after, left
    ranges = scan_columns(source)
    results[f"{name} minimum"], results[f"{name} maximum"] = ranges.minimum, ranges.maximum
    moments = ClusterSums(source, centers, None, ranges).update(labels)
    results[f"{name} offsets"], results[f"{name} squares"] = moments.offsets, moments.squares
    means, mass = moments.means, moments.mass.copy()
    lists = np.empty((len(X), 5), np.uint16)
    inside, zero = centers.astype(wide), np.zeros(1100, wide)
    _native.candidate_centers(X, zero, 1.0, inside, labels, lists, 2)
    chosen = labels[::-1].copy()
    _native.nearest_candidate(X, zero, 1.0, inside, centers, lists, chosen, 2)
    results[f"{name} list labels"], results[f"{name} chosen labels"] = lists, chosen
    origin = np.full(1100, 50, wide)
    results[f"{name} moves"] = _native.move_points(
        X, None, origin, 1.0, labels, means, mass, 2
    )
    results[f"{name} moved labels"], results[f"{name} moved means"] = labels, means
for name in ("float32", "float64"):
    few = np.where(rows > 85, rows, 0).astype(name)
    X = scipy.sparse.csr_array(few)
    source, labels = SparseBlocks(X), np.zeros(len(few), np.int32)
    ranges = scan_columns(source)
    near = assign_rows(source, centers, labels, keep_ties=False, ranges=ranges)
    results[f"{name} sparse near"], results[f"{name} sparse next"] = near.nearest, near.second
    results[f"{name} sparse labels"] = labels
    results[f"{name} sparse all"] = measure_rows(source, centers)
    results[f"{name} sparse own"] = own_distances(source, centers, labels)
    moments = ClusterSums(source, centers, None, ranges).update(labels)
    results[f"{name} sparse offsets"] = moments.offsets
    results[f"{name} sparse squares"] = moments.squares
    lists = stream.integers(14, size=(len(few), 5)).astype(np.uint16)
    chosen, inside = lists[:, 0].astype(np.int32), centers.astype(name)
    zero = np.zeros(1100, name)
    _native.nearest_candidate(X, zero, 1.0, inside, centers, lists, chosen, 2)
    results[f"{name} sparse chosen labels"] = chosen
    out, turned = np.empty((len(few), 14), name), np.zeros((1100, 14))
    _native.table_product(X, inside.T.copy(), out, 2)
    _native.transposed_product(X, out.astype(float), turned, 2)
    results[f"{name} sparse product"], results[f"{name} sparse turned"] = out, turned
separate = stream.normal(size=(300, 200)) + 6 * np.eye(5, 200)[stream.integers(5, size=300)] * 14
models = [
    ProjectedKMeans(5, random_state=seed, solver=solver).fit(separate)
    for seed in range(4)
    for solver in ("lloyd", "hartigan")
]
results["model labels"] = [model.labels_ for model in models]
results["model inertia"] = [model.inertia_ for model in models]
for name in ("float32", "float64", "uint8"):
    X = stream.integers(0, 100, size=(2000, 37)).astype(name)
    source = ArrayBlocks(X)
    found = run_lloyd(Problem(source, scan_columns(source)), X[:30].astype(float), max_iter=12)
    results[f"{name} lloyd labels"], results[f"{name} lloyd centers"] = found.labels, found.centers
results["instruction set"] = _native.instruction_set()
np.savez(sys.argv[1], **results)
"""

Run = Callable[[str], "dict[str, np.ndarray]"]


@pytest.fixture(scope="module")
def run_with(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function from an instruction set to the results of all kernels under it."""
    names = [dtype.name for dtype in NATIVE_TYPES]

    @functools.cache
    def run(name: str) -> dict[str, np.ndarray]:
        path = tmp_path_factory.mktemp("results") / "results.npz"
        done = call_python(PROGRAM, name, [str(path), *names])
        if "is not an instruction set of this build and machine" in done.stderr:
            pytest.skip(f"this machine does not run {name}")
        assert done.returncode == 0, done.stderr
        with np.load(path) as archive:
            return dict(archive)

    return run


@pytest.fixture(scope="module")
def default_results(run_with: Run) -> dict[str, np.ndarray]:
    """Return the results of the instruction set that is chosen for this machine."""
    return run_with("")


def call_python(
    program: str, instruction_set: str, arguments: list[str]
) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh interpreter; an empty name leaves the choice to the package."""
    environment = {key: value for key, value in os.environ.items() if key != VARIABLE}
    if instruction_set:
        environment[VARIABLE] = instruction_set
    command = [sys.executable, "-W", "error", "-c", program, *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=Path.cwd()
    )


@pytest.mark.parametrize("name", ["portable", "avx2", "avx512"])
def test_kernels_agree(name: str, run_with: Run, default_results: dict[str, np.ndarray]) -> None:
    """All kernels give the default's labels and, up to rounding, its numbers."""
    results = run_with(name)
    assert results["instruction set"] == name
    for what, values in results.items():
        if what.startswith(("model", "instruction")):
            continue
        exact = what.endswith(("labels", "minimum", "maximum", "moves"))
        accuracy = 1e-12 if what.startswith("float64") else 2e-6
        tolerance = 0.0 if exact else accuracy * np.abs(default_results[what]).max()
        np.testing.assert_allclose(
            values, default_results[what], rtol=0, atol=tolerance, err_msg=what
        )


@pytest.mark.parametrize("name", ["portable", "avx2", "avx512"])
def test_models_agree(name: str, run_with: Run, default_results: dict[str, np.ndarray]) -> None:
    """Fits on separated data give the default's labels, names included, though restarts tie."""
    results = run_with(name)
    np.testing.assert_allclose(
        results["model inertia"], default_results["model inertia"], rtol=1e-12
    )
    np.testing.assert_array_equal(results["model labels"], default_results["model labels"])


def test_the_portable_kernels_equal_the_twins(run_with: Run) -> None:
    """The kernels that run anywhere give the twins' signs, labels, distances and sums."""
    results = run_with("portable")
    stream = np.random.default_rng(0)
    X = stream.integers(0, 100, size=(75, 1100)).astype(float)
    centers = stream.integers(0, 100, size=(14, 1100)).astype(float)
    labels = reference.nearest_center(X, centers)
    for dtype in NATIVE_TYPES:
        np.testing.assert_array_equal(results[f"{dtype.name} labels"], labels)
        expected = reference.squared_distances(X, centers).min(axis=0)
        np.testing.assert_allclose(
            results[f"{dtype.name} distances"], expected.astype(float), rtol=1e-4
        )
        expected = reference.sign_product(X, 2**63 + 7, 50, 0.3)
        error = np.abs(results[f"{dtype.name} product 50"] - expected)
        assert error.max() <= 1e-6 * np.abs(X).sum(axis=1).max()


def test_the_choice_has_a_name() -> None:
    """The instruction set in use is one of those that can be asked for."""
    assert _native.instruction_set() in ("portable", "avx2", "avx512")


def test_an_unknown_instruction_set_is_refused() -> None:
    """A wrong name gives an error that names the variable, the value and the choices."""
    program = "from projected_kmeans import _native; _native.instruction_set()"
    done = call_python(program, "sse9", [])
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    for part in (f"{VARIABLE}=sse9", "portable", "avx2", "avx512"):
        assert part in last

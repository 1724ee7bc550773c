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
from tests import reference

VARIABLE = "PROJECTED_KMEANS_INSTRUCTION_SET"
ROOT = Path(__file__).parents[3]
NAMES = _native.INSTRUCTION_SETS

Run = Callable[[str], "dict[str, np.ndarray]"]


@pytest.fixture(scope="module")
def run_with(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function from an instruction set to the results of all kernels under it."""

    @functools.cache
    def run(name: str) -> dict[str, np.ndarray]:
        path = tmp_path_factory.mktemp("results") / "results.npz"
        done = call_python(name, "-m", "tests.native.bindings.kernel_results", str(path))
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


def call_python(instruction_set: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter; an empty name leaves the choice to the package."""
    environment = {key: value for key, value in os.environ.items() if key != VARIABLE}
    if instruction_set:
        environment[VARIABLE] = instruction_set
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT
    )


@pytest.mark.parametrize("name", NAMES)
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


@pytest.mark.parametrize("name", NAMES)
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
    for dtype in _native.ELEMENT_TYPES:
        np.testing.assert_array_equal(results[f"{dtype} labels"], labels)
        expected = reference.squared_distances(X, centers).min(axis=0)
        np.testing.assert_allclose(results[f"{dtype} distances"], expected.astype(float), rtol=1e-4)
        expected = reference.sign_product(X, 2**63 + 7, 50, 0.3)
        error = np.abs(results[f"{dtype} product 50"] - expected)
        assert error.max() <= 1e-6 * np.abs(X).sum(axis=1).max()


def test_the_choice_has_a_name() -> None:
    """The instruction set in use is one of those that can be asked for."""
    assert _native.instruction_set() in NAMES


def test_an_unknown_instruction_set_is_refused() -> None:
    """A wrong name gives an error that names the variable, the value and the choices."""
    program = "from projected_kmeans import _native; _native.instruction_set()"
    done = call_python("sse9", "-c", program)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    for part in (f"{VARIABLE}=sse9", "portable", "avx2", "avx512"):
        assert part in last

"""A program: call every kernel with right and with wrong arguments, several times.

``campaigns/sanitize.py`` runs it under LeakSanitizer, which tells at the end what memory was lost,
and under valgrind's memcheck, which tells of values that nobody wrote. It calls functions of the
tests without pytest, because both follow every allocation, and pytest makes so many that no run of
it ended.

Called as ``python campaigns/kernel_calls.py LIBRARY FILE ROUNDS SHAPES FUNCTION ...``. SHAPES is
"small" for one problem, whose results have to be those of the twins, or "narrow" for all problems
with few columns. It also calls functions of the library, planted_defects.cpp, by name. What it did
is written to the file as JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from tests.native import test_twins
from tests.native.bindings import test_arguments, test_sparse_arguments

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import SparseBlocks
from projected_kmeans.passes.problem import Problem

SHAPES = {"small": (test_twins.SMALL,), "narrow": test_twins.NARROW}
LOSSES = 20


def call_with_right_arguments(shapes: str = "small") -> int:
    """Call every kernel as its twin is called; return how many calls were made."""
    calls = 0
    # The twins use long double, which valgrind computes with the 64 bits of double.
    judged = contextlib.nullcontext() if shapes == "small" else contextlib.suppress(AssertionError)
    for name, shape, dtype in test_twins.list_cases():
        if shape not in SHAPES[shapes]:
            continue
        kernel, twin = getattr(_native, name), test_twins.find_twin(name)
        problem = test_twins.draw_problem(shape, dtype)
        for compare in test_twins.COMPARES[name]:
            with judged:
                np.testing.assert_array_equal(*compare(kernel, twin, problem))
            calls += 1
    problem = test_twins.draw_problem(test_twins.SMALL, "float64")
    source = SparseBlocks(problem.sparse)  # their sums have no twin of this kind
    Problem(source, scan_columns(source), n_threads=2).sum(problem.labels, problem.centers)
    return calls + 1


def call_with_wrong_arguments() -> int:
    """Run the tests in which kernels refuse arguments; return how many there were."""
    return sum(run_tests(module) for module in (test_arguments, test_sparse_arguments))


def run_tests(module: ModuleType) -> int:
    """Call every test of a module with all its parameters; return how many calls were made."""
    calls = 0
    for name, function in vars(module).items():
        if name.startswith("test_"):
            for parameters in list_parameters(function):
                function(**parameters)
                calls += 1
    return calls


def list_parameters(function: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """Yield the keywords with which pytest would call a test that has no fixtures."""
    choices = []
    for mark in getattr(function, "pytestmark", []):
        names, values = mark.args
        several = not isinstance(names, str)
        choices.append(
            [dict(zip(names, v, strict=True)) if several else {names: v} for v in values]
        )
    for choice in itertools.product(*choices):
        yield {name: value for part in choice for name, value in part.items()}


def main(library: str, file: str, rounds: str, shapes: str, *functions: str) -> None:
    """Call all kernels and the planted functions, and write what was done."""
    for _ in range(int(rounds)):
        right, wrong = call_with_right_arguments(shapes), call_with_wrong_arguments()
    planted = ctypes.PyDLL(library)
    for function in functions:
        for _ in range(LOSSES):
            getattr(planted, function)()
    counts = {"kernels": len(test_twins.KERNELS), "rounds": int(rounds), "tests": right + wrong}
    Path(file).write_text(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])

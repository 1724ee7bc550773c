"""A program: call every kernel with right and with wrong arguments, several times.

``campaigns/sanitize.py`` runs it under LeakSanitizer, which tells at the end what memory was lost.
It calls functions of the tests without pytest, because LeakSanitizer follows the stack of every
allocation, and pytest makes so many that no run of it ended.

Called as ``python campaigns/kernel_calls.py LIBRARY FILE``. It also calls the functions of the
library, planted_defects.cpp, that lose memory. What it did is written to the file as JSON.
"""

from __future__ import annotations

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
from planted_defects import OF_LEAKS, SOUND
from tests import reference
from tests.native import test_twins
from tests.native.bindings import test_arguments, test_sparse_arguments

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import SparseBlocks
from projected_kmeans.passes.cluster_sums import ClusterSums

ROUNDS = 5
LOSSES = 20


def call_with_right_arguments() -> int:
    """Call every kernel as its twin is called; return how many calls were made."""
    assert set(test_twins.CASES) == set(test_twins.KERNELS), "a kernel is not called"
    calls = 0
    for name, compares in test_twins.CASES.items():
        twin = getattr(reference, reference.TWINS.get(name, name))
        for compare in compares:
            found, expected = compare(getattr(_native, name), twin)
            np.testing.assert_array_equal(found, expected)
            calls += 1
    source = SparseBlocks(test_twins.SPARSE)  # their sums have no case above
    sums = ClusterSums(source, test_twins.CENTERS, None, scan_columns(source), 2)
    sums.update(test_twins.LABELS)
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


def main(library: str, file: str) -> None:
    """Call all kernels, lose memory on purpose, and write what was done."""
    for _ in range(ROUNDS):
        right, wrong = call_with_right_arguments(), call_with_wrong_arguments()
    planted = ctypes.PyDLL(library)
    for function in (*OF_LEAKS, *SOUND):
        for _ in range(LOSSES):
            getattr(planted, function)()
    counts = {"kernels": len(test_twins.KERNELS), "rounds": ROUNDS, "tests": right + wrong}
    Path(file).write_text(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The shape of the code: few modules at the root, no long functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import projected_kmeans

SOURCE = Path(projected_kmeans.__file__).parent

MAX_ROOT_MODULES = 14
MAX_FUNCTION_LINES = 50

# Functions that are longer, each with its reason.
LONG_FUNCTIONS: dict[str, str] = {
    "estimator/projected_kmeans.py:__init__": "scikit-learn wants one line for each parameter",
}


def measure_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the functions of a module with their lines of code, docstrings left out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, last = node.body[0], node.end_lineno or node.lineno
            described = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            skipped = (first.end_lineno or 0) - first.lineno + 1 if described else 0
            yield node.name, last - node.lineno + 1 - skipped


def test_few_modules_lie_at_the_root() -> None:
    """What belongs to a step stands in the package of that step."""
    assert len(list(SOURCE.glob("*.py"))) <= MAX_ROOT_MODULES


def test_no_function_is_long() -> None:
    """A function has at most 50 lines of code, or a reason in the table, which lists no others."""
    long = {
        f"{path.relative_to(SOURCE).as_posix()}:{function}"
        for path in SOURCE.rglob("*.py")
        for function, lines in measure_functions(path)
        if lines > MAX_FUNCTION_LINES
    }
    assert long == set(LONG_FUNCTIONS)

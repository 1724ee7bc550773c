"""Every call into BLAS or LAPACK runs on one BLAS thread, so that its bits are always the same.

The rounding of a matrix product depends on the number of threads. This file reads the source of the
package and finds all products and decompositions. Each has to stand inside ``with
one_blas_thread()``, in a function that this decorates, inside a function given to ``strictly``, or
in the table below with a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import projected_kmeans

SOURCE = Path(projected_kmeans.__file__).parent

# The guard itself, which has the products that others call.
GUARD = "blas_threads.py"

# Functions of NumPy that call BLAS. All functions of the modules in MODULES count, too.
PRODUCTS = {
    *("dot", "matmul", "vdot", "inner", "tensordot", "convolve", "correlate"),
    *("cov", "corrcoef", "polyfit", "vecdot", "matvec", "vecmat"),
}
MODULES = ("np.linalg", "scipy.linalg", "scipy.sparse.linalg")
# What the package takes from scikit-learn and that calls BLAS.
ESTIMATORS = {
    *("TruncatedSVD", "PCA", "LocallyLinearEmbedding", "pairwise_distances", "kneighbors_graph"),
}

GUARDED = "runs inside find_directions, which strictly guards"
FOUND = "runs inside TopEigenpairs.find, which strictly guards"
SPARSE = "multiplies by a sparse matrix, for which SciPy does not use BLAS"

# Products and decompositions outside of a guard, by module and function, and why that is right.
ALLOWED = {
    "certificates/proof_rows.py:_measure": SPARSE,
    "certificates/proof_rows.py:_multiply": SPARSE,
    "certificates/proof_rows.py:walk_half_squares": SPARSE,
    "certificates/semidefinite/dealing.py:combine": SPARSE,
    "certificates/semidefinite/dealing.py:project": SPARSE,
    "certificates/semidefinite/dealing.py:squares": SPARSE,
    "certificates/semidefinite/dealing.py:sum_parts": SPARSE,
    "certificates/semidefinite/primal_step.py:_decompose": FOUND,
    "certificates/semidefinite/primal_step.py:_find_range": FOUND,
    "certificates/semidefinite/primal_step.py:_improve": FOUND,
    "certificates/semidefinite/primal_step.py:centre": FOUND,
    "certificates/semidefinite/primal_step.py:make_dense": FOUND,
    "certificates/semidefinite/primal_step.py:multiply": FOUND,
    "passes/center_graph.py:average_groups": SPARSE,
    "passes/nearest.py:_spread": "groups centers; no label or sum depends on the groups",
    "projections/maps.py:project_sparse": SPARSE,
    "projections/principal_directions.py:row_gram": GUARDED,
    "projections/principal_directions.py:combine": GUARDED,
    "projections/principal_directions.py:sketch": GUARDED,
    "projections/principal_directions.py:_orthonormal": GUARDED,
    "projections/principal_directions.py:_decompose": GUARDED,
    "projections/principal_directions.py:_decompose_few": GUARDED,
    "projections/principal_directions.py:_decompose_many": GUARDED,
    "projections/principal_directions.py:_tidy": GUARDED,
    "projections/spectral.py:lost_share": "is given to strictly by name",
    "streaming/condensing.py:_average_sparse": SPARSE,
    "paper/baselines.py:score_columns": SPARSE,
    "paper/baselines.py:_embed": "makes the estimator that strictly fits",
    "paper/baselines.py:_decompose_truncated": "makes what strictly fits",
    "paper/baselines.py:transform": SPARSE,
    "paper/experiments/mailman.py:work": "is timed inside one_blas_thread",
    "paper/experiments/theorem.py:measure_lemmas": "is called by strictly",
}


def name_of(node: ast.AST) -> str:
    """Return the dotted name of an expression, such as np.linalg.norm; empty for others."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return ""


def calls_blas(node: ast.AST) -> bool:
    """Tell whether a node of the syntax tree is a product or a decomposition."""
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return isinstance(node.op, ast.MatMult)
    if not isinstance(node, ast.Call):
        return False
    name = name_of(node.func)
    last = name.rpartition(".")[2]
    if name.startswith("np.") and last == "einsum":
        return any(keyword.arg == "optimize" for keyword in node.keywords) or len(node.args) > 4
    return (
        (name.startswith("np.") and last in PRODUCTS)
        or (isinstance(node.func, ast.Attribute) and node.func.attr == "dot")
        or any(name.startswith(f"{module}.") for module in MODULES)
        or name in ESTIMATORS
    )


def is_guard(node: ast.AST) -> bool:
    """Tell whether what stands inside a node is guarded."""
    if isinstance(node, ast.With):
        names = {name_of(getattr(item.context_expr, "func", node)) for item in node.items}
        return "one_blas_thread" in names
    if isinstance(node, ast.FunctionDef):
        return any(
            name_of(getattr(one, "func", one)) == "one_blas_thread" for one in node.decorator_list
        )
    return isinstance(node, ast.Call) and name_of(node.func) == "strictly"


def list_unguarded(node: ast.AST, function: str = "") -> Iterator[tuple[str, int]]:
    """Yield the function and the line of every unguarded call into BLAS below a node."""
    if is_guard(node):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node.name
    if calls_blas(node):
        yield function, getattr(node, "lineno", 0)
    for child in ast.iter_child_nodes(node):
        yield from list_unguarded(child, function)


def list_all() -> dict[str, list[int]]:
    """Return the lines of all unguarded calls by module and function."""
    found: dict[str, list[int]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if place != GUARD:
            for function, line in list_unguarded(ast.parse(path.read_text(encoding="utf-8"))):
                found.setdefault(f"{place}:{function}", []).append(line)
    return found


def test_every_call_into_blas_is_guarded() -> None:
    """Calls stand inside a guard, or in the table with a reason, which lists no others."""
    found = list_all()
    unknown = {place: lines for place, lines in found.items() if place not in ALLOWED}
    assert not unknown, "compute this by blas_threads.py, or give a reason in the table"
    assert set(ALLOWED) <= set(found), "the table lists functions without such calls"


@pytest.mark.parametrize(
    "line",
    [
        *("a @ b", "a @= b", "np.dot(a, b)", "a.dot(b)", "np.linalg.norm(a)", "np.vdot(a, b)"),
        *("scipy.linalg.eigh(a)", "np.einsum('ij,jk', a, b, optimize=True)", "np.matmul(a, b)"),
        *("np.linalg.eigvalsh(a)", "kneighbors_graph(a, 3)", "scipy.sparse.linalg.svds(a)"),
    ],
)
def test_what_calls_blas_is_seen(line: str) -> None:
    """Each kind of call is found outside of a guard, and accepted inside."""
    outside = f"def work(a, b):\n    {line}\n"
    inside = f"def work(a, b):\n    with one_blas_thread():\n        {line}\n"
    assert list(list_unguarded(ast.parse(outside))) == [("work", 2)]
    assert list(list_unguarded(ast.parse(inside))) == []


@pytest.mark.parametrize(
    "line", ["a * b", "np.einsum('ij,ij->i', a, b)", "strictly(lambda: a @ b)"]
)
def test_what_does_not_call_blas_is_let_through(line: str) -> None:
    """Elementwise work, einsum without BLAS, and functions given to strictly are accepted."""
    assert list(list_unguarded(ast.parse(f"def work(a, b):\n    {line}\n"))) == []

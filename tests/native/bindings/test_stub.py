"""The type stub of the native module says what the built module says."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import projected_kmeans
from projected_kmeans import _native

STUB = ast.parse((Path(projected_kmeans.__file__).parent / "_native.pyi").read_text())
FUNCTIONS = sorted(name for name, value in vars(_native).items() if callable(value))
CONSTANTS = sorted(name for name in vars(_native) if name.isupper())


class Argument(NamedTuple):
    """An argument of a function."""

    name: str
    optional: bool
    element_types: frozenset[str]


def definitions() -> dict[str, ast.FunctionDef]:
    """Return the functions of the stub, also those that are another name of one."""
    found = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
    for node in STUB.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            found[ast.unparse(node.targets[0])] = found[node.value.id]
    return found


def aliases() -> dict[str, str]:
    """Return the names of types that the stub defines, with their meaning."""
    found = {"_C": "np.float32 | np.float64"}
    for node in STUB.body:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            found[ast.unparse(node.target)] = ast.unparse(node.value)
    return found


def element_types(annotation: str) -> frozenset[str]:
    """Return the element types that an annotation of the stub allows for an array."""
    known = aliases()
    if annotation in ("_Block", "_Block | _Csr", "_Csr"):
        return frozenset({"any"})
    while (found := re.search(r"\b_\w+", annotation)) is not None:
        annotation = annotation.replace(found[0], known[found[0]], 1)
    types = frozenset(re.findall(r"np\.(\w+)", annotation))
    return types - {"integer"} | ({"int32", "int64"} if "integer" in types else set())


def stub_arguments(function: ast.FunctionDef) -> list[Argument]:
    """Return the arguments as the stub has them."""
    arguments = function.args.args
    n_required = len(arguments) - len(function.args.defaults)
    return [
        Argument(each.arg, i >= n_required, element_types(ast.unparse(each.annotation)))
        for i, each in enumerate(arguments)
        if each.annotation is not None
    ]


def built_arguments(signature: str) -> list[Argument]:
    """Return the arguments of one overload as nanobind has bound it."""
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    found = []
    for each in re.split(r", (?=\w+: )", inside) if inside else []:
        name, kind = each.split(": ", 1)
        types = set(re.findall(r"dtype=(\w+)", kind))
        if not types and ("ndarray" in kind or "csr_array" in kind):
            types = {"any"}
        found.append(Argument(name, " = " in kind, frozenset(types)))
    return found


def merge_overloads(function: Any) -> list[Argument]:
    """Return the arguments of all overloads, each with the element types of any of them."""
    overloads = [built_arguments(signature) for signature, *_ in function.__nb_signature__]
    merged = []
    for same in zip(*overloads, strict=True):
        assert len({(each.name, each.optional) for each in same}) == 1
        merged.append(same[0]._replace(element_types=frozenset.union(*(s[2] for s in same))))
    return merged


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_are_those_of_the_module(name: str) -> None:
    """Names, order, defaults and element types of all arguments are the same."""
    assert stub_arguments(definitions()[name]) == merge_overloads(getattr(_native, name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_the_module(name: str) -> None:
    """A function returns what the stub says."""
    returned = definitions()[name].returns
    assert returned is not None
    for signature, *_ in getattr(_native, name).__nb_signature__:
        assert signature.rsplit(" -> ", 1)[1] == ast.unparse(returned)


def test_names_are_those_of_the_module() -> None:
    """The stub has all functions and constants of the module, and no others."""
    annotated = [node for node in STUB.body if isinstance(node, ast.AnnAssign)]
    constants = sorted(ast.unparse(node.target) for node in annotated if node.value is None)
    assert sorted(definitions()) == FUNCTIONS
    assert constants == CONSTANTS


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_have_the_types_of_the_stub(name: str) -> None:
    """A constant is an int, or a tuple of names."""
    (annotation,) = (
        ast.unparse(node.annotation)
        for node in STUB.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name
    )
    assert annotation.startswith(type(getattr(_native, name)).__name__)


def test_a_difference_is_found() -> None:
    """An argument of another name, another place or another element type is noticed."""
    right = "def f(block: ndarray[dtype=float32, shape=(*)], n: int = \\0) -> None"
    assert built_arguments(right) == [
        Argument("block", False, frozenset({"float32"})),
        Argument("n", True, frozenset()),
    ]
    assert built_arguments(right) != built_arguments(right.replace("float32", "float64"))
    assert built_arguments(right) != built_arguments(right.replace("n: int", "m: int"))
    assert built_arguments(right) != built_arguments(right.replace(" = \\0", ""))

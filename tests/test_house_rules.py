"""Rules for every source file: docstrings, prints, random numbers, and who imports what."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import projected_kmeans
from projected_kmeans.commands.main import COMMANDS, module_of

SOURCES = Path(projected_kmeans.__file__).parent
MODULES = sorted(SOURCES.rglob("*.py"))
PACKAGES = [path.parent for path in MODULES if path.name == "__init__.py"]


def name_of(path: Path) -> str:
    """Return a path below the package, as the id of a test."""
    return str(path.relative_to(SOURCES))


def imports_of(path: Path) -> set[str]:
    """Return all modules that a file imports, at any depth, as dotted names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_has_a_docstring(path: Path) -> None:
    """A module opens with what it does."""
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_only_one_package_imports_dask() -> None:
    """Dask is imported in blocks/dask alone, so that everything else works without it."""
    for path in MODULES:
        packages = {name.partition(".")[0] for name in imports_of(path)}
        inside = path.parent == SOURCES / "blocks" / "dask"
        assert inside or not packages & {"dask", "distributed"}, path


def test_commands_do_not_import_one_another() -> None:
    """What two commands share is a module of its own."""
    commands = {module_of(name) for name in COMMANDS}
    for name in COMMANDS:
        path = SOURCES.parent / (module_of(name).replace(".", "/") + ".py")
        imported = imports_of(path)
        assert not (imported | {name.rpartition(".")[0] for name in imported}) & commands, path


def test_nothing_calls_print() -> None:
    """A library is quiet, and the command line writes by click."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", f"{path}:{node.lineno}"


def test_nothing_seeds_globally() -> None:
    """No module calls NumPy's global generator."""
    pattern = re.compile(r"np\.random\.(seed|rand|randn|randint|normal|choice|permutation)\(")
    for path in MODULES:
        assert not pattern.search(path.read_text()), path

"""The order of the packages is the import rule: each imports itself and those above it."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import projected_kmeans

SOURCE = Path(projected_kmeans.__file__).parent
PACKAGE = "projected_kmeans"

# A module imports from its own line and from the lines above it. The first line holds the leaf
# modules at the root, which import nothing of the package but each other.
ORDER = (
    "root",
    "sources",
    "blocks",
    "passes",
    "projections",
    "running",
    "search",
    "certificates",
    "streaming",
    "estimator",
    "reports",
    "choosing_k",
    "demo",
    "paper",
    "commands",
)

# Imports that go down the list, each with the reason why it may. They run inside a function.
EXCEPTIONS: dict[tuple[str, str], str] = {
    (
        f"{PACKAGE}.estimator.projected_kmeans",
        f"{PACKAGE}.reports.build",
    ): "to_html is a method of the estimator; it loads the reports when it is called",
    (
        f"{PACKAGE}.estimator.projected_kmeans",
        f"{PACKAGE}.estimator.model_files",
    ): "save is a method of the estimator; its module makes estimators of files, too",
}

# Modules that import the public names of the whole package when they are first asked for.
PUBLIC = (PACKAGE,)


def module_name(path: Path) -> str:
    """Return the dotted name of a source file."""
    parts = (PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def list_modules() -> dict[str, Path]:
    """Return all modules of the package by name."""
    return {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def room_of(module: str) -> str:
    """Return the line of `ORDER` that a module stands in."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ORDER else "root"


def find_imports(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of this package that a syntax tree imports, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] == PACKAGE)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that this test can read them"
            if node.module == PACKAGE:
                yield from (f"{PACKAGE}.{name.name}" for name in node.names)
            elif node.module is not None and node.module.startswith(f"{PACKAGE}."):
                yield node.module
        elif isinstance(node, ast.Constant) and node.value in MODULES and node.value != PACKAGE:
            yield str(node.value)  # a name for importlib


MODULES = list_modules()


def find_violations(module: str, tree: ast.Module) -> list[str]:
    """Return the imports of a module that stand below it in the order and are not excepted."""
    level = ORDER.index(room_of(module))
    return [
        imported
        for imported in find_imports(tree)
        if ORDER.index(room_of(imported)) > level and (module, imported) not in EXCEPTIONS
    ]


@pytest.mark.parametrize("module", [name for name in MODULES if name not in PUBLIC])
def test_a_module_imports_only_from_above(module: str) -> None:
    """No module imports from a package below its own, not even inside a function."""
    assert find_violations(module, ast.parse(MODULES[module].read_text())) == []


def test_every_package_has_a_place_in_the_order() -> None:
    """A new folder has to be placed in the list before its modules can be judged."""
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert folders == set(ORDER) - {"root"}


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Modules form no cycle, not even one whose last import waits inside a function."""
    graph = {
        module: {
            imported
            for imported in find_imports(ast.parse(path.read_text()))
            if imported in MODULES and (module, imported) not in EXCEPTIONS
        }
        for module, path in MODULES.items()
        if module not in PUBLIC
    }
    tuple(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError with the cycle


def test_every_exception_is_in_use() -> None:
    """An exception that nobody needs any more leaves the table."""
    for module, imported in EXCEPTIONS:
        assert imported in set(find_imports(ast.parse(MODULES[module].read_text())))


def test_an_upward_import_is_found() -> None:
    """The rule can fail: a solver that imports the estimator is reported, lazy or not."""
    code = "def late():\n    from projected_kmeans.estimator import projected_kmeans\n"
    assert find_violations(f"{PACKAGE}.search.lloyd", ast.parse(code)) == [f"{PACKAGE}.estimator"]

"""The public surface: names, docstrings, and who may import whom."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import projected_kmeans

SOURCES = Path(projected_kmeans.__file__).parent
ROOT = Path(__file__).parents[1]

# The steps of design.md: each stands alone, and only the pipeline puts them together.
STEPS = (
    "gaussian_projection",
    "projections",
    "random_maps",
    "centred_rows",
    "directions",
    "spectral",
    "column_sampling",
    "dimensions",
    "plus_plus",
    "sampled_seeding",
    "seeding",
    "lloyd",
    "hartigan",
    "local_search",
    "lifting",
    "polishing",
    "scoring",
    "rounded_rows",
    "scaled_rows",
    "spectral_bound",
    "neighbour_bound",
    "tightened_bound",
    "sampled_bound",
    "proving",
    "lower_bounds",
    "certificate",
    "sweeping",
    "gap_statistic",
    "choices",
)

# What a step may import of the package: the ground that all steps stand on.
GROUND = {
    "_native",
    "blocks",
    "bounds",
    "deadlines",
    "keys",
    "moments",
    "parameters",
    "passes",
    "results",
    "walks",
}

# Within the step that reduces: what maps have in common asks the rules for their dimension, and
# both maps that look at the rows ask for directions.
SPECTRAL = {"centred_rows", "dimensions", "directions", "random_maps"}
REDUCE = {
    "gaussian_projection": {"random_maps"},
    "projections": {"gaussian_projection", "random_maps"},
    "random_maps": {"dimensions"},
    "directions": {"centred_rows"},
    "spectral": SPECTRAL,
    "column_sampling": SPECTRAL,
}

# Within the step that seeds: all that draw by distance do it in the same way.
SEED = {"seeding": {"plus_plus", "sampled_seeding"}, "sampled_seeding": {"plus_plus"}}

# Within the step that scores: the certificate chooses among bounds, and tells where it stands.
SCORE = {
    "scaled_rows": {"rounded_rows"},
    "spectral_bound": {"rounded_rows"},
    "neighbour_bound": {"rounded_rows"},
    "tightened_bound": {"neighbour_bound"},
    "sampled_bound": {"rounded_rows"},
    "proving": {
        "monitor",
        "neighbour_bound",
        "rounded_rows",
        "sampled_bound",
        "spectral_bound",
        "tightened_bound",
    },
    "lower_bounds": {"monitor", "proving", "rounded_rows", "scaled_rows"},
    "certificate": {"monitor", "lower_bounds", "scoring"},
}

# Comparing numbers of clusters is a solver of its own, and a score that runs it on random rows.
CHOOSE = {"sweeping": {"lloyd", "plus_plus", "seeding"}, "gap_statistic": {"plus_plus", "sweeping"}}

FITTED = (
    "ProjectedKMeans",
    "SignProjection",
    "GaussianProjection",
    "SpectralProjection",
    "ColumnSampling",
)

PUBLIC = [getattr(projected_kmeans, name) for name in projected_kmeans.__all__]
CLASSES = [item for item in PUBLIC if inspect.isclass(item)]
VALUES = (
    projected_kmeans.FitState,
    projected_kmeans.LowerBound,
    projected_kmeans.Certificate,
    projected_kmeans.ClusterCounts,
    projected_kmeans.Plan,
)
FUNCTIONS = [item for item in PUBLIC if isinstance(item, FunctionType)]


def parameters_of(documented: Any) -> list[str]:
    """Return the names in the Parameters section of a numpydoc docstring."""
    text = inspect.getdoc(documented) or ""
    found = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", text, re.DOTALL | re.MULTILINE
    )
    lines = found.group(1).splitlines() if found else []
    heads = [
        line.split(" : ")[0].lstrip("*") for line in lines if re.match(r"[*]*\w[\w, ]* : ", line)
    ]
    return [name for head in heads for name in head.split(", ")]


def signature_of(function: Any) -> list[str]:
    """Return the parameters of a function, self apart."""
    return [name for name in inspect.signature(function).parameters if name != "self"]


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


def package_imports_of(path: Path) -> set[str]:
    """Return the modules of this package that a file imports."""
    names = (name.split(".") for name in imports_of(path))
    return {name[1] for name in names if name[0] == "projected_kmeans" and len(name) > 1}


def test_all_is_what_is_promised() -> None:
    """The names that the first release promised are public, and none stands twice."""
    assert set(projected_kmeans.__all__) >= {
        "RULES",
        "FitState",
        "GaussianProjection",
        "ProjectedKMeans",
        "SignProjection",
        "clustering_accuracy",
        "indicator_matrix",
        "inertia",
        "normalized_inertia",
        "target_dimension",
    }
    assert len(set(projected_kmeans.__all__)) == len(projected_kmeans.__all__)


def test_the_stub_names_what_is_public() -> None:
    """Type checkers see the public names, each from the module that it is imported from."""
    tree = ast.parse((SOURCES / "__init__.pyi").read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    named = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in imports
        if node.module != "typing"
        for alias in node.names
    }
    homes = projected_kmeans._HOMES
    assert named == {name: f"projected_kmeans.{home}.{name}" for name, home in homes.items()}
    assert set(projected_kmeans.__all__) <= set(dir(projected_kmeans))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        projected_kmeans.nothing  # noqa: B018


def test_the_version_is_the_packages() -> None:
    """The version is the one in pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{projected_kmeans.__version__}"' in text


@pytest.mark.parametrize("item", CLASSES + FUNCTIONS, ids=lambda item: item.__name__)
def test_parameters_are_documented(item: Any) -> None:
    """The Parameters (or Attributes) section names exactly the parameters, in their order."""
    if item in VALUES:
        text = inspect.getdoc(item) or ""
        assert all(re.search(rf"\b{name}\b", text) for name in signature_of(item))
    else:
        assert parameters_of(item) == signature_of(item)


@pytest.mark.parametrize("item", CLASSES, ids=lambda item: item.__name__)
def test_methods_are_documented(item: Any) -> None:
    """Each public method of our own says what it does, and names its parameters."""
    methods = {
        name: member
        for name, member in inspect.getmembers(item, inspect.isfunction)
        if not name.startswith("_") and member.__module__.startswith("projected_kmeans")
    }
    for name, method in methods.items():
        assert inspect.getdoc(method), name
        if name in ("fit", "predict", "transform", "score"):
            assert parameters_of(method) == signature_of(method), name
    assert item in VALUES or "fit" in methods


@pytest.mark.parametrize("item", CLASSES + FUNCTIONS, ids=lambda item: item.__name__)
def test_examples_are_given(item: Any) -> None:
    """Everything public but the values that others return has an example, which doctest runs."""
    if item not in VALUES:
        assert doctest.DocTestParser().get_examples(inspect.getdoc(item) or "")


@pytest.mark.parametrize("name", FITTED)
def test_fitted_attributes_are_documented(name: str) -> None:
    """Every attribute that a fit leaves is in the Attributes section."""
    kind = getattr(projected_kmeans, name)
    options = {"n_clusters": 2} if name == "ProjectedKMeans" else {"n_components": 1}
    fitted = kind(**options).fit([[0.0, 1.0], [2.0, 3.0], [9.0, 9.0]])
    left = {key for key in dir(fitted) if key.endswith("_") and not key.startswith("_")}
    text = (inspect.getdoc(kind) or "").split("Attributes\n----------")[1]
    documented = set(re.findall(r"^(\w+_) : ", text, re.MULTILINE))
    assert left <= documented
    assert documented - left <= {"feature_names_in_"}


def test_optional_packages_are_optional() -> None:
    """The library works where the command line's packages and all extras are missing."""
    program = (
        "import sys\n"
        "for name in sys.argv[1:]:\n"
        "    sys.modules[name] = None  # makes its import fail\n"
        "import projected_kmeans as p\n"
        "model = p.ProjectedKMeans(2, random_state=0).fit([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]])\n"
        "print(model.predict([[5.0, 4.0]])[0] == model.labels_[2])"
    )
    names = ["click", "rich", "PIL", "dask", "distributed", "pandas", "polars", "pyarrow", "bokeh"]
    names += ["matplotlib", "onnx", "faiss"]
    command = [sys.executable, "-W", "error", "-c", program, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("True", "")


def test_only_the_modules_of_dask_import_it() -> None:
    """No step asks whether rows are Dask's: only the sources that are named after it know it."""
    for path in SOURCES.rglob("*.py"):
        packages = {name.partition(".")[0] for name in imports_of(path)}
        assert path.name.startswith("dask_") or not packages & {"dask", "distributed"}, path


@pytest.mark.parametrize("step", STEPS)
def test_steps_do_not_import_one_another(step: str) -> None:
    """A step imports the common ground only, or what belongs to the same step."""
    allowed = GROUND | (REDUCE | SEED | SCORE | CHOOSE).get(step, set())
    assert package_imports_of(SOURCES / f"{step}.py") <= allowed


@pytest.mark.parametrize("module", sorted(GROUND - {"_native"}))
def test_the_ground_does_not_import_steps(module: str) -> None:
    """Imports point one way: what steps stand on knows no step, nor what composes them."""
    assert package_imports_of(SOURCES / f"{module}.py") <= GROUND


def test_the_command_line_is_imported_by_nothing() -> None:
    """No module but the entry point's own imports cli."""
    for path in SOURCES.rglob("*.py"):
        if path.name != "__main__.py":
            assert "cli" not in package_imports_of(path), path


def test_commands_stand_alone() -> None:
    """Only the command line imports commands; a command imports of them the shared options only."""
    for path in SOURCES.rglob("*.py"):
        imported = {name for name in imports_of(path) if ".commands" in name}
        if path.parent.name == "commands":
            allowed = ("projected_kmeans.commands.options.", "projected_kmeans.commands.")
            assert all(name.rpartition(".")[0] + "." in allowed for name in imported), path
        elif path.name != "cli.py":
            assert not imported, path


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_overview_needs_no_numbers(option: str) -> None:
    """The overview and the version come without numerical packages, whose import takes a second."""
    program = (
        "import sys\n"
        "from projected_kmeans.commands.main import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "except SystemExit as left:\n"
        "    heavy = {'numpy', 'scipy', 'sklearn', 'rich'} & set(sys.modules)\n"
        "    sys.exit(f'{left.code} {sorted(heavy)}')"
    )
    command = [sys.executable, "-c", program, option]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "0 []"
    assert "projected-kmeans" in done.stdout


def test_nothing_prints_but_the_command_line() -> None:
    """No module calls print or writes to the standard streams, except cli."""
    for path in SOURCES.rglob("*.py"):
        if path.name == "cli.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", f"{path}:{node.lineno}"


@pytest.mark.parametrize(
    "path", sorted(SOURCES.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCES))
)
def test_modules_say_what_they_do_and_do_not_do(path: Path) -> None:
    """A module opens with a docstring; beyond a package's own, it is more than one line."""
    text = ast.get_docstring(ast.parse(path.read_text()))
    assert text
    assert path.name == "__init__.py" or len(text.splitlines()) >= 3


def test_nothing_seeds_globally() -> None:
    """No module calls NumPy's global generator."""
    pattern = re.compile(r"np\.random\.(seed|rand|randn|randint|normal|choice|permutation)\(")
    for path in SOURCES.rglob("*.py"):
        assert not pattern.search(path.read_text()), path

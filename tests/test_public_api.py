"""The public names: where they are imported from, and that each is documented with an example."""

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
import projected_kmeans.paper

SOURCES = Path(projected_kmeans.__file__).parent
ROOT = Path(__file__).parents[1]

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
    projected_kmeans.ClusterDescription,
    projected_kmeans.Plan,
    projected_kmeans.ClusteringComparison,
    projected_kmeans.Algorithm1Result,
    projected_kmeans.Representatives,
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


def test_all_is_what_is_promised() -> None:
    """The names that users rely on are public, and none is listed twice."""
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
        "open_rows",
        "random_projection_kmeans",
        "save_model",
        "load_model",
        "target_dimension",
    }
    assert len(set(projected_kmeans.__all__)) == len(projected_kmeans.__all__)


def test_the_stub_names_what_is_public() -> None:
    """`__init__.pyi` has the names of `__init__.py`, each from the same module."""
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
    assert dir(projected_kmeans) == sorted([*projected_kmeans.__all__, "__version__"])
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        projected_kmeans.nothing  # noqa: B018


def list_snippets() -> list[tuple[str, str]]:
    """Return the name and text of every page and example that shows Python to users."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    return [(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in pages]


@pytest.mark.parametrize(("page", "text"), list_snippets(), ids=lambda value: value[:40])
def test_users_import_from_the_package_itself(page: str, text: str) -> None:
    """Docs and examples import public names only, and no inner module."""
    pattern = re.compile(r"^\W*(?:from|import) +projected_kmeans([\w.]*)(?: +import +(.+))?", re.M)
    for module, names in pattern.findall(text):
        assert module in ("", ".paper"), f"{page} imports projected_kmeans{module}"
        public = projected_kmeans.paper if module else projected_kmeans
        imported = {name.strip().split(" ")[0] for name in names.strip("()").split(",")} - {""}
        assert imported <= set(public.__all__), page


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
    """Every public function and estimator has an example, which doctest runs."""
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
    """The library works without the packages of the command line and without all extras."""
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


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_overview_needs_no_numbers(option: str) -> None:
    """``--help`` and ``--version`` do not import numerical packages, which would take a second."""
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

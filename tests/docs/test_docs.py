"""The documents say what is true: their examples run and they name the files that exist."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest

from tests.support.pages import find_fences, make_data, run_page

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = sorted(ROOT.glob("examples/*.py"))
PACKAGES = sorted(path.parent for path in (ROOT / "src/projected_kmeans").rglob("__init__.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python and the commands of a page run, and give what the page shows."""
    make_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    fences = find_fences(page)
    assert run_page(page) == sum(fence.language in ("python", "bash") for fence in fences)
    shown = [fence.text for fence in fences if fence.language not in ("python", "bash")]
    # The paper's experiments take long, and run in small in test_paper_command.py.
    code = re.compile("^(>>>|projected-kmeans (?!reproduce))", re.MULTILINE)
    assert not any(map(code.search, shown)), "mark the fence as python or bash, so that it runs"


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_scripts_run(
    script: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every script of examples/ runs on data of its own, and says what it found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [script.name])
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as missing:  # a sentence about data that is not shipped
        pytest.skip(str(missing))
    assert "cluster" in capsys.readouterr().out


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_scripts_are_short(script: Path) -> None:
    """From raw data to named clusters in less than 25 lines of code, the data included."""
    text = script.read_text()
    after = ast.parse(text).body[0].end_lineno or 0  # the docstring
    assert len([line for line in text.splitlines()[after:] if line.strip()]) < 25


@pytest.mark.parametrize("package", PACKAGES[1:], ids=lambda package: package.name)
def test_a_package_describes_itself(package: Path) -> None:
    """The docstring of a package is its map: it names every module and every package in it."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    inner = {path.parent.name for path in package.glob("*/__init__.py")}
    missing = [name for name in modules | inner if not re.search(rf"\b{name}\b", text)]
    assert missing == []


def test_architecture_is_one_page_with_every_package() -> None:
    """ARCHITECTURE.md has at most 150 lines, and a newcomer finds each package and leaf in it."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.splitlines()) <= 150
    names = [path.relative_to(PACKAGES[0]).as_posix() for path in PACKAGES[1:]]
    names += [path.stem for path in PACKAGES[0].glob("*.py") if path.stem != "__init__"]
    assert [name for name in names if f"`{name}" not in text] == []


def test_architecture_names_no_other_file() -> None:
    """ARCHITECTURE.md names no source file that is not there."""
    named = re.findall(r"[\w/]+\.(?:py|cpp|hpp)\b", (ROOT / "ARCHITECTURE.md").read_text())
    tracked = {
        path.name
        for part in ("src", "tests", "benchmarks", "man", "examples")
        for path in (ROOT / part).rglob("*")
    }
    assert {name.split("/")[-1] for name in named} <= tracked


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page leads to a file."""
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []

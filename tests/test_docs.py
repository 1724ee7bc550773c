"""The documents say what is true: their examples run and they name the files that exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
SOURCES = sorted(
    path
    for folder in ("src/native", "src/projected_kmeans")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".cpp", ".hpp"} and path.name != "__init__.py"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path) -> None:
    """Every Python example of a page gives what the page shows."""
    failed, _ = doctest.testfile(str(page), module_relative=False)
    assert failed == 0


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_architecture_names_every_file(source: Path) -> None:
    """A maintainer finds each source file in ARCHITECTURE.md."""
    assert source.name in (ROOT / "ARCHITECTURE.md").read_text()


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

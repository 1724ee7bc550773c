"""docs/reference.md is what the docstrings say, and leaves nothing public out."""

from __future__ import annotations

import inspect

import pytest
import reference_page

import projected_kmeans

LISTED = [name for names in reference_page.SECTIONS.values() for name in names]


def test_the_page_is_up_to_date() -> None:
    """The page is what its generator renders; `make docs` writes it."""
    assert reference_page.PAGE.read_text(encoding="utf-8") == reference_page.render_page()


def test_every_public_name_is_on_the_page() -> None:
    """Each public name has an entry, or another entry explains it."""
    assert sorted(LISTED + list(reference_page.EXPLAINED_ELSEWHERE)) == sorted(
        projected_kmeans.__all__
    )


@pytest.mark.parametrize("name", LISTED)
def test_every_parameter_is_described(name: str) -> None:
    """The table of a function or class names each of its parameters."""
    thing = getattr(projected_kmeans, name)
    sections = reference_page.split_docstring(inspect.getdoc(thing) or "")
    body = sections.get("Parameters") or sections.get("Attributes", "")
    described = {
        part.strip().lstrip("*")
        for entry in reference_page.read_entries(body)
        for part in entry.names.split(",")
    }
    assert set(inspect.signature(thing).parameters) <= described

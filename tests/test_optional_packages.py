"""Optional packages: imported, or named with the command that installs them."""

from __future__ import annotations

import json

import pytest

from projected_kmeans.optional_packages import MissingExtra, load_extra


def test_a_package_that_is_there_is_imported() -> None:
    """The module itself is returned."""
    assert load_extra("json", "none", "a test") is json


@pytest.mark.parametrize("kind", [MissingExtra, ValueError, ImportError])
def test_a_missing_package_names_its_extra(kind: type[Exception]) -> None:
    """The error can be caught as a ValueError, as all refusals, and as an ImportError."""
    with pytest.raises(kind) as caught:
        load_extra("absent_package.inner", "parquet", "rows.parquet")
    assert str(caught.value) == (
        "rows.parquet needs absent_package, which cannot be imported; install it with "
        "pip install 'projected_kmeans[parquet]'"
    )

"""Optional packages: imported, or named with the command that installs them."""

from __future__ import annotations

import json

import pytest

from projected_kmeans.optional_packages import MissingExtra, install_command, load_extra


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
        f"{install_command('parquet')}"
    )


def test_the_command_names_packages_so_that_it_works_beside_a_checkout() -> None:
    """An extra is its packages with their versions; an unknown one is named as it is."""
    assert install_command("parquet").startswith("pip install 'pyarrow>=")
    assert install_command("report").count(">=") == 3
    assert install_command("nothing") == "pip install 'projected_kmeans[nothing]'"

"""Packages that are optional: import one, or say which command installs it."""

from __future__ import annotations

import importlib
from typing import Any


def load_extra(module: str, extra: str, what: str) -> Any:
    """Return a module of an optional dependency, or raise with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"{what} needs {package}, which cannot be imported; install it with "
            f"pip install 'projected_kmeans[{extra}]'"
        ) from error


class MissingExtra(ValueError, ImportError):
    """A package that is optional and absent; the message has the command that installs it."""

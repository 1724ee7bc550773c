"""Optional packages: import one, or say which command installs it."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any


class MissingExtra(ValueError, ImportError):
    """An optional package that is not installed; the message has the command that installs it."""


def load_extra(module: str, extra: str, what: str) -> Any:
    """Return a module, or raise that `what` needs it, with the command that installs its extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"{what} needs {package}, which cannot be imported; install it with "
            f"{install_command(extra)}"
        ) from error


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra, also beside a checkout."""
    try:
        listed = importlib.metadata.requires("projected_kmeans") or []
    except importlib.metadata.PackageNotFoundError:
        listed = []
    wanted = [
        name.strip()
        for name, _, marker in (requirement.partition(";") for requirement in listed)
        if "".join(marker.split()).replace('"', "'") == f"extra=='{extra}'"
    ]
    if not wanted:
        return f"pip install 'projected_kmeans[{extra}]'"
    return " ".join(["pip install", *(f"'{name}'" for name in wanted)])

"""Optional packages: import one, or say which command installs it."""

from __future__ import annotations

import importlib
from typing import Any


class MissingExtra(ValueError, ImportError):
    """An optional package that is not installed; the message has the command that installs it."""


def load_extra(module: str, extra: str, what: str) -> Any:
    """Return a module of an optional package, or raise with the command that installs it.

    Parameters
    ----------
    module : str
        The module to import, such as "pyarrow.parquet".
    extra : str
        The extra of projected_kmeans that installs its package.
    what : str
        What needs it, as the subject of the error.

    Examples
    --------
    >>> load_extra("json", "none", "this example").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"{what} needs {package}, which cannot be imported; install it with "
            f"pip install 'projected_kmeans[{extra}]'"
        ) from error

"""Make every Python process load another build of the native module.

Python runs this file at start where this folder is on PYTHONPATH. It is put there by
``campaigns/sanitize.py``, and child processes of tests inherit it. The environment variable
PROJECTED_KMEANS_NATIVE_BUILD names the built module.
"""

from __future__ import annotations

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.util import spec_from_file_location
from typing import Any

NAME = "projected_kmeans._native"


class OtherBuild(MetaPathFinder):
    """Finds the native module in one given file, and nothing else."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Return where the native module is loaded from."""
        if fullname == NAME:
            return spec_from_file_location(NAME, os.environ["PROJECTED_KMEANS_NATIVE_BUILD"])
        return None


sys.meta_path.insert(0, OtherBuild())

"""Print what pip has to install for some extras: ``python tools/requirements.py EXTRA ...``.

Extras that name other extras of the package are resolved, so that nothing has to build it.
``dependencies`` stands for what the package itself needs. It runs before anything is installed.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = "projected_kmeans"
DEPENDENCIES = "dependencies"


def list_requirements(extras: Sequence[str]) -> list[str]:
    """Return the requirements of some extras, and of the extras that these name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tables = {DEPENDENCIES: project[DEPENDENCIES], **project["optional-dependencies"]}
    listed: list[str] = []
    waiting = list(extras)
    while waiting:
        for requirement in tables[waiting.pop(0)]:
            if requirement.startswith(f"{NAME}["):
                waiting += requirement.removeprefix(f"{NAME}[").rstrip("]").split(",")
            else:
                listed.append(requirement)
    return listed


if __name__ == "__main__":
    print(*list_requirements(sys.argv[1:]))

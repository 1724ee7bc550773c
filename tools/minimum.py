"""Run tests with the oldest versions that pyproject.toml declares: ``make test-minimum``.

uv installs the lowest version of every direct dependency, extras included, in ``build/minimum``.
The package itself is not compiled again: the sources and the native module of .venv are used.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from requirements import DEPENDENCIES, NAME, list_requirements

ROOT = Path(__file__).parents[1]
HOME = ROOT / "build" / "minimum"
TOOLS = Path(sys.executable).parent

# Where a dependency meets the package. The rest of the suite tests its own arithmetic.
TESTS = ("tests/sources", "tests/blocks", "tests/estimator", "tests/reports", "tests/commands")


def make_environment() -> Path:
    """Return the Python of an environment with the oldest versions, and with these sources."""
    python = HOME / "bin" / "python"
    uv = TOOLS / "uv"
    command = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, HOME]
    subprocess.run(command, check=True)
    words = ("--quiet", "--only-binary", ":all:", "--resolution", "lowest-direct")
    wanted = list_requirements([DEPENDENCIES, "test"])
    command = [uv, "pip", "install", *words, "--python", python, *wanted]
    subprocess.run(command, check=True)
    (packages,) = HOME.glob("lib/python3.*/site-packages")
    (packages / f"{NAME}.pth").write_text(f"{ROOT / 'src'}\n")
    metadata = Path(str(distribution(NAME).locate_file(""))).glob(f"{NAME}-*.dist-info")
    for folder in metadata:
        shutil.copytree(folder, packages / folder.name)
    return python


def main() -> None:
    """Install the oldest versions and run tests with them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", nargs="+", default=TESTS, help="run these")
    options = parser.parse_args()
    from projected_kmeans import _native

    other = {
        "PYTHONPATH": str(ROOT / "campaigns" / "sanitized"),  # loads the module that is named next
        "PROJECTED_KMEANS_NATIVE_BUILD": str(_native.__file__),
    }
    words = ("-q", "-n", "auto", "--maxprocesses", "8", "--dist", "worksteal")
    command = [make_environment(), "-m", "pytest", "-p", "no:cacheprovider", *words]
    done = subprocess.run([*command, *options.tests], cwd=ROOT, env={**os.environ, **other})
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()

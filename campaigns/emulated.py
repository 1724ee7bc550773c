"""What campaigns on emulated machines share: tools of Debian, and a module with a planted error."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = Path(sys.executable).parent
TESTS = ("tests/native/test_twins.py", "tests/native/maps", "tests/native/clustering")


@dataclass(frozen=True)
class Planted:
    """A deliberate error: what it changes in a file of the kernels, and a test that must fail."""

    file: str
    sound: str
    wrong: str
    test: str


TWINS = "tests/native/test_twins.py::test_a_kernel_gives_what_its_twin_gives"
# A distance is halved on its way out.
WRONG_DISTANCE = Planted(
    "src/native/clustering/own_distances.cpp",
    "labels[row] * rows.n_columns, scale);",
    "labels[row] * rows.n_columns, scale) / 2;",
    f"{TWINS}[own_distances-70x13x6-float64]",
)
# The buffer of framed rows lacks room for its last value. With vectors of 64 bytes it is full where
# a list of double centers has 9 to 16.
OVERRUN = Planted(
    "src/native/clustering/nearest_listed.cpp",
    "rows(most_listed_rows * n_columns),",
    "rows(most_listed_rows * n_columns - 1),",
    f"{TWINS}[nearest_listed-70x13x16-float64]",
)
# Buffers are filled with this byte, and must still hold it beside their values at the end.
FILL = {"PROJECTED_KMEANS_FILL_BUFFERS": "165"}


class CannotRunError(Exception):
    """The machine cannot run the campaign; the message says why."""


def run(*words: str | Path, **environment: str) -> None:
    """Run a program in the root of the repository; raise if it fails."""
    subprocess.run(words, check=True, cwd=ROOT, env={**os.environ, **environment})


def need_tools(packages: Mapping[str, str]) -> None:
    """Install Debian's packages of those tools that are missing."""
    missing = [packages[tool] for tool in packages if shutil.which(tool) is None]
    if sys.platform != "linux" or shutil.which("apt-get") is None:
        raise CannotRunError("it takes packages of Debian")
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    try:
        if missing:
            quiet = {"DEBIAN_FRONTEND": "noninteractive"}
            run(*root, "apt-get", "-qq", "update", **quiet)
            run(*root, "apt-get", "-qq", "install", "-y", *missing, **quiet)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotRunError(f"{', '.join(missing)} cannot be installed ({error})") from error


def share_tests(tests: Sequence[str], n_shares: int) -> list[list[str]]:
    """Return the files of tests in shares, the longest files in different ones."""
    files = []
    for test in tests:
        folder = ROOT / test
        found = folder.rglob("test_*.py") if folder.is_dir() else ()
        files += [str(path.relative_to(ROOT)) for path in found] or [test]
    files.sort(key=lambda name: (-(ROOT / name.partition("::")[0]).stat().st_size, name))
    return [share for share in (files[i::n_shares] for i in range(n_shares)) if share]


def commands_for(build: Path, target: str) -> list[str]:
    """Return the commands by which ninja makes a file in a build."""
    words = [str(TOOLS / "ninja"), "-C", str(build), "-t", "commands", target]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()


def build_planted(build: Path, module: str, folder: Path, kernels: str, planted: Planted) -> Path:
    """Return a module like that of a build, with an error in the kernels of one instruction set."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (ROOT / planted.file).read_text()
    assert text.count(planted.sound) == 1, f"{planted.file} has changed; plant the error anew"
    source = folder / Path(planted.file).name
    source.write_text(text.replace(planted.sound, planted.wrong))
    *compiling, linking = commands_for(build, module)
    wanted = f"kernels_{kernels}.dir/{planted.file}.o"
    (command,) = (line for line in compiling if f" -o CMakeFiles/{wanted}" in line)
    (built,) = re.findall(r" -o (\S+)", command)
    command = command.replace(str(ROOT / planted.file), str(source))
    for line in (command, linking):
        line = line.replace(built, str(folder / f"{source.name}.o"))
        line = line.replace(f" {module}", f" {folder / module}")
        subprocess.run(line, shell=True, check=True, cwd=build)
    return folder / module

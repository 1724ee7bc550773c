"""Run the kernels on ARM: cross-compiled, emulated, and compared with the NumPy twins and with x86.

``make test-arm`` does this on a Debian machine with an x86 processor:

1. Debian's cross compiler builds the native module for aarch64 in ``build/arm``. Vectors of 16
   bytes become NEON registers; the campaign looks for NEON's instructions in a hot kernel.
2. An aarch64 Python is unpacked to ``build/arm/root`` from Debian's packages, and the packages that
   the tests need to ``build/arm/site`` from the package index. Nothing of that is installed.
3. A module with a deliberate error in one kernel is linked. The test of that kernel has to fail.
4. qemu-user runs the tests of all kernels against their twins, in one process a core.
5. All kernels run here and there. What is promised to have the same bits on every machine is
   compared bit by bit, the rest up to rounding (`machine_results`).

Where a tool cannot be installed, the campaign says which and ends without an error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import emulated
import machine_results
from emulated import FILL, ROOT, TESTS, TOOLS, WRONG_DISTANCE, CannotRunError, run

HOME = ROOT / "build" / "arm"
SYSTEM, SITE = HOME / "root", HOME / "site"
COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"
# Without SVE and SME: the kernels use neither, and OpenBLAS, which would, is slow with them here.
PROCESSOR = "cortex-a72"
DEBIAN = {COMPILER: "g++-aarch64-linux-gnu", EMULATOR: "qemu-user"}
PACKAGES = ("python3", "libgomp1", "libstdc++6")
PYTEST = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")

# A multiplication of four floats or two doubles at once.
NEON = re.compile(r"\bfml[as]\s+v\d+\.(?:4s|2d)")


def unpack_python() -> Path:
    """Return an aarch64 Python, from Debian's packages and without touching the system's own."""
    state = HOME / "apt"
    for folder in ("lists/partial", "archives/partial"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    (state / "conf").write_text(
        f'Dir::State "{state}"; Dir::State::status "{state}/status"; Dir::Cache "{state}";\n'
        'APT::Architecture "arm64"; APT::Architectures { "arm64"; };\n'
    )
    if not list(SYSTEM.glob("usr/bin/python3.*")):
        words = ("-y", "--download-only", "--no-install-recommends", *PACKAGES)
        run("apt-get", "-qq", "update", APT_CONFIG=str(state / "conf"))
        run("apt-get", "-qq", "install", *words, APT_CONFIG=str(state / "conf"))
        for package in sorted((state / "archives").glob("*.deb")):
            run("dpkg-deb", "-x", package, SYSTEM)
    (python,) = (path for path in SYSTEM.glob("usr/bin/python3.*") if "config" not in path.name)
    ours = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if python.name != ours:
        raise CannotRunError(
            f"Debian has {python.name} for it and .venv has {ours}; set PYTHON={python.name}"
        )
    return python


def fetch_packages() -> None:
    """Bring the wheels for aarch64 that the package and its tests import into one folder."""
    if (SITE / "sklearn").is_dir():
        return
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], "pytest>=8", "hypothesis>=6.100"]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    platform = ("--python-platform", "aarch64-manylinux_2_28", "--python-version", version)
    words = ("--quiet", "--only-binary", ":all:", "--target", SITE, *platform)
    run(TOOLS / "uv", "pip", "install", *words, *wanted)


def build_module() -> Path:
    """Compile the native module for aarch64; return it."""
    nanobind = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    found = subprocess.run(nanobind, check=True, capture_output=True, text=True).stdout.strip()
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_COMPILER": COMPILER,
        "CMAKE_MAKE_PROGRAM": TOOLS / "ninja",
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "Python_EXECUTABLE": sys.executable,  # its headers fit every machine with 64 bits
        "SKBUILD_DATA_DIR": HOME / "data",
        "nanobind_DIR": found,
    }
    if ccache := shutil.which("ccache"):
        options["CMAKE_CXX_COMPILER_LAUNCHER"] = ccache
    settings = [f"-D{name}={value}" for name, value in options.items()]
    run(TOOLS / "cmake", "-S", ROOT, "-B", HOME, "-G", "Ninja", *settings, "--log-level=WARNING")
    run(TOOLS / "cmake", "--build", HOME, "--", "--quiet")  # in CMAKE_BUILD_PARALLEL_LEVEL jobs
    (module,) = HOME.glob("_native*.so")
    return module


def count_neon() -> int:
    """Return how many NEON multiplications the kernel that finds nearest centers has."""
    commands = emulated.commands_for(HOME, "all")
    command = next(line for line in commands if "clustering/nearest_center.cpp.o" in line)
    assembly = HOME / "nearest_center.s"
    command = re.sub(r" -o \S+", f" -o {assembly}", command).replace(" -c ", " -S ")
    subprocess.run(command, shell=True, check=True, cwd=HOME)
    return len(NEON.findall(assembly.read_text()))


def emulate(python: Path, module: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the aarch64 Python with a build of the native module."""
    places = (ROOT / "campaigns" / "sanitized", ROOT / "src", ROOT, SITE)
    environment = {
        **os.environ,
        **FILL,
        "PYTHONPATH": os.pathsep.join(map(str, places)),
        "PROJECTED_KMEANS_NATIVE_BUILD": str(module),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(HOME / "bytecode"),  # to compile it again takes most of a start
    }
    command = [EMULATOR, "-cpu", PROCESSOR, "-L", SYSTEM, python, *words]
    return subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )


def judge_planted(python: Path, module: Path) -> None:
    """Stop if the tests do not see the deliberate error."""
    error = WRONG_DISTANCE
    planted = emulated.build_planted(HOME, module.name, HOME / "planted", "portable", error)
    done = emulate(python, planted, *PYTEST, error.test)
    if done.returncode != 1 or "AssertionError" not in done.stdout:
        sys.exit(f"a deliberate error in {error.file} was not found: {done.stdout}{done.stderr}")
    print(f"a deliberate error in {error.file} is found", flush=True)


def judge_tests(python: Path, module: Path, tests: Sequence[str]) -> None:
    """Stop if a test fails on ARM. Each share of the tests has an emulator of its own."""
    start = time.monotonic()
    shares = emulated.share_tests(tests, os.cpu_count() or 1)
    with ThreadPoolExecutor(len(shares)) as threads:
        runs = list(threads.map(lambda share: emulate(python, module, *PYTEST, *share), shares))
    for done in runs:
        if done.returncode:
            sys.exit(f"tests fail on ARM: {done.stdout}{done.stderr}")
    n_passed = sum(
        int(count) for done in runs for count in re.findall(r"(\d+) passed", done.stdout)
    )
    print(f"on ARM: {n_passed} tests passed in {time.monotonic() - start:.0f} s", flush=True)


def judge_bits(python: Path, module: Path) -> None:
    """Stop if results differ between this machine and ARM where they must not."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = Path(folder) / "here.npz", Path(folder) / "there.npz"
        words = ("-m", "tests.native.bindings.kernel_results")
        run(sys.executable, *words, here)
        done = emulate(python, module, *words, there)
        if done.returncode:
            sys.exit(f"the kernels do not run on ARM: {done.stderr}")
        found = machine_results.compare(here, there)
    print(found.sentence)
    if found.failures:
        sys.exit("\n".join(found.failures))


def main() -> None:
    """Prepare, plant an error, test and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", nargs="+", default=TESTS, help="run these on ARM")
    options = parser.parse_args()
    HOME.mkdir(parents=True, exist_ok=True)
    try:
        emulated.need_tools(DEBIAN)
        python = unpack_python()
        fetch_packages()
    except (CannotRunError, subprocess.CalledProcessError) as error:
        print(f"the kernels are not tested on ARM: {error}")
        return
    module = build_module()
    n_neon = count_neon()
    if not n_neon:
        sys.exit("the kernel that finds nearest centers has no NEON multiplication")
    print(f"nearest_center has {n_neon} NEON multiplications", flush=True)
    judge_planted(python, module)
    judge_tests(python, module, options.tests)
    judge_bits(python, module)


if __name__ == "__main__":
    main()

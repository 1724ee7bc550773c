"""The compiler and the runtime libraries that `make sanitize` needs, and builds with sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Toolchain:
    """A clang with the runtime libraries of its sanitizers and of OpenMP."""

    compiler: Path

    @property
    def major(self) -> str:
        """The major version, which Debian's packages carry in their names."""
        return ask(self.compiler, "-dumpversion").partition(".")[0]

    def library(self, name: str) -> Path:
        """Return where the compiler finds a library; a bare name if it finds none."""
        return Path(ask(self.compiler, f"-print-file-name={name}"))

    def runtime(self, sanitizer: str) -> Path:
        """Return the shared runtime library of a sanitizer: asan or tsan."""
        return self.library(f"libclang_rt.{sanitizer}-{os.uname().machine}.so")

    @property
    def archer(self) -> Path:
        """The library that tells ThreadSanitizer what OpenMP's barriers and locks order."""
        return self.home / "lib" / "libarcher.so"

    @property
    def symbolizer(self) -> Path:
        """The program that tells reports the functions and lines of addresses."""
        return self.home / "bin" / "llvm-symbolizer"

    @property
    def home(self) -> Path:
        """The folder of this version of LLVM."""
        return Path(ask(self.compiler, "-print-resource-dir")).parents[2]

    def missing(self) -> list[str]:
        """Return the names of Debian's packages that lack."""
        needed = {
            f"libclang-rt-{self.major}-dev": [self.runtime("asan"), self.runtime("tsan")],
            f"libomp-{self.major}-dev": [self.archer],
            f"llvm-{self.major}": [self.symbolizer],
        }
        return [name for name, files in needed.items() if not all(map(Path.exists, files))]


def ask(program: Path, question: str) -> str:
    """Return what a program answers to an option."""
    command = [str(program), question]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def install_packages(names: list[str]) -> None:
    """Install packages of Debian; stop with a sentence if that cannot be done."""
    root = [] if os.geteuid() == 0 else ["sudo"]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        for step in (["update"], ["install", "-y", *names]):
            subprocess.run([*root, "apt-get", "-qq", *step], check=True, env=quiet)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"make sanitize needs {', '.join(names)}; install them by hand ({error})")


def find_toolchain() -> Toolchain:
    """Return a clang that has all it needs, which is installed first where it is missing."""
    if shutil.which("clang++") is None:
        install_packages(["clang", "libomp-dev"])
    toolchain = Toolchain(Path(shutil.which("clang++") or "clang++"))
    if toolchain.missing():
        install_packages(toolchain.missing())
    if toolchain.missing():
        sys.exit(f"clang {toolchain.major} does not find {', '.join(toolchain.missing())}")
    return toolchain


def find_valgrind() -> str:
    """Return the program valgrind, which is installed first where it is missing."""
    if shutil.which("valgrind") is None:
        install_packages(["valgrind"])
    return shutil.which("valgrind") or "valgrind"


def build_module(toolchain: Toolchain, sanitizers: str, sets: Sequence[str], folder: Path) -> Path:
    """Compile the native module with sanitizers in a folder of its own; return the module.

    It is compiled for portable and avx2, and for avx512 and wide if `sets` names them.
    """
    tools = Path(sys.executable).parent
    nanobind = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    found = subprocess.run(nanobind, check=True, capture_output=True, text=True).stdout.strip()
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_COMPILER": toolchain.compiler,
        "CMAKE_MAKE_PROGRAM": tools / "ninja",
        "PK_AVX512": "ON" if "avx512" in sets else "OFF",
        "PK_SANITIZE": sanitizers,
        "PK_WIDE": "ON" if "wide" in sets else "OFF",
        "Python_EXECUTABLE": sys.executable,
        "SKBUILD_DATA_DIR": folder / "data",
        "nanobind_ROOT": found,
    }
    if ccache := shutil.which("ccache"):
        options["CMAKE_CXX_COMPILER_LAUNCHER"] = ccache
    settings = [f"-D{name}={value}" for name, value in options.items()]
    configure = [str(tools / "cmake"), "-S", str(ROOT), "-B", str(folder), "-G", "Ninja"]
    subprocess.run([*configure, *settings, "--log-level=WARNING"], check=True)
    subprocess.run([str(tools / "ninja"), "-C", str(folder), "--quiet"], check=True)
    (module,) = folder.glob("_native*.so")
    return module


def build_early_start(toolchain: Toolchain, folder: Path) -> Path:
    """Compile a library that starts ThreadSanitizer before any other code runs; return it.

    clang's own shared runtime is started too late: libstdc++, on which it depends, is initialised
    before it, calls a function that it replaces, and ends the process.
    """
    library = folder / "early_start.so"
    source = (
        "void __tsan_init(void);"
        "__attribute__((constructor)) static void start(void) { __tsan_init(); }"
    )
    command = [toolchain.compiler, "-x", "c", "-", "-shared", "-fPIC", "-nostdlib"]
    options = ["-Wl,-z,initfirst", "-o", library]
    subprocess.run([*command, *options], check=True, input=source, text=True)
    return library

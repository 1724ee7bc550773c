"""Run the checks of `campaigns/avx512.py`: on this machine, and as the first process of a PC.

Each check is a forked process, because the emulator is slow and large packages are then imported
once, and because one of them loads a module with a deliberate error. A line that begins with
``RESULT`` is one finding as JSON.

On this machine, the paths of all files that the checks read are noted. The PC gets these files.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FINISHED = "all checks are done"
OPENED: set[str] = set()
# Packages that others import where they are installed. Nothing here needs them.
UNWANTED = ("dask", "matplotlib", "numba", "pandas", "polars", "pyarrow", "trio")
# A module that others import and do not use here. An emulated PC takes more than a minute for it.
UNUSED = "scipy.stats"
# The tests take what is set here, and not the settings of the repository, whose plug-ins and
# imports would take minutes.
PYTEST = (
    "-q", "-x", "-c", os.devnull, f"--rootdir={ROOT}", "--noconftest", "--assert=plain",
    "-p", "no:cacheprovider", "-p", "no:faulthandler", "--color=no", "--durations=25",
    "-k", "not x2047x and not x2048x and not x2049x and not x3072x and not x3073x",  # long rows
)  # fmt: skip


def report(check: str, **values: Any) -> None:
    """Print one finding."""
    print("RESULT", json.dumps({"check": check, **values}), flush=True)


def mount_folders() -> None:
    """Give the first process of a PC the folders that the kernel fills."""
    library = ctypes.CDLL(None, use_errno=True)
    for kind, folder in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")):
        if library.mount(kind.encode(), folder.encode(), kind.encode(), 0, None):
            raise OSError(ctypes.get_errno(), f"{folder} cannot be mounted")


def import_packages() -> None:
    """Import what all checks need, except the package itself."""
    sys.modules.update(dict.fromkeys(UNWANTED))  # type: ignore[arg-type]
    sys.modules[UNUSED] = types.ModuleType(UNUSED)
    import hypothesis
    import numpy.testing
    import pytest
    import scipy.linalg
    import scipy.sparse
    import sklearn.base  # noqa: F401

    profile = hypothesis.settings.register_profile
    profile("emulated", deadline=None, max_examples=2, derandomize=True, database=None)
    hypothesis.settings.load_profile("emulated")
    report("start", packages=[package.__name__ for package in (numpy, scipy, pytest)])


def note_files(target: Path) -> None:
    """Add the files that this process has read to a list."""
    paths = {*OPENED}
    paths |= {str(getattr(module, "__file__", None)) for module in [*sys.modules.values()]}
    paths |= {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    left_out = ("/proc/", "/dev/", "/sys/", "/tmp/")
    paths = {path for path in paths if path.startswith("/") and not path.endswith(".pyc")}
    found = (path for path in paths if not path.startswith(left_out))
    with target.open("a") as stream:
        stream.writelines(f"{path}\n" for path in sorted(found) if os.path.isfile(path))


def note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    """Remember a file that is opened."""
    if event == "open" and isinstance(arguments[0], str):
        OPENED.add(os.path.abspath(arguments[0]))


def run_apart(
    check: Callable[..., None], module: str, *values: Any, noted: Path | None, may_die: bool = False
) -> int:
    """Run a check in a process of its own with one build of the native module.

    Returns the signal that ended the process, or 0. A process that ends badly is a finding of its
    own, unless it may die.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if status and not may_die:
            report("process", name=check.__name__, status=status)
        return os.WTERMSIG(status)
    code = 1
    try:
        os.environ["PROJECTED_KMEANS_NATIVE_BUILD"] = module
        importlib.import_module("sitecustomize")  # it makes Python load that build

        start = time.monotonic()
        check(*values)
        print(f"{check.__name__}: {time.monotonic() - start:.1f} s", flush=True)
        if noted:
            note_files(noted)
        code = 0
    except BaseException as error:
        print(f"{check.__name__} ended by {error!r}", flush=True)
    finally:
        os._exit(code)


def check_tests(name: str, tests: list[str]) -> None:
    """Run tests of kernels against their twins, and tell how many passed and failed."""
    import pytest

    from projected_kmeans import _native

    class Counter:
        counts: dict[str, int] = {"passed": 0, "failed": 0}  # noqa: RUF012
        first = ""

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.when == "call" and report.outcome in self.counts:
                self.counts[report.outcome] += 1
            if report.failed and not self.first:
                self.first = str(report.longreprtext)[-2000:]

    counter = Counter()
    code = int(pytest.main([*PYTEST, *tests], plugins=[counter]))
    chosen = _native.instruction_set()
    report(name, code=code, instruction_set=chosen, error=counter.first, **counter.counts)


def check_bits(ours: str, theirs: str) -> None:
    """Run all kernels; compare the results with those of another machine where there are any."""
    import machine_results
    import numpy as np
    from tests.native.bindings import kernel_results

    np.savez(theirs, **kernel_results.compute_all())
    other = ours if os.path.exists(ours) else theirs
    found = machine_results.compare(Path(other), Path(theirs))
    report("bits", sentence=found.sentence, failures=found.failures)


def check_wide(program: str) -> None:
    """Compare the sign product with plain loops, where the processor has AVX-512."""
    from projected_kmeans import _native

    if _native.instruction_set() != "avx512":
        return
    words = [program, "quick"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    sentence = (done.stdout + done.stderr).strip().rpartition("\n")[2]
    report("wide", code=done.returncode, sentence=sentence)


def main() -> None:
    """Run all checks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--module", required=True, help="the build of the native module")
    build_and_test = {"required": True, "nargs": 2, "metavar": ("BUILD", "TEST")}
    parser.add_argument("--planted", help="with a deliberate error", **build_and_test)
    parser.add_argument("--overrun", help="with an overrun buffer", **build_and_test)
    parser.add_argument("--tests", nargs="+", required=True)
    parser.add_argument("--wide", required=True, help="the program of wide_vectors.py")
    parser.add_argument("--ours", required=True, help="results of the other machine")
    parser.add_argument("--theirs", required=True, help="where the results of this one go")
    parser.add_argument("--note", type=Path, help="write the paths of all files to this file")
    options = parser.parse_args()
    if options.note:
        options.note.unlink(missing_ok=True)
        sys.addaudithook(note_opened)
    if os.getpid() == 1:
        mount_folders()
    os.chdir(ROOT)
    report("processor", vnni="avx512_vnni" in Path("/proc/cpuinfo").read_text())
    import_packages()
    (planted, planted_test), sound = options.planted, options.module
    run_apart(check_tests, planted, "planted", [planted_test], noted=options.note)
    overrun, overrun_test = options.overrun
    ended_by = run_apart(
        check_tests, overrun, "lost", [overrun_test], noted=options.note, may_die=True
    )
    report("overrun", signal=ended_by)
    run_apart(check_tests, sound, "tests", options.tests, noted=options.note)
    run_apart(check_wide, sound, options.wide, noted=options.note)
    run_apart(check_bits, sound, options.ours, options.theirs, noted=options.note)
    print(FINISHED, flush=True)
    while os.getpid() == 1:  # Linux panics if its first process ends
        time.sleep(60)


if __name__ == "__main__":
    main()

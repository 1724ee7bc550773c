"""Run the tests of the native module under sanitizers; fail if one of them finds anything.

AddressSanitizer and UndefinedBehaviorSanitizer run the tests once for each instruction set of this
machine. LeakSanitizer looks at one call of every kernel. ThreadSanitizer runs the tests on several
threads; clang's OpenMP and its library Archer tell it what barriers and locks order.

The module is built by clang in ``build/sanitize-*``, so that the build in .venv stays as it is.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from recording import store_campaign
from sanitizer_builds import ROOT, Toolchain, build_module, find_toolchain

KERNEL_TESTS = ("tests/native", "tests/passes", "tests/projections")
TESTS = (*KERNEL_TESTS, "tests/solvers", "tests/test_threads.py")
INSTRUCTION_SETS = ("portable", "avx2", "avx512")
SANITIZED = Path(__file__).parent / "sanitized"

# What a report of a sanitizer begins with.
FINDING = re.compile(r"ERROR: AddressSanitizer|runtime error:|WARNING: ThreadSanitizer|ERROR: Leak")


@dataclass(frozen=True)
class Sanitizer:
    """One build of the module with sanitizers, and what its processes need."""

    name: str
    module: Path
    environment: dict[str, str]

    def run(self, label: str, command: list[str], extra: dict[str, str]) -> list[str]:
        """Run a Python command; return what failed, the reports of sanitizers included."""
        reports = self.module.parent / "reports" / label
        shutil.rmtree(reports, ignore_errors=True)
        reports.mkdir(parents=True)
        environment = {**os.environ, **self.environment, **extra}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
            options = [environment.get(name, ""), f"log_path={reports / 'report'}"]
            environment[name] = ":".join(filter(None, options))
        done = subprocess.run(
            [*without_aslr(), sys.executable, *command], env=environment, cwd=ROOT
        )
        texts = [path.read_text(errors="replace") for path in sorted(reports.iterdir())]
        found = [line for text in texts for line in text.splitlines() if FINDING.search(line)]
        for text in texts:
            print(text, file=sys.stderr)
        if done.returncode and not found:
            found.append(f"{label}: {' '.join(command[:3])} ended with {done.returncode}")
        return found


def without_aslr() -> list[str]:
    """Return a prefix of commands: memory at fixed places, as ThreadSanitizer expects it."""
    prefix = ["setarch", os.uname().machine, "--addr-no-randomize"]
    works = shutil.which("setarch") and subprocess.run([*prefix, "true"]).returncode == 0
    return prefix if works else []


def prepare(name: str, sanitizers: str, runtime: Path, toolchain: Toolchain) -> Sanitizer:
    """Build the module with sanitizers; return it with the environment that loads it."""
    module = build_module(toolchain, sanitizers, ROOT / "build" / f"sanitize-{name}")
    environment = {
        "LD_PRELOAD": str(runtime),
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "1",
        "PROJECTED_KMEANS_NATIVE_BUILD": str(module),
        "PYTHONMALLOC": "malloc",  # so that each object has memory of its own
        "PYTHONPATH": str(SANITIZED),
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    return Sanitizer(name, module, environment)


def run_tests(
    sanitizer: Sanitizer, label: str, tests: tuple[str, ...], extra: dict[str, str]
) -> dict[str, Any]:
    """Run tests under a sanitizer; return how many ran, and what failed."""
    results = sanitizer.module.parent / f"{label}.xml"
    results.unlink(missing_ok=True)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", f"--junitxml={results}"]
    start = time.monotonic()
    failures = sanitizer.run(label, ["-m", "pytest", *options, *tests], extra)
    counts = {"tests": 0, "skipped": 0}
    if results.exists():
        for suite in ElementTree.parse(results).iter("testsuite"):
            counts["tests"] += int(suite.get("tests", 0)) - int(suite.get("skipped", 0))
            counts["skipped"] += int(suite.get("skipped", 0))
    seconds = round(time.monotonic() - start)
    return {"run": label, **counts, "seconds": seconds, "failures": failures}


def supported_sets(sanitizer: Sanitizer) -> list[str]:
    """Return the instruction sets that the module is built for and that this machine runs.

    This is also the check that the sanitized module is the one that processes load.
    """
    program = (
        "import os; from projected_kmeans import _native;"
        "assert _native.__file__ == os.environ['PROJECTED_KMEANS_NATIVE_BUILD'], _native.__file__;"
        "print(_native.instruction_set())"
    )
    environment = {**os.environ, **sanitizer.environment, "ASAN_OPTIONS": "detect_leaks=0"}
    command = [*without_aslr(), sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the module built with sanitizers does not load: {done.stderr}")
    return list(INSTRUCTION_SETS[: INSTRUCTION_SETS.index(done.stdout.strip()) + 1])


def check_addresses(toolchain: Toolchain, tests: tuple[str, ...]) -> list[dict[str, Any]]:
    """Run tests under AddressSanitizer and UndefinedBehaviorSanitizer, and look for leaks."""
    runtime = toolchain.runtime("asan")
    sanitizer = prepare("address", "address,undefined", runtime, toolchain)
    quiet = {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
    found = []
    for name in supported_sets(sanitizer):
        extra = {**quiet, "PROJECTED_KMEANS_INSTRUCTION_SET": name}
        found.append(run_tests(sanitizer, f"address-{name}", tests, extra))
    return found


def check_threads(toolchain: Toolchain, tests: tuple[str, ...]) -> list[dict[str, Any]]:
    """Run tests under ThreadSanitizer with Archer."""
    sanitizer = prepare("thread", "thread", toolchain.runtime("tsan"), toolchain)
    supported_sets(sanitizer)
    extra = {
        "OMP_TOOL_LIBRARIES": str(toolchain.archer),
        # CPython, NumPy and BLAS are not compiled with the sanitizer, so it cannot see their locks.
        "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:exitcode=0",
    }
    return [run_tests(sanitizer, "thread", tests, extra)]


def parse_arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", choices=("address", "thread"), help="run one kind of check")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="tests or folders of tests")
    parser.add_argument("--results", type=Path, help="folder of the results; campaigns/results")
    return parser.parse_args()


def main() -> None:
    """Build, run and store; exit with 1 if anything was found."""
    arguments = parse_arguments()
    toolchain = find_toolchain()
    checks = {"address": check_addresses, "thread": check_threads}
    chosen = [arguments.only] if arguments.only else list(checks)
    runs = [run for name in chosen for run in checks[name](toolchain, tuple(arguments.tests))]
    failures = [failure for run in runs for failure in run["failures"]]
    counts = {"compiler": f"clang {toolchain.major}", "runs": runs, "failures": failures}
    store_campaign("sanitize", "make sanitize", counts, arguments.results)
    for run in runs:
        print(f"{run['run']}: {run['tests']} tests, {len(run['failures'])} findings")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

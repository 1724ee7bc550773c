"""Run the tests of the native module under sanitizers; fail if one of them finds anything.

AddressSanitizer and UndefinedBehaviorSanitizer run the tests once for each instruction set of this
machine, and once for "wide": vectors of 64 bytes, as AVX-512 has them, that the compiler makes from
two of AVX2. Tests of threads and processes run with the best one only. LeakSanitizer looks at calls
of every kernel, with right and with wrong arguments (`kernel_calls`). ThreadSanitizer runs the
tests with the best instruction set on two threads; clang's OpenMP and its library Archer tell it
what barriers and locks order. valgrind's memcheck looks at calls of every kernel with AVX2 for
decisions by values that nobody wrote. `LEFT_OUT` names the tests that no sanitizer runs.

Every sanitizer must first report known defects, and must not report sound code (`planted_defects`).
If it misses one, its tests do not run, and that is a failure.

The module is built by clang in ``build/sanitize-*``, so that the build in .venv stays as it is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from planted_defects import (
    OF_ADDRESSES,
    OF_LEAKS,
    OF_THREADS,
    OF_VALUES,
    SOUND,
    find_planted,
    judge_leaks,
    library_of,
)
from recording import store_campaign
from sanitizer_builds import (
    ROOT,
    Toolchain,
    build_early_start,
    build_module,
    find_toolchain,
    find_valgrind,
)
from sanitizer_runs import FRAME, Run, Sanitizer, list_leaks, list_unwritten

from projected_kmeans import _native

TESTS = (
    "tests/native",
    "tests/passes",
    "tests/projections",
    "tests/search",
    "tests/certificates",
    "tests/test_blas_threads.py",
    "tests/test_threads.py",
)
INSTRUCTION_SETS = ("portable", "avx2", "avx512", "wide")
PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-n2", "--dist=worksteal")
# Python's own allocator would hide where one object ends and the next begins.
EACH_OBJECT_ALONE = {"PYTHONMALLOC": "malloc"}
CALLS = Path(__file__).parent / "kernel_calls.py"
# Leaks are looked for by LeakSanitizer. With XML, memcheck cannot be told not to count them.
MEMCHECK = (
    "--show-leak-kinds=none",
    "--error-limit=no",
    "--xml=yes",
    "--xml-file=%q{REPORTS}/%p.xml",
)

# Tests that no sanitizer runs: statistics over many draws, and fits that are killed or whose
# checkpoints are forged. They take a fifth of the time of all tests, and other tests of
# tests/search call the same kernels. The first file tests a check that builds with AddressSanitizer
# do not have.
LEFT_OUT = (
    "tests/native/bindings/test_buffer_checks.py",
    "tests/search/test_forged_checkpoints.py",
    "tests/search/test_killed_fits.py",
    "tests/search/test_kmeans_plus_plus.py::test_a_sample_judges_nearly_as_well",
    "tests/search/test_kmeans_plus_plus.py::test_every_draw_follows_the_centers_of_its_moment",
    "tests/search/test_kmeans_plus_plus.py::test_greedy_is_as_good_as_scikit_learns",
    "tests/search/test_seeding.py::test_chains_are_as_good_as_single_draws",
    "tests/search/test_seeding.py::test_chains_end_where_k_means_plus_plus_draws",
    "tests/search/test_seeding.py::test_oversampling_is_as_good_as_greedy",
    "tests/search/test_seeding.py::test_the_first_row_is_drawn_by_weight",
    "tests/search/test_seeding.py::test_the_second_row_is_the_better_of_two_drawn_by_distance",
)
# Tests of threads and of processes that choose an instruction set themselves. They run only with
# the best instruction set of the machine.
ONLY_ONCE = (
    "tests/native/bindings/test_instruction_sets.py",
    "tests/native/bindings/test_threads.py",
    "tests/test_blas_threads.py",
    "tests/test_threads.py",
)


def run_tests(
    sanitizer: Sanitizer, label: str, tests: Sequence[str], extra: Mapping[str, str], planted: Run
) -> Run:
    """Run tests in two processes; return how many ran and what failed.

    Nothing runs if a planted defect was missed, because the result could not be believed.
    """
    counts = {"tests": 0, "skipped": 0}
    failures = list(planted["failures"])
    start = time.monotonic()
    if not failures:
        results = sanitizer.module.parent / f"{label}.xml"
        results.unlink(missing_ok=True)
        command = ["-m", "pytest", *PYTEST, f"--junitxml={results}", *tests]
        code, report = sanitizer.run(label, command, extra)
        failures = sanitizer.list_findings(report)
        if code and not failures:
            failures.append(f"{label}: pytest ended with {code}")
        if failures:
            print(report, file=sys.stderr)
        counts = count_tests(results)
    seconds = round(time.monotonic() - start)
    found = planted["found"]
    return {"run": label, **counts, "seconds": seconds, "planted": found, "failures": failures}


def count_tests(results: Path) -> dict[str, int]:
    """Return how many tests of a file that pytest wrote ran, and how many were skipped."""
    counts = {"tests": 0, "skipped": 0}
    if results.exists():
        for suite in ElementTree.parse(results).iter("testsuite"):
            counts["tests"] += int(suite.get("tests", 0)) - int(suite.get("skipped", 0))
            counts["skipped"] += int(suite.get("skipped", 0))
    return counts


def best_set(sanitizer: Sanitizer) -> str:
    """Return the instruction set that the module chooses on this machine.

    This is also the check that the sanitized module is the one that processes load.
    """
    program = (
        "import os; from projected_kmeans import _native;"
        "assert _native.__file__ == os.environ['PROJECTED_KMEANS_NATIVE_BUILD'], _native.__file__;"
        "print(_native.instruction_set())"
    )
    environment = sanitizer.environment({"ASAN_OPTIONS": "detect_leaks=0"})
    command = sanitizer.command(["-c", program])
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the module built with sanitizers does not load: {done.stderr}")
    return done.stdout.strip()


def list_sets() -> list[str]:
    """Return the instruction sets that this machine runs. "wide" needs AVX2."""
    best = _native.instruction_set()
    wide = [] if best == "portable" else ["wide"]
    return [*INSTRUCTION_SETS[: INSTRUCTION_SETS.index(best) + 1], *wide]


def check_addresses(toolchain: Toolchain, tests: Sequence[str]) -> list[Run]:
    """Run tests under AddressSanitizer and UndefinedBehaviorSanitizer, and look for leaks."""
    sanitizers = "address,undefined,float-cast-overflow"
    folder = ROOT / "build" / "sanitize-address"
    module = build_module(toolchain, sanitizers, list_sets(), folder)
    options = {"UBSAN_OPTIONS": "print_stacktrace=1"}
    sanitizer = Sanitizer(module, toolchain.symbolizer, (toolchain.runtime("asan"),), options)
    runs = []
    best = best_set(sanitizer)
    for name in list_sets():
        extra = {
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "PROJECTED_KMEANS_INSTRUCTION_SET": name,
        }
        left_out = LEFT_OUT if name == best else (*LEFT_OUT, *ONLY_ONCE)
        if name == best:  # once, because all instruction sets share what knows Python
            extra |= EACH_OBJECT_ALONE
        planted = find_planted(sanitizer, name, OF_ADDRESSES, "sound_memory", extra)
        chosen = [*tests, *deselect(left_out)]
        runs.append(run_tests(sanitizer, f"address-{name}", chosen, extra, planted))
    return [*runs, check_leaks(sanitizer, best)]


def check_leaks(sanitizer: Sanitizer, instruction_set: str) -> Run:
    """Call all kernels in one process, and look for memory that it lost."""
    extra = {
        # Stacks are followed through Python, which the quick way cannot do.
        "ASAN_OPTIONS": "detect_leaks=1:fast_unwind_on_malloc=0:malloc_context_size=12"
        f":allocator_may_return_null=1:stack_trace_format={FRAME}",
        # With clang 14, looking for addresses in thread-local variables ends LeakSanitizer.
        "LSAN_OPTIONS": "use_tls=0:exitcode=0",
        **EACH_OBJECT_ALONE,
    }
    label, library = f"leak-{instruction_set}", library_of(sanitizer, instruction_set)
    run, report = call_kernels(sanitizer, label, library, "5", "small", (*OF_LEAKS, *SOUND), extra)
    run["planted"], failures = judge_leaks(report, library.name)
    run["failures"] += [*failures, *list_leaks(report, sanitizer.module.name)]
    return run


def call_kernels(
    sanitizer: Sanitizer,
    label: str,
    library: Path,
    rounds: str,
    shapes: str,
    functions: Sequence[str],
    extra: Mapping[str, str],
) -> tuple[Run, str]:
    """Call all kernels in one process (`kernel_calls`); return what was found, and the report."""
    start = time.monotonic()
    counts = sanitizer.module.parent / f"{label}.json"
    counts.unlink(missing_ok=True)
    command = [str(CALLS), str(library), str(counts), rounds, shapes, *functions]
    code, report = sanitizer.run(label, command, extra)
    failures = sanitizer.list_findings(report)
    if code:
        failures.append(f"{label}: the calls ended with {code}")
    if failures:
        print(report[-100_000:], file=sys.stderr)
    done = json.loads(counts.read_text()) if counts.exists() else {"tests": 0}
    seconds = round(time.monotonic() - start)
    return {"run": label, **done, "seconds": seconds, "failures": failures}, report


def check_threads(toolchain: Toolchain, tests: Sequence[str]) -> list[Run]:
    """Run tests under ThreadSanitizer with Archer."""
    folder = ROOT / "build" / "sanitize-thread"
    # Not "wide", because threads divide the work in the same way whatever the vectors are.
    sets = [name for name in list_sets() if name != "wide"]
    module = build_module(toolchain, "thread", sets, folder)
    preloaded = (build_early_start(toolchain, folder), toolchain.runtime("tsan"))
    options = {
        "OMP_TOOL_LIBRARIES": str(toolchain.archer),
        # CPython, NumPy and BLAS are not compiled with the sanitizer, so it cannot see their locks.
        # Some tests fork, and the children start threads. Others ask for too much memory.
        "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:exitcode=0:die_after_fork=0"
        ":allocator_may_return_null=1",
    }
    sanitizer = Sanitizer(module, toolchain.symbolizer, preloaded, options)
    name = best_set(sanitizer)
    planted = find_planted(sanitizer, name, OF_THREADS, "sound_threads", {})
    chosen = [*tests, *deselect(LEFT_OUT)]
    return [run_tests(sanitizer, f"thread-{name}", chosen, {}, planted)]


def check_values(toolchain: Toolchain, _: Sequence[str]) -> list[Run]:
    """Call all kernels under valgrind's memcheck, which finds uses of values that nobody wrote."""
    name = "avx2"  # valgrind does not know AVX-512
    module = build_module(toolchain, "valgrind", [name], ROOT / "build" / "sanitize-values")
    options = {
        "PROJECTED_KMEANS_INSTRUCTION_SET": name,
        "PROJECTED_KMEANS_FILL_BUFFERS": "",  # what is filled counts as written
        **EACH_OBJECT_ALONE,
    }
    checker = (find_valgrind(), *MEMCHECK)
    sanitizer = Sanitizer(module, toolchain.symbolizer, (), options, checker, list_unwritten)
    planted = find_planted(sanitizer, name, OF_VALUES, "sound_memory", {})
    run, _ = call_kernels(
        sanitizer, f"values-{name}", library_of(sanitizer, name), "1", "narrow", (), {}
    )
    run["planted"] = planted["found"]
    run["failures"] += planted["failures"]
    return [run]


def deselect(names: Sequence[str]) -> list[str]:
    """Return options by which pytest leaves out tests."""
    return [f"--deselect={name}" for name in names]


def describe_sets(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Return which instruction sets ran, and which this machine does not run."""
    ran = [name for name in INSTRUCTION_SETS if any(name in run["run"] for run in runs)]
    return {"ran": ran, "not_run": [name for name in INSTRUCTION_SETS if name not in ran]}


def parse_arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    kinds = ("address", "thread", "values")
    parser.add_argument("--only", choices=kinds, help="run one kind of check")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="tests or folders of tests")
    parser.add_argument("--results", type=Path, help="folder of the results; campaigns/results")
    return parser.parse_args()


def main() -> None:
    """Build, run and store; exit with 1 if anything was found."""
    arguments = parse_arguments()
    toolchain = find_toolchain()
    checks = {"address": check_addresses, "thread": check_threads, "values": check_values}
    chosen = [arguments.only] if arguments.only else list(checks)
    runs = [run for name in chosen for run in checks[name](toolchain, tuple(arguments.tests))]
    failures = [failure for run in runs for failure in run["failures"]]
    counts = {
        "compiler": f"clang {toolchain.major}",
        "instruction_sets": describe_sets(runs),
        "tests": arguments.tests,
        "left_out": LEFT_OUT,
        "runs": runs,
        "failures": failures,
    }
    store_campaign("sanitize", "make sanitize", counts, arguments.results)
    for run in runs:
        print(f"{run['run']}: {run['tests']} tests, {len(run['failures'])} findings")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

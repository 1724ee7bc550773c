"""What `make sanitize` makes of the reports of sanitizers; the sanitizers run only there."""

from __future__ import annotations

from pathlib import Path

import pytest
import sanitize
from sanitizer_runs import list_findings, list_leaks

ROOT = Path(__file__).parents[2]
MODULE = "_native.cpython-311-x86_64-linux-gnu.so"

LOST = "Direct leak of 154 byte(s) in 2 object(s) allocated from:\n    #0 malloc (libasan.so)"
OF_PYTHON = "Direct leak of 8 byte(s) in 1 object(s) allocated from:\n    #0 PyList_New (python)"
OWN = f"{OF_PYTHON}\n    #1 bind_maps bind_maps.cpp:9 (/build/{MODULE})\n    #2 eval (python)"
OF_OPENMP = f"{OWN}\n    #3 omp_get_num_procs (libomp.so.5)"


@pytest.mark.parametrize(
    "line",
    [
        "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1",
        "src/native/maps/map.hpp:9:3: runtime error: signed integer overflow: 1 + 2",
        "WARNING: ThreadSanitizer: data race (pid=7)",
        "FATAL: ThreadSanitizer: unexpected memory mapping 0x1-0x2",
        "nanobind: leaked 1 instances!",
    ],
)
def test_reports_are_findings(line: str) -> None:
    """Each kind of report is found among other lines, and other lines are no finding."""
    other = "==7==WARNING: AddressSanitizer failed to allocate 0x800000000040 bytes"
    assert list_findings(f"{other}\n  {line}\n    #0 0x1 in start") == [line]
    assert list_findings(other) == []


def test_leaks_of_the_module_are_found() -> None:
    """A leak counts if the module is in its stack; Python's and the OpenMP runtime's do not."""
    report = "\n\n".join([LOST, OF_PYTHON, OF_OPENMP])
    assert list_leaks(report, MODULE, 77) == []
    (leak,) = list_leaks(f"{report}\n\n{OWN}", MODULE, 77)
    assert leak.startswith("Direct leak of 8 byte(s)")
    assert "bind_maps.cpp:9" in leak


def test_a_silent_leak_sanitizer_is_a_failure() -> None:
    """Without the memory that was lost on purpose, an empty list of leaks is not believed."""
    for report in ("", OF_PYTHON, OWN):
        assert list_leaks(report, MODULE, 77) == [
            "LeakSanitizer did not report memory that was lost on purpose"
        ]


def test_the_tests_that_are_named_exist() -> None:
    """Every test or folder that is run or left out is there."""
    for name in (*sanitize.TESTS, *sanitize.LEAK_TESTS, *sanitize.NOT_UNDER_THREADS):
        path, _, function = name.partition("::")
        assert (ROOT / path).exists(), name
        function = function.partition("[")[0]
        assert not function or f"def {function}(" in (ROOT / path).read_text(), name

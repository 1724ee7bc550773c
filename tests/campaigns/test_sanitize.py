"""What `make sanitize` makes of the reports of sanitizers; the sanitizers run only there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import kernel_calls
import planted_defects
import pytest
import sanitize
from planted_defects import (
    OF_ADDRESSES,
    OF_LEAKS,
    OF_THREADS,
    OF_VALUES,
    SOUND,
    find_planted,
    judge_leaks,
)
from sanitizer_runs import Sanitizer, list_findings, list_leaks, list_unwritten

ROOT = Path(__file__).parents[2]
STORED = ROOT / "campaigns" / "results" / "sanitize.json"
MODULE = "_native.cpython-311-x86_64-linux-gnu.so"

OF_PYTHON = "Direct leak of 8 byte(s) in 1 object(s) allocated from:\n    #0 PyList_New (python)"
OWN = (
    f"{OF_PYTHON}\n    #1 bind_maps {ROOT}/bind_maps.cpp:9 ({ROOT}/{MODULE})\n    #2 eval (python)"
)
OF_OPENMP = f"{OF_PYTHON}\n    #1 omp_get_num_procs (libomp.so.5)\n    #2 bind ({MODULE})"
OF_THREAD = f"{OWN}\n    #3 __kmp_invoke_microtask (libomp.so.5)"


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
    """A leak counts if the module allocated, or Python for it, but not if OpenMP's runtime did."""
    others = f"Suppressions used\n\n{OF_PYTHON}\n\n{OF_OPENMP}"
    assert list_leaks(others, MODULE) == []
    for own in (OWN, OF_THREAD):
        (leak,) = list_leaks(f"{others}\n\n{own}", MODULE)
        assert leak.startswith("Direct leak of 8 byte(s)")
        assert "bind_maps.cpp:9" in leak
        assert str(ROOT) not in leak


def test_unwritten_values_of_the_module_are_found() -> None:
    """A report of memcheck counts if the module used the value, but not if OpenMP or Python did."""

    def report(*objects: str) -> str:
        frames = "".join(
            f"<frame><obj>/lib/{name}</obj><fn>f</fn><file>a.cpp</file><line>7</line></frame>"
            for name in objects
        )
        return f"<error><what>Use of x</what><stack>{frames}</stack></error>\n"

    others = report("python3.11", "numpy.so") + report("libc.so", "libomp.so.5", MODULE)
    assert list_unwritten(others) == []
    for own in (report(MODULE, "libomp.so.5"), report("libc.so", MODULE, "python3.11")):
        assert list_unwritten(others + own) == ["memcheck: Use of x in f a.cpp:7"]


def test_planted_leaks_must_be_reported() -> None:
    """Every planted leak is asked for by name, and a leak of sound code is a failure."""
    frames = {name: OWN.replace("bind_maps ", f"{place} ") for name, place in OF_LEAKS.items()}
    found, failures = judge_leaks("\n\n".join(frames.values()), MODULE)
    assert set(found) == set(OF_LEAKS)
    assert failures == []
    for missed in OF_LEAKS:
        report = "\n\n".join(text for name, text in frames.items() if name != missed)
        assert judge_leaks(report, MODULE)[1] == [f"{missed} was planted and not reported"]
    sound = OWN.replace("bind_maps ", f"{SOUND[0]} ")
    assert len(judge_leaks("\n\n".join([*frames.values(), sound]), MODULE)[1]) == 1


class Reports:
    """Stands for a sanitizer: gives the reports that it was made with."""

    module = Path("folder") / MODULE
    list_findings = staticmethod(list_findings)

    def __init__(self, reports: Mapping[str, str]) -> None:
        self.reports = reports

    def run(self, label: str, arguments: Sequence[str], extra: object) -> tuple[int, str]:
        """Return the report of the function that is called."""
        return 0, self.reports.get(arguments[-1], "")


def test_planted_defects_must_be_reported() -> None:
    """A defect counts as found by its own words and file; sound code must cause no report."""
    lines = {"race_on_sum": f"WARNING: {OF_THREADS['race_on_sum']}\n #0 planted_defects.cpp:9"}

    def judge(reports: Mapping[str, str]) -> list[str]:
        sanitizer = cast("Sanitizer", Reports(reports))
        expected = {name: OF_THREADS[name] for name in lines}
        return list(find_planted(sanitizer, "avx2", expected, "sound_threads", {})["failures"])

    assert judge(lines) == []
    missed = ["race_on_sum was planted and not reported"]
    assert judge({}) == missed
    assert judge({"race_on_sum": "WARNING: ThreadSanitizer: data race\n #0 other.cpp:9"}) == missed
    assert judge({"race_on_sum": "runtime error: x\n #0 planted_defects.cpp:9"}) == missed
    assert len(judge({**lines, "sound_threads": "WARNING: ThreadSanitizer: data race"})) == 1


def test_planted_functions_exist() -> None:
    """The functions that are called are those of planted_defects.cpp."""
    source = Path(planted_defects.__file__).with_suffix(".cpp").read_text()
    defined = set(re.findall(r"PK_PLANTED .*void (\w+)\(", source))
    named = {*OF_ADDRESSES, *OF_VALUES, *OF_THREADS, *OF_LEAKS, *OF_LEAKS.values(), *SOUND}
    assert defined == named


def test_kernels_are_called_with_right_and_wrong_arguments() -> None:
    """The program of LeakSanitizer calls every kernel, and as many wrong ones as pytest does."""
    small = kernel_calls.call_with_right_arguments()
    assert small > len(kernel_calls.test_twins.KERNELS)
    assert kernel_calls.SHAPES.keys() == {"small", "narrow"}
    refusals = kernel_calls.test_arguments.test_a_wrong_size_is_refused
    assert len(list(kernel_calls.list_parameters(refusals))) > 50
    assert kernel_calls.call_with_wrong_arguments() > 150


def test_the_stored_result_is_of_a_whole_run() -> None:
    """All sanitizers ran, found what was planted and nothing else; no path of a machine is kept."""
    text = STORED.read_text()
    assert not re.search(r"[\" (]/\w", text)
    stored: dict[str, Any] = json.loads(text)
    assert stored["failures"] == []
    # The stored run is of the time when the tests of the search lay in tests/solvers.
    tests = [name.replace("tests/solvers", "tests/search") for name in stored["tests"]]
    assert tests == list(sanitize.TESTS)
    assert "wide" in stored["instruction_sets"]["ran"]
    planted = {run["run"].partition("-")[0]: set(run["planted"]) for run in stored["runs"]}
    assert planted == {
        "address": set(OF_ADDRESSES),
        "leak": set(OF_LEAKS),
        "thread": set(OF_THREADS),
        "values": set(OF_VALUES),
    }
    assert all(run["tests"] > 200 for run in stored["runs"])


def test_the_tests_that_are_named_exist() -> None:
    """Every test or folder that is run or left out is there."""
    for name in (*sanitize.TESTS, *sanitize.LEFT_OUT, *sanitize.ONLY_ONCE):
        path, _, function = name.partition("::")
        assert (ROOT / path).exists(), name
        function = function.partition("[")[0]
        assert not function or f"def {function}(" in (ROOT / path).read_text(), name

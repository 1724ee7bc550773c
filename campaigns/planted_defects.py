"""The defects of planted_defects.cpp, and whether a sanitizer reports them.

A sanitizer that is silent may be switched off by a wrong option, a missing library or a build that
lacks it. So every run of `make sanitize` first calls functions with known defects, which were
compiled with the same flags as the kernels. A defect that is not reported is a failure, and so is
a report about a function that has no defect.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from sanitizer_runs import Run, Sanitizer, list_leaks

# Functions with a defect, and what the report of each must say.
OF_ADDRESSES = {
    "read_past_array": "AddressSanitizer: heap-buffer-overflow",
    "write_past_array": "AddressSanitizer: heap-buffer-overflow",
    "read_past_scratch": "AddressSanitizer: use-after-poison",
    "write_past_scratch": "AddressSanitizer: use-after-poison",
    "read_freed_array": "AddressSanitizer: heap-use-after-free",
    "overflow_integer": "runtime error: signed integer overflow",
    "convert_large_number": "is outside the range of representable values",
}
OF_VALUES = {"branch_on_unwritten_value": "depends on uninitialised value"}
OF_THREADS = {
    "race_on_sum": "ThreadSanitizer: data race",
    "race_without_barrier": "ThreadSanitizer: data race",
}
# Functions that lose memory, and the functions that reports name in their place: threads of OpenMP
# do not begin in the function that starts them.
OF_LEAKS = {
    "lose_memory": "lose_memory",
    "lose_python_object": "lose_python_object",
    "lose_memory_of_threads": "lose_memory_of_one",
}
# Functions without a defect.
SOUND = ("sound_memory", "sound_threads")

SOURCE = "planted_defects.cpp:"
CALL = "import ctypes, sys; getattr(ctypes.PyDLL(sys.argv[1]), sys.argv[2])()"


def find_planted(
    sanitizer: Sanitizer,
    instruction_set: str,
    expected: Mapping[str, str],
    sound: str,
    extra: Mapping[str, str],
) -> Run:
    """Call functions with and without a defect, each in its own process; compare the reports.

    Parameters
    ----------
    sanitizer : Sanitizer
        The build whose folder holds the planted defects.
    instruction_set : str
        The instruction set that they are compiled for.
    expected : mapping
        The functions with a defect, and what their reports say.
    sound : str
        The function without a defect.
    extra : mapping
        Variables of the environment that the tests get, too.
    """
    start = time.monotonic()
    library = library_of(sanitizer, instruction_set)
    found, failures = {}, []
    for function in (*expected, sound):
        label = f"planted-{instruction_set}-{function}"
        command = ["-c", CALL, str(library), function]
        code, report = sanitizer.run(label, command, extra)
        words = expected.get(function)
        lines = sanitizer.list_findings(report)
        if words is None:
            failures += [f"{function}, which has no defect: {line}" for line in lines]
            if code and not lines:
                failures.append(f"{function}, which has no defect, ended with {code}")
        elif any(words in line for line in lines) and SOURCE in "\n".join([report, *lines]):
            found[function] = words
        else:
            failures.append(f"{function} was planted and not reported")
    seconds = round(time.monotonic() - start)
    return {"found": found, "sound": sound, "seconds": seconds, "failures": failures}


def library_of(sanitizer: Sanitizer, instruction_set: str) -> Path:
    """Return the library of planted defects that was built beside a module."""
    return sanitizer.module.parent / f"libplanted_{instruction_set}.so"


def judge_leaks(report: str, library: str) -> tuple[dict[str, str], list[str]]:
    """Return the planted leaks that a report names, and what is wrong about the others.

    Parameters
    ----------
    report : str
        What LeakSanitizer wrote about a process that called all of `OF_LEAKS` and `SOUND`.
    library : str
        The name of the file of planted defects.
    """
    leaks = list_leaks(report, library)
    named = {
        name for name in (*OF_LEAKS.values(), *SOUND) if any(f" {name} " in leak for leak in leaks)
    }
    found = {name: "LeakSanitizer: leak" for name, place in OF_LEAKS.items() if place in named}
    failures = [f"{name} was planted and not reported" for name in OF_LEAKS if name not in found]
    failures += [f"{name}, which has no defect: a leak" for name in SOUND if name in named]
    return found, failures

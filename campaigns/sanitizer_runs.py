"""Processes that run under a sanitizer, and what its reports say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from sanitizer_builds import ROOT

SANITIZED = Path(__file__).parent / "sanitized"

Run = dict[str, Any]  # what one run did and found, as it is stored

# What a report of a sanitizer begins with. Leaks are looked at by `list_leaks`.
FINDING = re.compile(
    r"(ERROR|FATAL): (Address|Thread)Sanitizer|WARNING: ThreadSanitizer: |runtime error: |"
    r"nanobind: leaked"
)
LEAK = re.compile(r"leak of \d+ byte\(s\)")

# What memcheck writes about one error, and the libraries whose errors are looked at.
MEMCHECK_ERROR = re.compile(r"<error>.*?</error>", re.DOTALL)
OWN = re.compile(r"/(_native\.|libplanted_|libomp)")

# A line of a stack: number, function, source, and the file that holds the code.
FRAME = "'    #%n %f %L (%m)'"


def list_findings(report: str) -> list[str]:
    """Return the first line of everything that a sanitizer reported, without paths of machines."""
    lines = report.replace(f"{ROOT}/", "").splitlines()
    return [line.strip() for line in lines if FINDING.search(line)]


def list_unwritten(report: str) -> list[str]:
    """Return what valgrind's memcheck reported of the module or of the planted defects.

    Python, NumPy and the OpenMP runtime are left out: they are optimised in ways that memcheck does
    not follow. If both the module and the OpenMP runtime are on a stack, the inner one counts.
    """
    findings = []
    for text in MEMCHECK_ERROR.findall(report):
        error = ElementTree.fromstring(text)
        frames = error.findall("stack[1]/frame")
        frames = [frame for frame in frames if OWN.search(frame.findtext("obj", ""))]
        if frames and "libomp" not in frames[0].findtext("obj", ""):
            what = error.findtext("what") or error.findtext("xwhat/text") or "an error"
            place = ":".join(frames[0].findtext(part, "?") for part in ("file", "line"))
            findings.append(f"memcheck: {what} in {frames[0].findtext('fn', '?')} {place}")
    return findings


@dataclass(frozen=True)
class Sanitizer:
    """One build of the module with sanitizers, and what its processes need.

    `checker` is the command of a program that runs Python, such as valgrind's. It may write files
    to the folder that the environment variable REPORTS names.
    """

    module: Path
    symbolizer: Path
    preloaded: tuple[Path, ...]
    options: Mapping[str, str]
    checker: tuple[str, ...] = ()
    list_findings: Callable[[str], list[str]] = list_findings

    def command(self, arguments: Sequence[str]) -> list[str]:
        """Return the command that runs Python with the runtime of the sanitizer.

        `setarch` gets no such runtime, because it starts at random addresses itself.
        """
        preloaded = ":".join(map(str, self.preloaded))
        started = [*without_aslr(), "env", f"LD_PRELOAD={preloaded}"] if preloaded else []
        return [*started, *self.checker, sys.executable, *arguments]

    def environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of processes that load the module."""
        own = {
            "OMP_NUM_THREADS": "2",
            "OMP_WAIT_POLICY": "passive",
            "OPENBLAS_NUM_THREADS": "1",
            "PROJECTED_KMEANS_NATIVE_BUILD": str(self.module),
            "PYTHONPATH": str(SANITIZED),
        }
        return {**os.environ, **own, **self.options, **extra}

    def run(
        self, label: str, arguments: Sequence[str], extra: Mapping[str, str]
    ) -> tuple[int, str]:
        """Run Python; return its exit code and all reports of it and of its child processes."""
        reports = self.module.parent / "reports" / label
        shutil.rmtree(reports, ignore_errors=True)
        reports.mkdir(parents=True)
        environment = self.environment(extra) | {"REPORTS": str(reports)}
        shared = f"log_path={reports / 'report'}:external_symbolizer_path={self.write_symbolizer()}"
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
            environment[name] = ":".join(filter(None, [environment.get(name, ""), shared]))
        with open(reports / "stderr", "wb") as errors:
            done = subprocess.run(
                self.command(arguments), env=environment, cwd=ROOT, stderr=errors, check=False
            )
        texts = [path.read_text(errors="replace") for path in sorted(reports.iterdir())]
        return done.returncode, "\n\n".join(texts)

    def write_symbolizer(self) -> Path:
        """Write a program that finds functions and lines for reports; return it.

        It starts clang's own one without the runtime of the sanitizer, with which that never ends.
        """
        program = self.module.parent / "llvm-symbolizer"
        program.write_text(f'#!/bin/sh\nexec env -u LD_PRELOAD {self.symbolizer} "$@"\n')
        program.chmod(0o755)
        return program


def without_aslr() -> list[str]:
    """Return a prefix of commands: memory at fixed places, as ThreadSanitizer expects it."""
    prefix = ["setarch", os.uname().machine, "--addr-no-randomize"]
    works = shutil.which("setarch") and subprocess.run([*prefix, "true"]).returncode == 0
    return prefix if works else []


def list_leaks(report: str, library: str) -> list[str]:
    """Return the leaks of memory that a library allocated, or had Python allocate.

    Python, NumPy and the OpenMP runtime keep some memory to the end. They are left out here and not
    by suppressions, because a suppression looks at the whole stack: one for Python would hide all
    leaks, as every kernel is called by Python. One for OpenMP would hide leaks of its threads.

    Parameters
    ----------
    report : str
        What LeakSanitizer wrote, with stacks in the format `FRAME`.
    library : str
        The name of the library's file.
    """
    leaks = []
    for block in report.replace(f"{ROOT}/", "").split("\n\n"):
        head, *stack = block.strip().splitlines() or [""]
        frames = [line.strip() for line in stack if library in line or "libomp" in line]
        if LEAK.search(head) and frames and library in frames[0]:
            leaks.append(f"{head.strip()} {frames[0]}")
    return leaks

"""Run the AVX-512 kernels in an emulated PC, and compare them with the NumPy twins and with AVX2.

``make test-avx512`` does this on a Debian machine with an x86 processor:

1. Two modules with a deliberate error in the AVX-512 build of one kernel are linked: a wrong
   distance, and a buffer that is overrun by one value.
2. The checks (`avx512_checks`) run here. This gives the results of this machine's instruction set,
   and the list of files that the checks read.
3. A disk with Debian's kernel and these files is written to ``build/avx512`` (`boot_disk`).
4. Bochs starts it, once with a processor that has VNNI and once with one that has not. The tests of
   the wrong kernels have to fail, and the tests of all kernels against their twins to pass.
   The sign product has to equal plain loops bit by bit (`wide_vectors`). Then all kernels run: what
   has to have the same bits on every machine is compared bit by bit with the results of step 2,
   the rest up to rounding (`machine_results`).

Bochs runs some 30 million instructions per second. Where a tool cannot be installed, the campaign
says which and ends without an error.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import avx512_checks
import boot_disk
import emulated
import emulated_pc
import wide_vectors
from emulated import FILL, OVERRUN, ROOT, WRONG_DISTANCE
from emulated_pc import LINUX, MEMORY, PROCESSORS

HOME = ROOT / "build" / "avx512"
CHECKS = ROOT / "campaigns" / "avx512_checks.py"
CHECKED = ("processor", "planted", "overrun", "tests", "wide", "bits")
# Files of tests that would take many minutes. The sign product is compared by `wide_vectors`.
LONG = {"cluster_moments_sparse", "nearest_center_sparse", "sign_product", "signs"}
LONG |= {"sparse_signs_and_hadamard"}


def find_build() -> Path:
    """Return the folder in which the installed native module was built."""
    tag = "cp311-cp311" if sys.version_info < (3, 12) else "cp312-abi3"
    (ninja,) = ROOT.glob(f"build/{tag}-*/build.ninja")
    return ninja.parent


def short_tests() -> list[str]:
    """Return the files of tests that the PC runs unless it is told otherwise."""
    (files,) = emulated.share_tests(emulated.TESTS, 1)
    return [name for name in files if Path(name).stem.removeprefix("test_") not in LONG]


def settings_for_python() -> dict[str, str]:
    """Return the environment of the checks, the same on both machines."""
    places = (ROOT / "campaigns" / "sanitized", ROOT / "campaigns", ROOT / "src", ROOT)
    return {
        "PYTHONPATH": os.pathsep.join(map(str, (*places, sysconfig.get_path("purelib")))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "HYPOTHESIS_NO_PLUGINS": "1",
        "JOBLIB_MULTIPROCESSING": "0",
        **FILL,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "TERM": "linux",
    }


def words_for_checks(module: Path, planted: Path, overrun: Path, tests: Sequence[str]) -> list[str]:
    """Return the command of the checks, the same on both machines but for its last words."""
    python = Path(sys.executable).resolve()
    words = [python, "-S", CHECKS, "--module", module]
    words += ["--planted", planted, WRONG_DISTANCE.test, "--overrun", overrun, OVERRUN.test]
    words += ["--tests", *tests, "--ours", HOME / "ours.npz"]
    words += ["--wide", HOME / "wide_vectors"]
    return [str(word) for word in words]


def check_here(words: Sequence[str]) -> None:
    """Run the checks on this machine; leave its results and the list of files."""
    (HOME / "ours.npz").unlink(missing_ok=True)
    own = ["--theirs", str(HOME / "ours.npz"), "--note", str(HOME / "files.txt")]
    done = subprocess.run(
        [*words, *own], env=settings_for_python(), capture_output=True, text=True, check=False
    )
    findings = read_findings(done.stdout)
    if done.returncode or findings.get("tests", {}).get("code") != 0 or "bits" not in findings:
        sys.exit(f"the checks fail on this machine: {done.stdout}{done.stderr}")


def write_files(words: Sequence[str]) -> None:
    """Write the files of the PC: what the checks read here, and a first program."""
    python = Path(sys.executable).resolve()
    paths = {Path(line) for line in (HOME / "files.txt").read_text().split("\n") if line}
    # A module that ends its process here has noted nothing.
    paths |= {Path(word) for word in words if word.startswith("/")}
    paths |= {Path("/etc/ld.so.cache"), *find_interpreter(python)}
    for path in [*paths]:
        if ".so" in path.name:
            paths |= {*boot_disk.find_links(path)}
    command = [*words, "--theirs", "/tmp/theirs.npz"]
    call = f"os.execve({str(python)!r}, {command}, {settings_for_python()})"
    init = f"#!{python} -S\nimport os\n{call}\n"
    boot_disk.write_archive(HOME / "files.cpio", sorted(paths), {"init": init.encode()})


def find_interpreter(program: Path) -> list[Path]:
    """Return the dynamic loader that a program names."""
    words = ["readelf", "-l", str(program)]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return [Path(text.partition("interpreter: ")[2].partition("]")[0])]


def read_findings(text: str) -> dict[str, dict[str, Any]]:
    """Return what the checks printed, by the name of the check."""
    lines = (line.strip() for line in text.splitlines() if line.startswith("RESULT "))
    findings = (json.loads(line.removeprefix("RESULT ")) for line in lines)
    return {finding.pop("check"): finding for finding in findings}


def judge(findings: dict[str, dict[str, Any]], has_vnni: bool) -> list[str]:
    """Return what is wrong with the findings of one PC."""
    missing = [name for name in CHECKED if name not in findings]
    if missing:
        return [f"the PC told nothing of: {', '.join(missing)}"]
    planted, tests = findings["planted"], findings["tests"]
    failures = list(findings["bits"]["failures"])
    if findings["processor"]["vnni"] is not has_vnni:
        failures.append(f"VNNI is {'missing' if has_vnni else 'there'}")
    if tests["instruction_set"] != "avx512":
        failures.append(f"the instruction set {tests['instruction_set']} was chosen")
    if planted["code"] != 1 or "AssertionError" not in planted["error"]:
        failures.append(f"a deliberate error in {WRONG_DISTANCE.file} was not found")
    if findings["overrun"]["signal"] != signal.SIGABRT:
        failures.append(f"a deliberate overrun in {OVERRUN.file} was not found")
    if tests["code"] or tests["failed"] or not tests["passed"]:
        failures.append(f"{tests['failed']} tests fail: {tests['error']}")
    if findings["wide"]["code"]:
        failures.append(f"the sign product differs from plain loops: {findings['wide']}")
    if "process" in findings:
        failures.append(f"a check ended badly: {findings['process']}")
    return failures


def check_there(processor: str) -> list[str]:
    """Run the checks with one emulated processor; print the findings and return what is wrong."""
    start, has_vnni = time.monotonic(), PROCESSORS[processor]
    disk, rom = HOME / "disk.img", HOME / "boot_rom.bin"
    text = emulated_pc.emulate(processor, disk, rom, avx512_checks.FINISHED)
    findings = read_findings(text)
    if failures := judge(findings, has_vnni):
        return [f"on {processor}:", *failures, text[-3000:]]
    lines = [
        f"{processor}, {'with' if has_vnni else 'without'} VNNI: avx512 is chosen",
        f"deliberate errors in {WRONG_DISTANCE.file} and {OVERRUN.file} are found",
        f"{findings['tests']['passed']} tests passed",
        f"the sign product equals plain loops: {findings['wide']['sentence']}",
        findings["bits"]["sentence"],
        f"{time.monotonic() - start:.0f} s",
    ]
    print("\n  ".join(lines), flush=True)
    return []


def main() -> None:
    """Prepare, run the checks here, and run them in each PC."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", nargs="+", default=short_tests(), help="run these in the PC")
    parser.add_argument("--processors", nargs="+", default=[*PROCESSORS], choices=PROCESSORS)
    options = parser.parse_args()
    HOME.mkdir(parents=True, exist_ok=True)
    try:
        emulated_pc.need_tools()
        kernel = emulated_pc.unpack_kernel(HOME / "kernel")
    except (emulated.CannotRunError, subprocess.CalledProcessError) as error:
        print(f"the kernels are not tested with AVX-512: {error}")
        return
    build = find_build()
    (module,) = build.glob("_native*.so")
    planted, overrun = (
        emulated.build_planted(build, module.name, HOME / folder, "avx512", error)
        for folder, error in (("planted", WRONG_DISTANCE), ("overrun", OVERRUN))
    )
    wide_vectors.compile_program(HOME, wide_vectors.AS_SHIPPED, "g++", "-static")
    words = words_for_checks(module, planted, overrun, options.tests)
    check_here(words)
    write_files(words)
    boot_disk.assemble_rom(HOME)
    boot_disk.write_disk(HOME / "disk.img", kernel, HOME / "files.cpio", LINUX, MEMORY)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        failures = [*threads.map(check_there, options.processors)]
    if any(failures):
        sys.exit("\n".join(line for lines in failures for line in lines))


if __name__ == "__main__":
    main()

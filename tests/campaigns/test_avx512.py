"""The kernels with AVX-512 in an emulated PC: its disk, and how its findings are judged."""

from __future__ import annotations

import json
import os
import platform
import py_compile
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import avx512
import boot_disk
import emulated
import pytest

SOUND: dict[str, dict[str, Any]] = {
    "processor": {"vnni": True},
    "planted": {"code": 1, "error": "AssertionError: arrays differ"},
    "overrun": {"signal": 6},
    "tests": {"code": 0, "passed": 40, "failed": 0, "instruction_set": "avx512", "error": ""},
    "wide": {"code": 0, "sentence": "0 numbers differ in all"},
    "bits": {"sentence": "all have the same bits", "failures": []},
}


def test_findings_are_read_from_the_serial_port() -> None:
    """Lines of Linux stand between the findings, and a serial port ends lines in its own way."""
    lines = ["[ 0.1] Linux", *(f"RESULT {json.dumps({'check': k, **v})}" for k, v in SOUND.items())]
    assert avx512.read_findings("\r\n".join(lines)) == SOUND


def test_sound_findings_pass() -> None:
    """Nothing is wrong if the error is found, the tests pass and the bits are the same."""
    assert avx512.judge(SOUND, has_vnni=True) == []


@pytest.mark.parametrize(
    ("check", "changes", "failure"),
    [
        ("processor", {"vnni": False}, "VNNI is missing"),
        ("planted", {"code": 0}, "a deliberate error in"),
        ("planted", {"error": "ImportError"}, "a deliberate error in"),
        ("overrun", {"signal": 0}, "a deliberate overrun in"),
        ("tests", {"instruction_set": "avx2"}, "the instruction set avx2 was chosen"),
        ("tests", {"code": 1, "failed": 1, "error": "3 != 4"}, "1 tests fail: 3 != 4"),
        ("tests", {"passed": 0}, "0 tests fail"),
        ("wide", {"code": 1}, "the sign product differs"),
        ("bits", {"failures": ["labels differ"]}, "labels differ"),
        ("process", {"status": 11}, "a check ended badly"),
    ],
)
def test_other_findings_fail(check: str, changes: dict[str, Any], failure: str) -> None:
    """Another processor, a silent test, a failed test, other bits or a crash is a failure."""
    findings = {**SOUND, check: SOUND.get(check, {}) | changes}
    (found,) = avx512.judge(findings, has_vnni=True)
    assert found.startswith(failure)


def test_the_pc_runs_all_twins_and_leaves_out_what_exists() -> None:
    """Every file that is left out is a file of tests, and the twins are not left out."""
    (files,) = emulated.share_tests(emulated.TESTS, 1)
    short = avx512.short_tests()
    assert "tests/native/test_twins.py" in short
    assert len(files) - len(short) == len(avx512.LONG)


def test_a_silent_pc_fails() -> None:
    """A PC that does not start tells nothing, which is a failure."""
    assert avx512.judge({}, has_vnni=False) == [
        "the PC told nothing of: processor, planted, overrun, tests, wide, bits"
    ]


@pytest.mark.skipif(shutil.which("cpio") is None, reason="no cpio to unpack an archive")
def test_an_archive_unpacks_to_the_same_files(tmp_path: Path) -> None:
    """Files keep their paths, links lead to them, and modules come with their bytecode."""
    inner = tmp_path / "there" / "lib"
    inner.mkdir(parents=True)
    (inner / "module.py").write_text("VALUE = 7\n")
    (tmp_path / "here").symlink_to("there")
    archive = tmp_path / "files.cpio"
    boot_disk.write_archive(
        archive, [tmp_path / "here" / "lib" / "module.py"], {"init": b"#!/bin/sh\n"}
    )
    out = tmp_path / "out"
    out.mkdir()
    words = ["cpio", "-i", "--quiet", "-d", "--no-absolute-filenames", "-f", "dev/console"]
    subprocess.run(words, input=archive.read_bytes(), cwd=out, check=True)
    root = out / str(tmp_path).lstrip("/")
    assert (root / "here").readlink() == Path("there")
    assert (root / "here" / "lib" / "module.py").read_text() == "VALUE = 7\n"
    assert list((root / "there" / "lib" / "__pycache__").glob("module.*.pyc"))
    assert os.access(out / "init", os.X_OK)


def test_bytecode_is_used_whatever_the_time_of_its_source(tmp_path: Path) -> None:
    """Python takes the bytecode without a look at the source, whose time the PC does not know."""
    source = tmp_path / "module.py"
    source.write_text("VALUE = 7\n")
    content = boot_disk.compile_bytecode(source)
    assert struct.unpack_from("<I", content, 4) == (0b01,)  # by hash, unchecked
    assert content[:4] == Path(py_compile.compile(str(source)) or "").read_bytes()[:4]


def test_a_disk_has_whole_parts(tmp_path: Path) -> None:
    """Parameters, kernel and files begin at multiples of what the first program reads at once."""
    kernel = bytearray(3000)
    kernel[0x1F1], kernel[0x201] = 1, 0x6A
    kernel[1024:] = b"k" * (3000 - 1024)
    (tmp_path / "kernel").write_bytes(kernel)
    (tmp_path / "files").write_bytes(b"f" * 70_000)
    disk = tmp_path / "disk"
    boot_disk.write_disk(disk, tmp_path / "kernel", tmp_path / "files", "quiet", 1 << 30)
    content, part = disk.read_bytes(), boot_disk.PART
    assert struct.unpack_from("<II", content, boot_disk.SECTORS) == (256, 512)
    assert struct.unpack_from("<II", content, 0x218) == (boot_disk.FILES, 70_000)
    assert content[boot_disk.COMMAND_LINE :].startswith(b"quiet\0")
    assert content[part:].startswith(b"k" * 1976 + b"\0")
    assert content[2 * part :].startswith(b"f" * 70_000 + b"\0")
    assert len(content) >= 4 * part
    assert len(content) % boot_disk.CYLINDER == 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the first program is for x86")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to assemble with")
def test_the_first_program_fills_its_memory(tmp_path: Path) -> None:
    """The processor begins 16 bytes below the end, with a jump to the start."""
    content = boot_disk.assemble_rom(tmp_path).read_bytes()
    assert len(content) == 0x10000
    assert content[0xFFF0] == 0xE9
    assert struct.unpack_from("<H", content, 0xFFF1) == (0x10000 - 0xFFF3,)

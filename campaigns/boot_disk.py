"""Write a disk from which an emulated PC starts Linux with a few files of this machine.

The files become an archive that Linux unpacks to memory (initramfs). They keep their paths, so that
Python finds its modules. Python's bytecode is compiled here, because the emulator is slow.
`boot_rom.S` reads the disk.
"""

from __future__ import annotations

import importlib.util
import os
import py_compile
import stat
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

ROM = Path(__file__).parent / "boot_rom.S"
SECTOR, PART = 512, 128 * 512
CYLINDER = 16 * 63 * SECTOR  # Bochs counts in these
# As in boot_rom.S.
PARAMETERS, FILES = 0x10000, 0x6000000
COMMAND_LINE, SECTORS = 0x1000, 0x2000  # in the parameters


def find_entries(paths: Iterable[Path]) -> dict[str, Path]:
    """Return all folders, links and files that lead to these paths, by name, parents first."""
    found: dict[str, Path] = {}
    todo = list(paths)
    while todo:
        path = Path(os.path.abspath(todo.pop()))
        for entry in (*reversed(path.parents), path):
            found[str(entry)] = entry
            if entry.is_symlink():
                rest = path.relative_to(entry)
                todo.append(entry.parent / entry.readlink() / rest)
                break
    found.pop("/", None)
    return dict(sorted(found.items()))


def find_links(library: Path) -> list[Path]:
    """Return the other names of a library in its folder, by which programs ask for it."""
    stem = library.name.partition(".so")[0]
    return [path for path in library.parent.glob(f"{stem}.so*") if path.is_symlink()]


def compile_bytecode(source: Path) -> bytes:
    """Return the bytecode of a module, of which Python does not ask when its source was changed."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "module.pyc"
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(source), str(target), str(source), True, invalidation_mode=unchecked)
        return target.read_bytes()


def archive_entry(
    name: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)
) -> bytes:
    """Return one entry of a cpio archive of the kind "newc"."""
    path = name.lstrip("/").encode() + b"\0"
    fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
    head += b"\0" * (-len(head) % 4)
    return head + content + b"\0" * (-len(content) % 4)


def write_archive(target: Path, paths: Iterable[Path], extra: Mapping[str, bytes]) -> None:
    """Write an archive of these paths, of bytecode, and of programs that are given as bytes."""
    entries = find_entries(paths)
    with target.open("wb") as archive:
        for folder in ("dev", "proc", "sys", "tmp"):
            archive.write(archive_entry(folder, stat.S_IFDIR | 0o755))
        archive.write(archive_entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1)))
        folders = {str(path) for path in map(Path, ("/dev", "/proc", "/sys", "/tmp"))}
        for name, path in entries.items():
            archive.write(archive_path(name, path, folders))
        for name, content in extra.items():
            archive.write(archive_entry(name, stat.S_IFREG | 0o755, content))
        archive.write(archive_entry("TRAILER!!!", 0))


def archive_path(name: str, path: Path, folders: set[str]) -> bytes:
    """Return the entries of one path; of a module, those of its bytecode, too."""
    if path.is_symlink():
        return archive_entry(name, stat.S_IFLNK | 0o777, os.fsencode(path.readlink()))
    if path.is_dir():
        folders.add(name)
        return archive_entry(name, stat.S_IFDIR | 0o755)
    entry = archive_entry(name, stat.S_IFREG | 0o755, path.read_bytes())
    if path.suffix != ".py":
        return entry
    bytecode = Path(importlib.util.cache_from_source(name))
    if str(bytecode.parent) not in folders:
        folders.add(str(bytecode.parent))
        entry += archive_entry(str(bytecode.parent), stat.S_IFDIR | 0o755)
    return entry + archive_entry(str(bytecode), stat.S_IFREG | 0o644, compile_bytecode(path))


def fill_parameters(kernel: bytes, n_files: int, command_line: str, memory: int) -> bytearray:
    """Return what Linux reads when it starts: its options, and where files and memory are."""
    page = bytearray(PART)
    end = 0x202 + kernel[0x201]
    page[0x1F1:end] = kernel[0x1F1:end]
    page[0x210] = 0xFF  # a loader without a number of its own
    struct.pack_into("<II", page, 0x218, FILES, n_files)
    struct.pack_into("<I", page, 0x228, PARAMETERS + COMMAND_LINE)
    ranges = [(0, 0xA0000, 1), (0xF0000, 0x10000, 2), (0x100000, memory - 0x100000, 1)]
    page[0x1E8] = len(ranges)
    for i, values in enumerate(ranges):
        struct.pack_into("<QQI", page, 0x2D0 + 20 * i, *values)
    page[COMMAND_LINE : COMMAND_LINE + len(command_line)] = command_line.encode()
    return page


def write_disk(target: Path, kernel: Path, files: Path, command_line: str, memory: int) -> None:
    """Write a disk with parameters, the kernel and an archive of files."""
    image = kernel.read_bytes()
    body, archive = image[(image[0x1F1] + 1) * SECTOR :], files.read_bytes()
    page = fill_parameters(image, len(archive), command_line, memory)
    parts = [len(page), *(-(-len(part) // PART) * PART for part in (body, archive))]
    struct.pack_into("<II", page, SECTORS, sum(parts[:2]) // SECTOR, sum(parts) // SECTOR)
    with target.open("wb") as disk:
        disk.write(page)
        disk.write(body)
        disk.seek(sum(parts[:2]))
        disk.write(archive)
        disk.truncate(-(-sum(parts) // CYLINDER) * CYLINDER)


def assemble_rom(folder: Path) -> Path:
    """Assemble the first program of the PC; return it."""
    rom, unlinked = folder / "boot_rom.bin", folder / "boot_rom.o"
    source = ("-m32", "-c", "-x", "assembler-with-cpp", ROM)
    subprocess.run(["gcc", *source, "-o", unlinked], check=True)
    places = ("-m", "elf_i386", "-Ttext=0xffff0000", "--oformat", "binary")
    subprocess.run(["ld", *places, unlinked, "-o", rom], check=True)
    return rom

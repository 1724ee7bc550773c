"""A PC that Bochs emulates: its processors, its kernel, and one run of it.

Bochs is the emulator of Debian that knows AVX-512. Its PC has one processor, one disk and a serial
port, which prints to a file. It has no sound, because Bochs ends where the machine has no sound
card.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import emulated

DEBIAN = {"bochs-bin": "bochs", "gcc": "gcc", "dpkg-deb": "dpkg"}
DISPLAY = "bochs-term"  # a plug-in, without a program of its own
KERNEL = "linux-image-cloud-amd64"
MEMORY = 1 << 30
MAX_SECONDS = 3600

# The models of Bochs, and whether they have VNNI.
PROCESSORS = {"corei7_icelake_u": True, "corei7_skylake_x": False}
# Numbers of features that Linux is not to use. Bochs 2.7 gives no size for the state of protection
# keys (515) and a wrong one for compact states (321, 323), so that Linux would turn AVX off. With
# some of the others, which only models newer than Skylake have, Linux hangs. The tested kernels use
# none of them.
HIDDEN = "clearcpuid=515,321,323,514,534,528,317,520,521,522,580 no5lvl"
LINUX = (
    "console=ttyS0,115200 rdinit=/init panic=-1 acpi=off pci=off nokaslr mitigations=off "
    "tsc=reliable idle=halt lsm=capability cryptomgr.notests init_on_alloc=0 random.trust_cpu=on "
    f"quiet {HIDDEN}"
)
BOCHS = """\
config_interface: textconfig
display_library: term
memory: guest={megabytes}, host={megabytes}
cpu: model={processor}, count=1, ips=50000000, reset_on_triple_fault=0
clock: sync=none, time0=946684800
romimage: file="{rom}"
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=disk, path="{folder}/disk.img", mode=flat, cylinders=0
com1: enabled=1, mode=file, dev="{folder}/serial.txt"
sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy
log: "{folder}/bochs.txt"
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
"""


def need_tools() -> None:
    """Install Bochs where it is missing."""
    emulated.need_tools(DEBIAN)
    if not list(Path("/usr/lib").glob("*/bochs/plugins/libbx_term_gui.so")):
        emulated.need_tools({DISPLAY: DISPLAY})


def unpack_kernel(folder: Path) -> Path:
    """Return Debian's kernel, which is unpacked in a folder and not installed."""
    if not list(folder.glob("boot/vmlinuz-*")):
        folder.mkdir(parents=True, exist_ok=True)
        words = ["apt-cache", "depends", KERNEL]
        lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
        names = [word for word in lines if word.startswith("linux-image-") and word != KERNEL]
        if not names:
            raise emulated.CannotRunError(f"apt knows no {KERNEL}; run apt-get update")
        subprocess.run(["apt-get", "-qq", "download", names[0]], check=True, cwd=folder)
        (package,) = folder.glob("*.deb")
        emulated.run("dpkg-deb", "-x", package, folder)
    (kernel,) = folder.glob("boot/vmlinuz-*")
    return kernel


def start(processor: str, disk: Path, rom: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Start the PC with one processor, whose serial port prints to a file of the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.link(disk, folder / "disk.img")  # Bochs locks it by its name
    values = {"rom": rom, "folder": folder, "processor": processor}
    (folder / "bochsrc").write_text(BOCHS.format(**values, megabytes=MEMORY >> 20))
    (folder / "commands").write_text("c\n")  # Debian's Bochs begins in its debugger
    words: list[str | Path] = ["bochs-bin", "-q", "-f", folder / "bochsrc"]
    return subprocess.Popen(
        [*words, "-rc", folder / "commands"],
        env={**os.environ, "TERM": "linux"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def emulate(processor: str, disk: Path, rom: Path, last: str) -> str:
    """Run the PC until it prints a last line; return what its serial port printed."""
    folder = disk.parent / processor
    process = start(processor, disk, rom, folder)
    began, text = time.monotonic(), ""
    while process.poll() is None and time.monotonic() - began < MAX_SECONDS:
        time.sleep(1)
        if (folder / "serial.txt").exists():
            text = (folder / "serial.txt").read_text(errors="replace")
        if last in text or "Kernel panic" in text:
            break
    process.kill()
    process.wait()
    return text

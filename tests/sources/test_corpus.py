"""Files that once crashed a reader, or asked it for far too much, stay refused or readable."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
ENDS = ("rows", "refused")
# Memory that a process may take for a file of a few KB.
MOST_BYTES = 10**9

SCRIPT = """
import resource, sys
from projected_kmeans.sources import reader_process
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
for path in sys.argv[1:]:
    try:
        with open_rows(path) as source:
            source.read(0, min(source.shape[0], 1000))
        print("rows")
    except UnreadableFile as error:
        print("refused" if "\\n" not in str(error) and "; " in str(error) else repr(error))
reader_process._kept.clear()  # a process counts when it has ended
with open("/proc/self/status") as status:
    (peak,) = (int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(peak * 1024)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_the_corpus_is_survived() -> None:
    """Each file ends in rows or in one sentence; the process that opens them lives.

    Its own peak is that of /proc. The peak that `getrusage` tells begins with that of the process
    which started it, here a worker that has run other tests.
    """
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, CORPUS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    *found, own, readers = done.stdout.splitlines()
    assert {
        path.name: end for path, end in zip(CORPUS, found, strict=True) if end not in ENDS
    } == {}
    assert max(int(own), int(readers)) < MOST_BYTES


@pytest.mark.parametrize("name", ["far_index.svm", "long_header.npy", "far_index.npz"])
def test_the_corpus_has_its_files(name: str) -> None:
    """The folder was not left out of a copy of the tests."""
    assert name in {path.name for path in CORPUS}

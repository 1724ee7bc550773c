"""The sentence for an allocation that failed: what was asked for, how much there is, what to do."""

from __future__ import annotations

import errno
import mmap
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans import ProjectedKMeans, _native, open_rows
from projected_kmeans.sources import memory_shortage
from projected_kmeans.sources.memory_shortage import (
    MemoryShortage,
    describe_shortage,
    explain_shortage,
    memory_left,
)
from projected_kmeans.sources.protocol import UnreadableFile

pytest.importorskip("resource", reason="limits of processes are POSIX's")


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (MemoryError(), ["more memory was asked for than the 3 GB at hand; set memory_limit"]),
        (MemoryError("std::bad_alloc"), ["than the 3 GB at hand; set"]),
        (MemoryError("no room\nfor 9 rows"), ["the 3 GB at hand (no room for 9 rows); set"]),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), ["than the 3 GB at hand; set"]),
        (
            MemoryError("Unable to allocate 7.3 TiB for an array with shape (10,) and so on"),
            ["an array with shape (10,) and so on takes 7.3 TiB of memory, more than the 3 GB"],
        ),
    ],
)
def test_a_shortage_says_what_is_known(
    monkeypatch: pytest.MonkeyPatch, error: Exception, parts: list[str]
) -> None:
    """The sentence has the size and the reason if they are known, and no empty parentheses."""
    monkeypatch.setattr(memory_shortage, "memory_left", lambda: 3e9)
    told = describe_shortage(error)
    for part in parts:
        assert part in str(told)
    assert "\n" not in str(told)
    assert "()" not in str(told).replace("(10,)", "")
    assert describe_shortage(told) is told


def test_the_sentence_of_a_kernel_is_kept() -> None:
    """A kernel may lack a few bytes, which are not more than what is at hand."""
    rows = scipy.sparse.csr_array((np.ones(1), np.zeros(1, np.int64), np.array([0, 1])), (1, 2**44))
    with pytest.raises(MemoryError, match=r"^a kernel asked for ") as caught:
        _native.transposed_product(rows, np.empty((1, 0)), np.empty((2**44, 0)), 1)
    told = describe_shortage(caught.value)
    assert isinstance(told, MemoryShortage)
    assert str(told) == str(caught.value)


def test_a_silent_system_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody tells how much memory there is, the sentence has no number."""
    monkeypatch.setattr(memory_shortage, "memory_left", lambda: float("inf"))
    assert "more memory was asked for than this machine gives;" in str(
        describe_shortage(MemoryError())
    )


def test_other_errors_pass() -> None:
    """Only shortages are reworded, and each only once."""
    other = OSError(errno.ENOENT, "no such file")
    with pytest.raises(OSError, match="no such file") as caught, explain_shortage():
        raise other
    assert caught.value is other
    first = MemoryError()
    with pytest.raises(MemoryShortage) as shortage, explain_shortage(), explain_shortage():
        raise first
    assert shortage.value.__cause__ is first


def test_the_least_of_all_limits_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A container may have less memory than its machine; a limit that says "max" is none."""
    monkeypatch.setattr(memory_shortage, "CONTAINER", tmp_path)
    monkeypatch.setattr(memory_shortage, "available_memory", lambda: 5e9)
    assert memory_left() <= 5e9
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    assert memory_left() == 2_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_left() > 2_000_000


def test_a_fit_without_memory_is_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimator raises the sentence as a MemoryError, from the original."""

    def fail(*arguments: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("projected_kmeans.estimator.projected_kmeans.search_sketch", fail)
    with pytest.raises(
        MemoryError, match=r"more memory was asked for than .* at hand; set"
    ) as told:
        ProjectedKMeans(2).fit(np.eye(4))
    assert type(told.value.__cause__) is MemoryError


def test_a_mapping_without_memory_is_no_damaged_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """ENOMEM of a mapping names the file, its size and the memory, and is no UnreadableFile."""
    np.save(tmp_path / "rows.npy", np.ones((100, 5)))

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", fail)
    monkeypatch.setattr(memory_shortage, "memory_left", lambda: 3e3)
    with pytest.raises((MemoryError, UnreadableFile)) as caught:
        open_rows(tmp_path / "rows.npy").read(0, 5)
    assert isinstance(caught.value, MemoryError)
    assert "rows.npy (4.13 KB) takes more memory than the 3 KB at hand" in str(caught.value)


def test_a_real_limit_is_one_sentence(tmp_path: Path) -> None:
    """A process under ``ulimit -v`` maps a file that is too large, and says so in one sentence."""
    size = 2**36
    with open(tmp_path / "rows.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (size // 64, 8)}
        )
        file.truncate(file.tell() + size)
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33));"
        "from projected_kmeans.commands.main import main; main()"
    )
    command = [sys.executable, "-c", code, "fit", str(tmp_path / "rows.npy"), "-k", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "rows.npy (68.7 GB) takes more memory than the " in done.stderr

"""How much memory there is, and the sentence if data asks for more or an allocation fails."""

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
from projected_kmeans.sources import memory
from projected_kmeans.sources.memory import (
    MemoryShortage,
    available_memory,
    check_asked,
    describe_shortage,
    explain_shortage,
    memory_left,
    show_size,
)
from projected_kmeans.sources.protocol import UnreadableFile

pytest.importorskip("resource", reason="limits of processes are POSIX's")


def test_some_memory_is_available() -> None:
    """The machine that runs the tests has more than 10 MB left, or does not say."""
    assert available_memory() > 1e7


def test_more_than_there_is_gives_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says what was asked for, how much there is and what to do."""
    monkeypatch.setattr(memory, "available_memory", lambda: 2.5e9)
    check_asked(2.4e9, 10**8, "X")
    with pytest.raises(
        UnreadableFile, match=r"^X takes 3 GB of memory, but 2.5 GB are at hand; free some memory"
    ):
        check_asked(3e9, 10**8, "X")


def test_more_than_a_file_can_hold_gives_one_sentence() -> None:
    """Whatever memory there is, a file of 100 bytes cannot be packed from 1 TB."""
    with pytest.raises(UnreadableFile, match=r"^X asks for 1e\+03 GB of memory in a file of 100 b"):
        check_asked(1e12, 100, "X")


def test_sizes_are_shown_in_units() -> None:
    """Three digits and a unit of 1000."""
    assert show_size(15.36e9) == "15.4 GB"
    assert show_size(3000) == "3 KB"
    assert show_size(17) == "17 bytes"


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
    monkeypatch.setattr(memory, "memory_left", lambda: 3e9)
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
    monkeypatch.setattr(memory, "memory_left", lambda: float("inf"))
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
    monkeypatch.setattr(memory, "CONTAINER", tmp_path)
    monkeypatch.setattr(memory, "available_memory", lambda: 5e9)
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
    monkeypatch.setattr(memory, "memory_left", lambda: 3e3)
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

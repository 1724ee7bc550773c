"""The kernels on ARM: what must have the same bits, and the emulated twins where they are built."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import arm
import emulated
import machine_results
import numpy as np
import pytest

EXACT, ROUNDED = "float32 labels", "float32 distances"


def store(folder: Path, name: str, **changes: object) -> Path:
    """Write results with some of them changed; return the file."""
    path = folder / f"{name}.npz"
    results = {EXACT: np.arange(5), ROUNDED: np.linspace(1, 2, 5), "instruction set": name}
    np.savez(path, **results | {key.replace("_", " "): value for key, value in changes.items()})
    return path


def test_equal_results_pass(tmp_path: Path) -> None:
    """Two machines may have other instruction sets, and nothing else."""
    found = machine_results.compare(store(tmp_path, "x86"), store(tmp_path, "arm"))
    assert found.failures == []
    assert found.sentence.startswith("2 of 2 results have the same bits")


@pytest.mark.parametrize(
    ("changes", "failure"),
    [
        ({"float32_labels": np.arange(5)[::-1]}, "float32 labels differs by 1.0e+00"),
        ({"float32_distances": np.linspace(1, 2, 5) + 1e-5}, "float32 distances differs by"),
        ({"float32_distances": np.full(5, np.nan)}, "float32 distances differs by nan"),
        ({"float64_own": np.ones(2)}, "float64 own is missing on one machine"),
    ],
)
def test_other_results_fail(tmp_path: Path, changes: dict[str, object], failure: str) -> None:
    """A label, a larger rounding error, NaN or a missing result is a failure."""
    found = machine_results.compare(store(tmp_path, "x86"), store(tmp_path, "arm", **changes))
    (first,) = found.failures
    assert first.startswith(failure)


def test_rounding_passes(tmp_path: Path) -> None:
    """Sums in another order may differ in their last bits."""
    there = store(tmp_path, "arm", float32_distances=np.linspace(1, 2, 5) * (1 + 1e-7))
    found = machine_results.compare(store(tmp_path, "x86"), there)
    assert found.failures == []
    assert found.sentence.startswith("1 of 2 results")


@pytest.mark.parametrize("planted", [emulated.WRONG_DISTANCE, emulated.OVERRUN])
def test_deliberate_errors_can_be_planted(planted: emulated.Planted) -> None:
    """The line that is replaced stands in the kernel once, and the test that must fail exists."""
    assert (emulated.ROOT / planted.file).read_text().count(planted.sound) == 1
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", planted.test]
    assert subprocess.run(words, cwd=emulated.ROOT, capture_output=True).returncode == 0


def test_every_test_is_in_one_share() -> None:
    """Folders become their files, and each file is run once, however many processes there are."""
    whole = emulated.share_tests(emulated.TESTS, 1)[0]
    assert "tests/native/test_twins.py" in whole
    assert "tests/native/maps/test_signs.py" in whole
    for n_shares in (2, 3, 100):
        shares = emulated.share_tests(emulated.TESTS, n_shares)
        assert len(shares) <= n_shares
        assert sorted(name for share in shares for name in share) == sorted(whole)


@pytest.mark.skipif(shutil.which(arm.EMULATOR) is None, reason="no qemu-user to emulate ARM")
@pytest.mark.skipif(not (arm.SITE / "sklearn").is_dir(), reason="make test-arm has not run here")
def test_a_kernel_gives_what_its_twin_gives_on_arm() -> None:
    """The module that make test-arm has built agrees with a twin under the emulator."""
    (module,) = arm.HOME.glob("_native*.so")
    done = arm.emulate(arm.unpack_python(), module, *arm.PYTEST, arm.WRONG_DISTANCE.test)
    assert done.returncode == 0, done.stdout + done.stderr

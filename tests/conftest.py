"""What all tests share: where the data lie, and how many examples hypothesis tries."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from projected_kmeans.commands import main as cli
from tests.support.commands import ROWS, Call, Run, store_model

# Threads that wait for one another in a loop are slow beyond measure where cores are shared.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Kernels that write beside their scratch memory end the process; see lanes/buffer_checks.hpp.
os.environ.setdefault("PROJECTED_KMEANS_FILL_BUFFERS", "165")

# A program that a shell starts in the background ignores Ctrl-C, and so do those that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Derandomized, so that a run is a function of the source alone.
settings.register_profile(
    "projected_kmeans", deadline=None, max_examples=30, derandomize=True, database=None
)
settings.register_profile("nightly", deadline=None, max_examples=300, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "projected_kmeans"))

# Tests that take long and seldom fail alone: `make test` leaves them out, `make test-all` does not.
THOROUGH = (
    "benchmarks",
    "blocks/dask/test_blocks.py",
    "blocks/dask/test_cluster_errors.py",
    "blocks/dask/test_clusters.py",
    "blocks/dask/test_worker_arrays.py",
    "campaigns",
    "commands/test_processes.py",
    "docs/test_site.py",
    "reports/test_browser.py",
    "search/test_killed_fits.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that only `make test-all` runs."""
    folders = tuple(Path(__file__).parent / name for name in THOROUGH)
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in folders):
            item.add_marker(pytest.mark.thorough)


@pytest.fixture
def find_data() -> Callable[[str], Path]:
    """Return a function from a file's name to its path, which skips where there is no such file."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("PROJECTED_KMEANS_DATA", default))

    def find(name: str) -> Path:
        path = folder / name
        if not path.is_file():
            pytest.skip(f"{name} is not in {folder}; set PROJECTED_KMEANS_DATA to its folder")
        return path

    return find


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Return a function that calls the entry point, with its error handling, in this process."""

    def call_main(*arguments: object) -> Run:
        with pytest.raises(SystemExit) as left:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Run(left.value.code, captured.out, captured.err)

    return call_main


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a file of three clear clusters, alone in its folder."""
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "rows.npy", ROWS)
    return tmp_path / "data" / "rows.npy"


@pytest.fixture(scope="session")
def stored_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a model that was fitted once; no test may change it."""
    return store_model(ROWS, tmp_path_factory.mktemp("stored"))


@pytest.fixture
def model(stored_model: Path, tmp_path: Path) -> Path:
    """Return the folder of a fitted model, which a test may change."""
    return Path(shutil.copytree(stored_model, tmp_path / "model"))

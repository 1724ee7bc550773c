"""What builds a release: the workflow calls make targets, and bad wheels are refused."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
import wheels
from requirements import DEPENDENCIES, list_requirements

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"


@pytest.mark.parametrize("name", ["checks.yml", "nightly.yml", "release.yml"])
def test_every_step_of_a_workflow_is_a_make_target(name: str) -> None:
    """What a workflow runs is a target of the Makefile, so that anybody can run it."""
    text = (WORKFLOWS / name).read_text()
    steps = re.findall(r"- run: (.*)", text)
    assert len(steps) == text.count("run:") >= 4
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for step in steps:
        assert step == "brew install libomp" or step.removeprefix("make ") in targets, step


def test_a_wheel_for_the_oldest_python_is_built() -> None:
    """Wheels begin with the Python that pyproject.toml asks for, and end with the stable ABI."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    oldest = document["project"]["requires-python"].removeprefix(">=3.")
    stable = document["tool"]["scikit-build"]["wheel"]["py-api"].removeprefix("cp3")
    built = document["tool"]["cibuildwheel"]["build"]
    assert built == [f"cp3{minor}-*" for minor in range(int(oldest), int(stable) + 1)]


def test_a_large_wheel_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wheel beyond 4 MB ends the build with its size and the limit."""
    wheel = tmp_path / "projected_kmeans-1-cp311-cp311-manylinux_2_28_x86_64.whl"
    wheel.write_bytes(bytes(wheels.MAX_BYTES + 1))
    with pytest.raises(SystemExit, match=r"has 4000001 bytes; keep wheels below 4000000"):
        wheels.check([wheel])
    assert "4.00 MB" in capsys.readouterr().out


needs_uv = pytest.mark.skipif(
    not (wheels.TOOLS / "uv").exists(), reason="no uv here; make wheel installs it"
)


@needs_uv
def test_a_missing_python_is_named_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence names every Python that is missing and the way to give one; the code is 2."""
    monkeypatch.setattr("sys.argv", ["wheels.py", "--python", "3.99", "--try-with", "/no/python"])
    monkeypatch.setattr(wheels, "build_sdist", lambda: pytest.fail("something was built"))
    with pytest.raises(SystemExit) as stopped:
        wheels.main()
    assert stopped.value.code == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("found no Python 3.99 and no Python /no/python; put it on the PATH")
    assert "give its path" in sentence


@needs_uv
def test_a_python_is_found_by_its_path(tmp_path: Path) -> None:
    """A Python that is not on the PATH is given by its path."""
    (found,) = wheels.find_pythons([sys.executable])
    assert Path(found).samefile(sys.executable)


def test_the_oldest_versions_include_all_extras() -> None:
    """Every optional package is among them, and each has a lower bound."""
    found = list_requirements([DEPENDENCIES, "test"])
    names = {re.split(r"[\[><=]", one)[0] for one in found}
    assert {"numpy", "dask", "zarr", "pyarrow", "h5py", "onnx", "faiss-cpu", "bokeh"} <= names
    assert [one for one in found if ">=" not in one] == []

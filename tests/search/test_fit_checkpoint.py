"""Checkpoints of fits: they go on to the same bits, and refuse what belongs to another fit."""

from __future__ import annotations

import os
import resource
import signal
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.decomposition import PCA

from projected_kmeans import FitState, ProjectedKMeans
from projected_kmeans.running import checkpoint as running_checkpoint
from projected_kmeans.running import part_files
from projected_kmeans.search import approach
from projected_kmeans.sources.open_rows import open_rows
from tests.support.blobs import assert_same_fit, draw_blobs
from tests.support.commands import Call, check_refusal
from tests.support.small_blocks import use_small_blocks


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write every value at once."""
    monkeypatch.setattr(running_checkpoint, "SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(running_checkpoint, "WORK_PER_WRITE", 0.0)


class Killed(BaseException):
    """Ends a fit as abruptly as an exception can."""


def fit(
    checkpoint: Path | None = None, X: Any = None, sample_weight: Any = None, **options: Any
) -> ProjectedKMeans:
    """Fit some blobs that take several passes."""
    X = draw_blobs(gap=0.15)[0] if X is None else X
    defaults: dict[str, Any] = {"random_state": 0, "projection": "sign", "solver": "lloyd"}
    model = ProjectedKMeans(**{"n_clusters": 5, **defaults, **options}, checkpoint=checkpoint)
    return model.fit(X, sample_weight=sample_weight)


def leave(folder: Path, step: str, iteration: int, X: Any = None, **options: Any) -> None:
    """Begin the same fit and leave it in the middle of a step."""

    def kill(state: FitState) -> None:
        if (state.step, state.iteration) == (step, iteration):
            raise Killed

    with pytest.raises(Killed):
        fit(folder, X, callback=kill, **options)


# --- fits ----------------------------------------------------------------------------------------


def test_nothing_is_stored_too_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that takes less than five seconds stores only its map and its result."""
    written: list[str] = []
    plain = part_files.write_atomically

    def spy(path: Path, write: Any) -> None:
        written.append(path.name)
        plain(path, write)

    monkeypatch.setattr(part_files, "write_atomically", spy)
    assert_same_fit(fit(tmp_path / "steps"), fit())
    assert written == ["run.part", "map.part", "result.part"]


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted", "cosine", "file", "svd"])
def test_a_fit_goes_on(kind: str, tmp_path: Path) -> None:
    """A fit that was left in any step, for any kind of rows, ends with the same bits."""
    X: Any = draw_blobs(gap=0.15)[0]
    options: dict[str, Any] = {}
    if kind == "sparse":
        X = scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0))
    elif kind == "file":
        np.save(tmp_path / "rows.npy", X)
        X = open_rows(tmp_path / "rows.npy")
    elif kind == "weighted":
        options = {"sample_weight": np.linspace(0, 3, len(X))}
    elif kind in ("cosine", "svd"):
        options = {"metric": "cosine"} if kind == "cosine" else {"projection": "svd"}
    steps = ("reduce", "seed", "cluster", "lift", "polish")
    for step in steps[:-1] if kind == "svd" else steps:  # which leaves nothing to polish
        at = {"reduce": 150, "lift": 150, "seed": 3, "cluster": 2}.get(step, 1)
        leave(tmp_path / "steps", step, at, X, **options)
    model = fit(tmp_path / "steps", X, **options)
    whole = fit(None, X, **options)
    assert_same_fit(model, whole)
    assert (model.n_iter_, model.stopped_) == (whole.n_iter_, whole.stopped_)
    again = fit(tmp_path / "steps", X, **options)
    assert_same_fit(again, whole)
    assert again.timings_ == model.timings_
    np.testing.assert_array_equal(
        again.projection_.transform(np.eye(200)), whole.projection_.transform(np.eye(200))
    )


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("samples", [True, False])
def test_swaps_go_on(samples: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that is killed at every pass of every level, one after another, has the same bits."""
    monkeypatch.setattr(approach, "MAX_KERNEL_ENTRIES", 0)
    if samples:
        monkeypatch.setattr(approach, "MIN_LEVEL_ROWS", 40)
        monkeypatch.setattr(approach, "ROWS_PER_CLUSTER", 8)
    units: list[tuple[str, int, int]] = []

    def note(state: FitState) -> None:
        units.append((state.step, state.restart, state.iteration))

    options = {"solver": "auto", "n_init": 2}
    whole = fit(callback=note, **options)
    assert (len(whole.approach_.level_rows) > 1) == samples
    assert whole.approach_.swap_rounds > 0
    for step, start, at in dict.fromkeys(units):
        if step not in ("cluster", "polish"):
            continue

        def kill(state: FitState, moment: Any = (step, start, at)) -> None:
            if (state.step, state.restart, state.iteration) == moment:
                raise Killed

        with suppress(Killed):  # a fit that goes on may be beyond that moment
            fit(tmp_path / "steps", callback=kill, **options)
    assert_same_fit(fit(tmp_path / "steps", **options), whole)


@pytest.mark.usefixtures("eager")
def test_a_fit_that_was_stopped_goes_on_to_the_end(tmp_path: Path) -> None:
    """A fit that a time budget, a callback or Ctrl-C ended goes on when it is called again."""
    whole = fit()
    stops = iter([1, 3, 5])
    for stop in stops:
        passes = 0

        def callback(state: FitState, stop: int = stop) -> bool:
            nonlocal passes
            passes += state.step == "cluster"
            return passes == stop

        assert fit(tmp_path / "steps", callback=callback).stopped_ == "callback"
    assert fit(tmp_path / "steps", time_budget=0.0).stopped_ == "time"

    def interrupt(state: FitState) -> None:
        if state.step == "cluster":
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match="interrupted"):
        assert fit(tmp_path / "steps", callback=interrupt).stopped_ == "interrupted"
    model = fit(tmp_path / "steps")
    assert_same_fit(model, whole)
    assert model.stopped_ == whole.stopped_


def test_a_certificate_is_kept(tmp_path: Path) -> None:
    """The certificate is stored with the result, and comes back with all its digits."""
    options = {"certificate": "auto", "projection": None}
    model = fit(tmp_path / "steps", **options)
    assert model.certificate_ is not None
    assert fit(tmp_path / "steps", **options).certificate_ == model.certificate_


def test_a_stop_stores_where_it_was(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A stop stores the last pass, even if the last write was less than five seconds ago."""
    fit(tmp_path / "steps", callback=lambda state: state.step == "cluster" and state.iteration == 3)
    with caplog.at_level("DEBUG", logger="projected_kmeans"):
        assert_same_fit(fit(tmp_path / "steps"), fit())
    assert "checkpoint: start-0 goes on after 3 passes" in caplog.text


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", ["running.part", "sketch.part", "sketch.part.npy", "map.part"])
@pytest.mark.parametrize("damage", ["cut", "flip", "remove"])
def test_damage_costs_time_only(name: str, damage: str, tmp_path: Path) -> None:
    """A file of a checkpoint that is torn, changed or gone is made again, to the same bits."""
    leave(tmp_path / "steps", "cluster", 4)
    path = tmp_path / "steps" / name
    content = bytearray(path.read_bytes())
    content[-9] ^= 4
    if damage == "remove":
        path.unlink()
    else:
        path.write_bytes(content[:-100] if damage == "cut" else content)
    quiet = damage == "remove" and name != "sketch.part.npy"
    with nullcontext() if quiet else pytest.warns(UserWarning, match="damaged and is ignored"):
        model = fit(tmp_path / "steps")
    assert_same_fit(model, fit())


@pytest.mark.usefixtures("eager")
def test_the_sketch_is_intact_up_to_where_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Rows of the sketch before the damaged ones are used; the others are computed again."""
    use_small_blocks(monkeypatch, 200 * 8 * 40)
    leave(tmp_path / "steps", "cluster", 1)
    path = tmp_path / "steps" / "sketch.part.npy"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with (
        pytest.warns(UserWarning, match="damaged"),
        caplog.at_level("DEBUG", logger="projected_kmeans"),
    ):
        model = fit(tmp_path / "steps")
    assert_same_fit(model, fit())
    assert "checkpoint: the sketch has 40 of 150 rows" in caplog.text
    assert "reduce 40/150" not in caplog.text
    assert "reduce 80/150" in caplog.text


@pytest.mark.usefixtures("eager")
def test_a_damaged_description_is_written_again(tmp_path: Path) -> None:
    """Every part holds the hash of its run, so that the description is not needed to read it."""
    leave(tmp_path / "steps", "polish", 1)
    (tmp_path / "steps" / "run.part").write_bytes(b"x")
    steps: list[str] = []
    with pytest.warns(UserWarning, match=r"run\.part is damaged"):
        model = fit(tmp_path / "steps", callback=lambda state: steps.append(state.step))
    assert_same_fit(model, fit())
    assert set(steps) <= {"check", "lift", "polish"}


# --- refusals ------------------------------------------------------------------------------------


def test_the_command_refuses_what_is_not_its_own(call: Call, data: Path, tmp_path: Path) -> None:
    """Other data, parameters or formats are refused in one sentence; other threads are accepted."""
    steps = tmp_path / "steps"
    words = ("fit", data, "--checkpoint", steps)
    assert call(*words, "-k", 3).code == 0
    kept = {file.name: file.read_bytes() for file in steps.iterdir()}
    check_refusal(call(*words, "-k", 4), f"{steps} belongs to --clusters 3, not 4; repeat that")
    check_refusal(call(*words, "-k", 3, "--seed", 1), "--seed 0, not 1")
    check_refusal(call(*words, "-k", 3, "--projection", "none"), "--projection auto, not None")
    other = data.with_name("other.npy")
    np.save(other, 2 * np.load(data))
    check_refusal(call("fit", other, "-k", 3, "--checkpoint", steps), "belongs to other data")
    assert {file.name: file.read_bytes() for file in steps.iterdir()} == kept
    same = ("--threads", 1, "--memory-limit", "1GB", "--time-budget", 9)
    assert call(*words, "-k", 3, *same).code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_files, "FORMAT_VERSION", 99)
        check_refusal(call(*words, "-k", 3), "has format version 4 and this package reads 99")


def test_the_estimator_refuses_what_cannot_be_stored(tmp_path: Path) -> None:
    """Keys that nobody knows and maps of the caller's own are refused."""
    with pytest.raises(ValueError, match="random_state=None cannot be continued; use an integer"):
        fit(tmp_path, random_state=None)
    with pytest.raises(ValueError, match=r"projection=PCA\(.*cannot be stored; use the name"):
        fit(tmp_path, projection=PCA(2))


def test_arrays_are_known_by_all_their_numbers(tmp_path: Path) -> None:
    """A change of one number, of a weight or of the order of rows makes other data."""
    X = draw_blobs()[0]
    fit(tmp_path / "steps", X)
    other = X.copy()
    other[77, 7] += 1e-12
    for changed, weights, what in ((other, None, "data"), (X, np.ones(150), "weights")):
        with pytest.raises(ValueError, match=f"belongs to (other )?{what}"):
            fit(tmp_path / "steps", changed, sample_weight=weights)
    swapped = X[np.r_[1, 0, 2:150]]
    with pytest.raises(ValueError, match="belongs to other data"):
        fit(tmp_path / "steps", swapped)


def test_a_folder_that_cannot_be_written(call: Call, data: Path) -> None:
    """A place where no folder can be made is refused in one sentence, before any work."""
    words = ("fit", data, "-k", 3, "--checkpoint")
    check_refusal(call(*words, data / "steps"), "cannot be written (Not a directory); choose")


@pytest.mark.skipif(os.geteuid() == 0, reason="to root nothing is read-only")
def test_a_folder_without_permission(call: Call, data: Path) -> None:
    """A folder that may not be written is one sentence, before any work."""
    data.parent.chmod(0o500)
    words = ("fit", data, "-k", 3, "--checkpoint", data.parent / "steps")
    check_refusal(call(*words), "cannot be written (Permission denied)")


@pytest.mark.parametrize(
    ("words", "size"),
    [
        pytest.param(("fit", "DATA", "-k", "3", "--checkpoint", "new"), 600, id="checkpoint"),
        pytest.param(("fit", "DATA", "-k", "3", "--out", "new"), 200, id="fit-out"),
        pytest.param(
            ("predict", "MODEL", "DATA", "--out", "new/labels.npy"), 200, id="predict-out"
        ),
        pytest.param(("predict", "MODEL", "DATA", "--out", "new/a.csv"), 100, id="predict-csv"),
    ],
)
def test_a_full_disk(
    words: tuple[str, ...],
    size: int,
    data: Path,
    model: Path,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A full disk is reported in one sentence, and no incomplete file is left."""
    places = {"DATA": str(data), "MODEL": str(model)}
    monkeypatch.chdir(data.parent)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        run = call(*(places.get(word, word) for word in words))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    check_refusal(run, "cannot be written (File too large)")
    left = {file.name for file in data.parent.rglob("*")}
    assert left <= {"rows.npy", "new", "lock", "run.part"}

"""Fits of data that is not in memory: the bits of the same rows in memory, few passes, no trace."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse
import zarr
from sklearn.datasets import dump_svmlight_file
from sklearn.decomposition import PCA

from projected_kmeans import ProjectedKMeans, as_row_source, open_rows
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.projections.spectral import draw_direction_sample
from projected_kmeans.search import memory_plan as memory_limits
from projected_kmeans.search import storage
from projected_kmeans.search.storage import new_unnamed_array
from projected_kmeans.sources.protocol import RowSource, UnreadableFile
from tests.support.blobs import assert_same_fit
from tests.support.stored_rows import SpyRows, draw_eighths, reading_threads

# Enough rows that principal directions are found from a sample, and that restarts compete on one.
N, D, K = 13_000, 48, 5
ROWS = draw_eighths(1, N, D, K)
OPTIONS: dict[str, dict[str, Any]] = {
    "sign": {"projection": "sign", "n_components": 16},
    "default": {},
    "subsampled": {"solver": "lloyd"},
    "cosine": {"metric": "cosine", "projection": "sign", "n_components": 16},
    "none": {"projection": None, "solver": "lloyd", "n_init": 1, "max_iter": 5},
}


def fit(X: Any, options: dict[str, Any], **others: Any) -> ProjectedKMeans:
    """Return a fit with a fixed key."""
    weights = others.pop("sample_weight", None)
    return ProjectedKMeans(K, random_state=3, **options, **others).fit(X, sample_weight=weights)


@pytest.fixture(scope="module")
def expected() -> Callable[[str, bool], ProjectedKMeans]:
    """Return fits of the rows in memory, each made once."""
    made: dict[tuple[str, bool], ProjectedKMeans] = {}

    def find(name: str, sparse: bool) -> ProjectedKMeans:
        rows = scipy.sparse.csr_array(ROWS) if sparse else ROWS
        if (name, sparse) not in made:
            made[name, sparse] = fit(rows, OPTIONS[name])
        return made[name, sparse]

    return find


def save(folder: Path, extension: str) -> Path:
    """Write the rows in a format."""
    path = folder / f"rows{extension}"
    if extension == ".npy":
        np.save(path, ROWS)
    elif extension == ".npz":
        np.savez(path, X=ROWS)
    elif extension == ".parquet":
        columns = {f"x{i}": column for i, column in enumerate(ROWS.T)}
        pyarrow.parquet.write_table(pa.table(columns), path, row_group_size=3000)
    elif extension == ".zarr":
        zarr.save_array(str(path), ROWS)
    elif extension == ".h5":
        with h5py.File(path, "w") as file:
            file.create_dataset("X", data=ROWS, chunks=(700, D), compression="gzip")
    elif extension == ".csv":
        path.write_text("\n".join(",".join(map(repr, row)) for row in ROWS.tolist()))
    else:
        raise ValueError(extension)
    return path


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], RowSource]:
    """Return sources of the rows by their format, each written once."""
    folder = tmp_path_factory.mktemp("rows")
    written: dict[str, Path] = {}

    def find(name: str) -> RowSource:
        if name == "array":
            return as_row_source(ROWS)
        if name == "csr":
            return as_row_source(scipy.sparse.csr_array(ROWS))
        extension = ".npy" if name == "map" else name
        if extension not in written:
            written[extension] = save(folder, extension)
        if name == "map":
            return as_row_source(np.load(written[".npy"], mmap_mode="r"))
        return open_rows(written[extension])

    return find


DENSE = ("array", "map", ".npy", ".npz", ".parquet", ".zarr", ".h5", ".csv")

# Formats differ in how rows are read, options in how blocks are walked over: every format meets two
# options, and two sources meet all.
PAIRS = [(name, options) for name in DENSE for options in ("sign", "default")]
PAIRS += [(name, options) for name in ("array", "csr") for options in OPTIONS]


@pytest.mark.parametrize(("name", "options"), sorted(set(PAIRS)))
def test_the_fit_is_that_of_rows_in_memory(
    name: str, options: str, stored: Callable[..., RowSource], expected: Callable[..., Any]
) -> None:
    """Labels, centers and inertia have the same bits wherever the rows are."""
    source, in_memory = stored(name), expected(options, name == "csr")
    model = fit(source, OPTIONS[options])
    assert_same_fit(model, in_memory)
    np.testing.assert_array_equal(model.predict(source), in_memory.predict(ROWS))
    assert model.n_features_in_ == D


def test_a_sign_sketch_of_sparse_rows_gives_the_bits_of_dense_ones(
    expected: Callable[..., Any],
) -> None:
    """The sign map adds the same numbers in the same order, sparse or dense."""
    assert_same_fit(expected("sign", True), expected("sign", False))


def test_rows_of_svmlight_text(tmp_path: Path) -> None:
    """Text of sparse rows is read as CSR; few rows, because it is slow to parse."""
    dump_svmlight_file(ROWS[:600], np.zeros(600), str(tmp_path / "rows.svm"), zero_based=True)
    source = open_rows(tmp_path / "rows.svm", n_features=D)
    model = fit(source, OPTIONS["sign"])
    assert_same_fit(model, fit(scipy.sparse.csr_array(ROWS[:600]), OPTIONS["sign"]))
    np.testing.assert_array_equal(model.predict(source), model.predict(ROWS[:600]))


LIMITS: list[tuple[int | str, bool]] = [
    (4_500_000, True),
    ("5.2MB", False),
    ("12MB", False),
    ("1GB", False),
]
CASES = [(limit, "sign", name) for limit in LIMITS for name in (".npy", ".h5", "csr", "memory")]
CASES += [
    (LIMITS[0], options, name)
    for options in OPTIONS
    if options != "none"
    for name in ("csr", ".npy")
]


@pytest.mark.parametrize(("limit", "options", "name"), CASES, ids=str)
def test_no_limit_changes_the_fit(
    limit: tuple[int | str, bool],
    options: str,
    name: str,
    stored: Callable[..., RowSource],
    expected: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Small blocks and a sketch in a file without a name give the same bits."""
    monkeypatch.setattr(memory_limits, "MIN_BLOCK_BYTES", 2**12)
    spilled: list[tuple[int, int]] = []
    monkeypatch.setattr(
        storage,
        "new_unnamed_array",
        lambda shape, dtype: spilled.append(shape) or new_unnamed_array(shape, dtype),
    )
    size, is_spilled = limit
    X = ROWS if name == "memory" else stored(name)
    model = fit(X, OPTIONS[options], memory_limit=size)
    assert_same_fit(model, expected(options, name == "csr"))
    assert bool(spilled) == is_spilled
    assert reading_threads() == []
    np.testing.assert_array_equal(model.predict(X), model.predict(ROWS))
    assert model.score(X) == model.set_params(memory_limit=None).score(X)


def test_a_limit_that_is_too_small_names_the_least_that_works() -> None:
    """One sentence says what is enough, and that is enough."""
    for name in ("sign", "default"):
        with pytest.raises(ValueError, match=r"'1MB' is too small for 13000 rows") as caught:
            fit(as_row_source(ROWS), OPTIONS[name], memory_limit="1MB")
        least = str(caught.value).split("at least '")[1].rstrip("'")
        assert fit(as_row_source(ROWS), OPTIONS[name], memory_limit=least).inertia_ > 0
        less = f"{int(least.removesuffix('MB')) - 1}MB"
        with pytest.raises(ValueError, match="too small"):
            fit(as_row_source(ROWS), OPTIONS[name], memory_limit=less)


@pytest.mark.parametrize("limit", [0, "much", "2 potatoes", "0GB", -5, 1.5])
def test_a_limit_is_a_size(limit: Any) -> None:
    """Anything but bytes or a number with a unit is refused before rows are looked at."""
    with pytest.raises((ValueError, TypeError), match="memory_limit="):
        ProjectedKMeans(2, memory_limit=limit).fit(as_row_source(ROWS))


def test_what_needs_all_rows_is_told_before_the_fit() -> None:
    """A certificate, a transformer or columns ask for all rows: the limit is compared at once."""
    for options in (
        {"certificate": "auto"},
        {"projection": PCA(3)},
        {"projection": "columns"},
        {"init": lambda X, k, random_state: np.arange(k)},
    ):
        spy = SpyRows(ROWS)
        with pytest.raises(ValueError, match="too small"):
            fit(spy, options, memory_limit="4.9MB")
        assert spy.walked == spy.selected == []


@pytest.mark.parametrize(
    "options",
    [
        {"projection": PCA(8, random_state=0, svd_solver="full")},
        {"projection": "columns"},
        {"projection": "gaussian", "n_components": 9},
        {"certificate": "spectral"},
        {"init": lambda X, k, random_state: random_state.choice(len(X), k, replace=False)},
    ],
    ids=["transformer", "columns", "gaussian", "certificate", "callable"],
)
def test_everything_else_works_on_sources(options: dict[str, Any]) -> None:
    """Steps that take rows whole get them."""
    rows = ROWS[:600]
    one, other = fit(as_row_source(rows), options), fit(rows, options)
    assert_same_fit(one, other)
    assert (one.certificate_ is None) == (other.certificate_ is None)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_weights(options: dict[str, Any], kind: Any) -> None:
    """Rows of a source may have weights."""
    rows = kind(ROWS[:1500])
    source = as_row_source(rows)
    weights = np.random.default_rng(0).integers(0, 3, size=1500).astype(float)
    one = fit(source, options, sample_weight=weights)
    assert_same_fit(one, fit(rows, options, sample_weight=weights))
    assert one.score(source, sample_weight=weights) == one.score(rows, None, weights)
    with pytest.raises(ValueError, match="sample_weight"):
        fit(source, options, sample_weight=weights[:-1])


def test_how_often_rows_are_read() -> None:
    """Rows are read once to check and sketch, to lift, by a polish pass, and for final labels."""
    for polish in (0, 1, 2):
        spy = SpyRows(ROWS)
        model = fit(spy, OPTIONS["sign"], polish_iter=polish, n_init=1, init=np.arange(K))
        last = min(polish, 1)
        assert 2 + polish + last >= spy.n_walks >= 2 + 2 * last
        assert model.n_iter_ > 1
    spy = SpyRows(ROWS)
    model = fit(spy, {"projection": "svd", "n_components": 8}, polish_iter=1)
    assert spy.n_walks == 4
    assert model.projection_.n_sampled_rows_ == 5000
    spy.walked.clear()
    model.predict(spy)
    assert spy.n_walks == 1
    model.score(spy)
    assert spy.n_walks == 3


def test_a_sample_is_not_a_pass() -> None:
    """Principal directions read what was drawn: of rows far apart, only these."""
    row = np.random.default_rng(0).normal(size=(1, 2**18)).astype(np.float32)
    spy = SpyRows(np.broadcast_to(row, (200, 2**18)))
    StoredBlocks(spy).select(draw_direction_sample(200, 3, None, key=0).learnt)
    assert sum(stop - start for start, stop in spy.selected) < 10


@pytest.mark.parametrize("options", ["sign", "default", "none"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_bad_entry_in_the_middle_is_named(options: str, sparse: bool) -> None:
    """A NaN is told by row and column; nothing is half-done and no thread is left."""
    rows = ROWS.copy()
    rows[7001, 5], rows[9000, 4] = np.nan, np.inf
    source = as_row_source(scipy.sparse.csr_array(rows) if sparse else rows)
    model = ProjectedKMeans(K, random_state=3, memory_limit="16MB", **OPTIONS[options])
    with pytest.raises(ValueError, match="NaN at row 7001, column 5"):
        model.fit(source)
    assert not hasattr(model, "labels_")
    assert reading_threads() == []
    model.fit(ROWS)
    for use in (model.predict, model.score, model.transform):
        with pytest.raises(ValueError, match="NaN at row 7001, column 5"):
            use(source)
        assert reading_threads() == []


def test_numbers_that_are_too_large_are_told() -> None:
    """Squares that overflow are the error of rows in memory, wherever they lie."""
    rows = ROWS.copy()
    rows[12_345, 1] = 1e200
    for options in ("sign", "default"):
        with pytest.raises(ValueError, match=r"X reaches 1e\+200"):
            fit(as_row_source(rows), OPTIONS[options])


@pytest.mark.parametrize("fails_at", [0, 6000, N - 1])
@pytest.mark.parametrize("options", ["sign", "default", "none"])
def test_a_source_that_fails_leaves_nothing(
    options: str, fails_at: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What reading raises is raised as it is; threads and files are gone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(memory_limits, "MIN_BLOCK_BYTES", 2**12)
    model = ProjectedKMeans(K, random_state=3, memory_limit=4_500_000, **OPTIONS[options])
    with pytest.raises(OSError, match="the disk is gone"):
        model.fit(SpyRows(ROWS, fails_at))
    assert reading_threads() == []
    assert list(tmp_path.iterdir()) == []
    assert not hasattr(model, "labels_")
    model.fit(ROWS)
    with pytest.raises(OSError, match="the disk is gone"):
        model.predict(SpyRows(ROWS, fails_at))
    assert reading_threads() == []


def test_a_truncated_file_is_told(tmp_path: Path) -> None:
    """A file that ends early is one sentence, when it is opened or in the middle of a fit."""
    path = save(tmp_path, ".npy")
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(UnreadableFile, match="where its header says"):
        open_rows(path)
    path = save(tmp_path, ".csv")
    source = open_rows(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(UnreadableFile, match=r"rows\.csv"):
        fit(source, OPTIONS["sign"])
    assert reading_threads() == []


def test_a_stopped_fit_of_a_source_is_a_whole_fit() -> None:
    """A callback that stops leaves labels and centers of all rows."""
    model = fit(as_row_source(ROWS), {}, callback=lambda state: state.step == "cluster")
    assert model.stopped_ == "callback"
    assert model.labels_.shape == (N,)
    assert reading_threads() == []


def test_names_of_columns(tmp_path: Path) -> None:
    """Names come with the source; other names and numbers of columns are one sentence."""
    first, other, none = (tmp_path / name for name in ("first.csv", "other.csv", "none.csv"))
    first.write_text("a,b\n1,2\n3,4\n9,9\n")
    other.write_text("a,c\n1,2\n3,4\n9,9\n")
    none.write_text("1,2\n3,4\n")
    model = ProjectedKMeans(2, random_state=0).fit(open_rows(first))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.predict(open_rows(none)).shape == (2,)
    with pytest.raises(
        ValueError, match="X has no column 'b', which the model was fitted to; it has a, c"
    ):
        model.predict(open_rows(other))
    with pytest.raises(ValueError, match="X has 48 features, but ProjectedKMeans is expecting 2"):
        model.predict(as_row_source(ROWS))
    assert not hasattr(model.fit(open_rows(none)), "feature_names_in_")
    with pytest.raises(ValueError, match="n_clusters=2 exceeds n_samples=1"):
        model.fit(as_row_source(ROWS[:1]))

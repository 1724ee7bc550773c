"""How many clusters: planted numbers are found, clouds have none, and curves are what they say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from projected_kmeans import ClusterCounts, FitState, choose_n_clusters, kmeans_lower_bound
from projected_kmeans.choosing_k.cluster_counts import judge
from tests.support.blobs import draw_blobs
from tests.support.commands import ROWS, Call, check_refusal
from tests.support.stored_rows import SpyRows


@pytest.mark.parametrize(
    ("k", "gap", "n", "d"),
    [
        (2, 2.0, 100, 5),
        (3, 1.0, 300, 50),
        (5, 0.3, 500, 200),
        (6, 2.5, 400, 8),
        (12, 0.5, 1500, 80),
    ],
)
def test_planted_numbers_are_found(k: int, gap: float, n: int, d: int) -> None:
    """Blobs in few and many dimensions, the nearest two 5 to 9 deviations apart, are counted."""
    X, home = draw_blobs(1, n, d, k, gap)
    assert 5 < pdist([X[home == one].mean(axis=0) for one in range(k)]).min() < 10
    choice = choose_n_clusters(X, range(2, 2 * k + 5), random_state=0)
    assert choice.suggestion == k
    assert choice.describe().startswith(f"{k} clusters")
    assert choice.gap[k - 2] > 4 * choice.gap_error[k - 2]


@pytest.mark.parametrize("kind", ["normal", "flat", "uniform", "long tails"])
def test_clouds_have_no_number(kind: str) -> None:
    """Rows of one cloud, whatever its shape, are told to have no clear number of clusters."""
    stream = np.random.default_rng(0)
    X = {
        "normal": stream.normal(size=(600, 100)),
        "flat": stream.normal(size=(600, 8)) / np.arange(1, 9),
        "uniform": stream.random((600, 2)),
        "long tails": stream.standard_t(3, size=(600, 10)),
    }[kind]
    choice = choose_n_clusters(X, range(2, 13), random_state=0)
    assert choice.suggestion is None
    assert not choice.is_clear
    assert choice.describe().startswith("no clear number of clusters up to 12: inertia falls no")


def test_curves_are_those_of_the_rows() -> None:
    """With no fewer dimensions than columns, inertia and bounds are those of the rows."""
    X = load_digits().data
    choice = choose_n_clusters(X, [3, 10, 20], random_state=0)
    assert (choice.n_components, choice.lost_variance) == (64, 0.0)
    total = np.sum((X - X.mean(axis=0)) ** 2)
    np.testing.assert_allclose(choice.normalized_inertia, choice.inertia / total, rtol=1e-12)
    for index, count in enumerate(choice.n_clusters):
        peer = KMeans(int(count), n_init=5, random_state=0).fit(X).inertia_
        assert choice.inertia[index] <= 1.02 * peer
        bound = kmeans_lower_bound(X, int(count), method="spectral").value
        assert choice.lower_bound[index] == pytest.approx(bound, rel=1e-9)


def test_bounds_are_below_the_inertia() -> None:
    """On a sketch of many columns no inertia is below its bound, and none rises."""
    X = draw_blobs(0, n=300, d=500, k=6, gap=0.3)[0].astype(np.float32)
    choice = choose_n_clusters(X, range(2, 100), n_components=20, random_state=0)
    assert choice.n_components == 20
    assert 0 < choice.lost_variance < 1
    assert (choice.lower_bound <= choice.inertia).all()
    assert (choice.lower_bound >= 0).all()
    assert choice.lower_bound[0] > 0
    assert (np.diff(choice.inertia) <= 0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_everything_follows_from_the_key(monkeypatch: pytest.MonkeyPatch, weighted: bool) -> None:
    """One and two threads give the same bits, also where the gap is measured on a sample."""
    monkeypatch.setattr("projected_kmeans.choosing_k.gap_statistic.SAMPLE_ROWS", 200)
    X = draw_blobs(2, n=1000, d=90, k=4, gap=0.5)[0]
    weights = np.random.default_rng(0).integers(1, 4, 1000) if weighted else None
    one, two = (
        choose_n_clusters(X, [2, 4, 6], sample_weight=weights, random_state=5, n_threads=n)
        for n in (1, 2)
    )
    assert one.to_document() | {"seconds": 0} == two.to_document() | {"seconds": 0}
    assert (one.suggestion, one.key) == (4, 5)


def test_weights_are_numbers_of_copies() -> None:
    """Rows with weights, a few without any, have the number of clusters that their copies have."""
    X = draw_blobs(2, n=200, d=20, k=4, gap=2.0)[0]
    weights = np.arange(200) % 3
    one = choose_n_clusters(X, [2, 3, 4, 5], sample_weight=weights, random_state=0)
    other = choose_n_clusters(np.repeat(X, weights, axis=0), [2, 3, 4, 5], random_state=0)
    assert (one.suggestion, one.is_clear) == (other.suggestion, other.is_clear) == (4, True)
    np.testing.assert_allclose(one.inertia[:3], other.inertia[:3], rtol=1e-9)
    np.testing.assert_allclose(one.lower_bound, other.lower_bound, rtol=1e-9)


def test_progress_is_told() -> None:
    """The callback hears of every clustering, up to the total it was told."""
    states: list[FitState] = []
    choose_n_clusters(ROWS, [2, 3], random_state=0, callback=states.append)
    steps = [state for state in states if state.step == "choose"]
    assert [state.iteration for state in steps] == list(range(1, steps[0].total + 1))


def test_exact_copies_are_counted() -> None:
    """Rows of three kinds have an infinite gap from 3 on, and JSON holds it as null."""
    choice = choose_n_clusters(np.repeat(np.eye(3), 9, axis=0), range(2, 6), random_state=0)
    assert choice.suggestion == 3
    assert np.isinf(choice.gap[1:]).all()
    assert json.loads(json.dumps(choice.to_document(), allow_nan=False))["gap"][1] is None


def make_curves(gap: list[float], silhouette: list[float]) -> ClusterCounts:
    """Return curves from 2 clusters on, with a standard error of 0.01."""
    size = len(gap)
    nothing = np.zeros(size)
    return ClusterCounts(
        n_clusters=np.arange(2, 2 + size),
        inertia=nothing,
        normalized_inertia=nothing,
        lower_bound=nothing,
        silhouette=np.array(silhouette),
        random_silhouette=nothing,
        gap=np.array(gap),
        gap_error=np.full(size, 0.01),
        n_components=2,
        lost_variance=0.0,
        key=0,
        seconds=0.0,
    )


@pytest.mark.parametrize(
    ("gap", "silhouette", "suggestion", "is_clear", "part"),
    [
        ([0.1, 0.4, 0.41, 0.4], [0.2, 0.5, 0.3, 0.2], 3, True, "agree"),
        ([0.1, 0.4, 0.41, 0.4], [0.6, 0.5, 0.3, 0.2], 3, False, "they disagree"),
        ([0.0, 0.0, 0.4, 0.39], [0.1, 0.1, 0.3, 0.2], 4, True, "agree"),
        ([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4], None, False, "curves rise on"),
        ([0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.1], 3, False, "by the silhouette, but not"),
        ([0.01, -0.1, 0.02, 0.03], [0.9, 0.2, 0.3, 0.4], None, False, "no faster"),
    ],
)
def test_judgements(
    gap: list[float], silhouette: list[float], suggestion: int | None, is_clear: bool, part: str
) -> None:
    """Agreement is clear, disagreement is told, and neither noise nor an open end is a number."""
    judged = judge(make_curves(gap, silhouette))
    assert (judged.suggestion, judged.is_clear) == (suggestion, is_clear)
    assert part in judged.describe()


def test_a_gentle_rise_ends_at_no_number() -> None:
    """A gap that grows as a logarithm has no end, so that the silhouette decides, unclearly."""
    counts = np.arange(2, 41)
    judged = judge(make_curves(list(np.log(counts)), list(-np.abs(counts - 9) + 50.0)))
    assert (judged.suggestion, judged.is_clear) == (9, False)
    assert "9 clusters by the silhouette, but not clearly" in judged.describe()
    assert "at 40;" not in judged.describe()


def test_a_silhouette_of_random_rows_is_none() -> None:
    """Where the gap rises without an end, a silhouette must be above that of random rows."""
    curves = make_curves([0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.1])
    judged = judge(replace(curves, random_silhouette=np.full(4, 0.28)))
    assert judged.suggestion is None


def test_a_single_number_is_judged_against_one_cluster() -> None:
    """With one number there is no end of a range: it is suggested if it is better than none."""
    assert judge(make_curves([0.4], [0.5])).suggestion == 2
    assert judge(make_curves([0.01], [0.5])).suggestion is None


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([], "counts is empty"),
        ([1, 2], "counts=1 is too small"),
        ([2, 61], "counts reach 61, above n_samples=60"),
    ],
)
def test_bad_numbers_are_one_sentence(counts: list[int], message: str) -> None:
    """Numbers that cannot be meant are refused."""
    with pytest.raises(ValueError, match=message):
        choose_n_clusters(ROWS, counts)


def test_equal_rows_are_one_cluster() -> None:
    """Where all rows are the same there is nothing to compare."""
    with pytest.raises(ValueError, match="all rows of X are equal"):
        choose_n_clusters(np.ones((10, 3)), [2, 3])


# --- the command ---------------------------------------------------------------------------------


def test_the_command_shows_a_table(call: Call, data: Path) -> None:
    """The table marks the number that the sentence below it names."""
    run = call("choose-k", data, "--range", "2:6")
    assert (run.code, run.err) == (0, "")
    assert "3 clusters: gap statistic and silhouette agree" in run.out
    marked = [line for line in run.out.splitlines() if "<-" in line]
    assert len(marked) == 1
    assert marked[0].split()[1] == "3"


def test_the_command_says_what_the_library_does(call: Call, data: Path, tmp_path: Path) -> None:
    """JSON on stdout and in a file is the library's result, and CSV has its curves."""
    out = tmp_path / "new" / "curves.json"
    run = call("choose-k", data, "--range", "2:6:2", "--seed", 3, "--json", "--out", out)
    document = json.loads(run.out)
    assert json.loads(out.read_text()) == document
    choice = choose_n_clusters(ROWS, [2, 4, 6], random_state=3)
    assert document == replace(choice, seconds=document["seconds"]).to_document() | {
        "data": "rows.npy"
    }
    assert call("choose-k", data, "--range", "2:3", "--out", tmp_path / "curves.csv").code == 0
    lines = (tmp_path / "curves.csv").read_text().splitlines()
    assert lines[0].startswith("n_clusters,inertia,normalized_inertia,lower_bound,silhouette")
    assert [line.split(",")[0] for line in lines[1:]] == ["2", "3"]


@pytest.mark.parametrize("text", ["5", "5:2", "1:4", "2:9:0", "2:3:4:5", "a:b"])
def test_ranges_that_are_none(call: Call, data: Path, text: str) -> None:
    """What is no range of numbers of clusters is one sentence."""
    check_refusal(call("choose-k", data, "--range", text), text, "give LO:HI")


def test_files_are_checked_before_the_work(call: Call, data: Path, tmp_path: Path) -> None:
    """Curves go to .json and .csv only, to a file that is no folder, where files can be written."""
    check_refusal(call("choose-k", data, "--out", tmp_path / "a.txt"), "use .json or .csv")
    (tmp_path / "folder.csv").mkdir()
    check_refusal(call("choose-k", data, "--out", tmp_path / "folder.csv"), "is a folder")
    check_refusal(call("choose-k", data, "--out", data / "deep" / "a.csv"), "cannot be written")


@pytest.mark.parametrize("n_components", [5, "auto"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_source_gives_the_curves_of_its_rows(n_components: int | str, sparse: bool) -> None:
    """Rows that are stored are walked over once, or taken in where they have few columns."""
    X, _ = draw_blobs(3, 300, 40, 4, 2.0)
    rows = scipy.sparse.csr_array(X * (X > 0)) if sparse else X
    spy = SpyRows(rows)
    found = choose_n_clusters(spy, range(2, 7), n_components=n_components, random_state=0)
    expected = choose_n_clusters(rows, range(2, 7), n_components=n_components, random_state=0)
    assert (found.inertia == expected.inertia).all()
    assert found.suggestion == expected.suggestion
    assert spy.n_walks == (1 if n_components == 5 else 0)

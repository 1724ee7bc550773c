"""When attributes are there, and when reading one clusters the rows of a stream."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from projected_kmeans import ProjectedKMeans

ROWS = np.random.default_rng(0).normal(size=(90, 6))
DOCUMENTED = re.findall(
    r"^(\w+_) : ",
    (inspect.getdoc(ProjectedKMeans) or "").split("Attributes\n----------")[1],
    re.MULTILINE,
)
# What a model has that was not fitted, and what a stream does not have.
ALWAYS = {"has_pending_rows_"}
NOT_OF_STREAMS = {"feature_names_in_", "labels_", "missing_rows_", "trace_"}
NOT_OF_STREAMS |= {"trimmed_rows_", "trim_distance_"}
SET_BY_PARTIAL_FIT = {"drift_", "key_", "n_samples_seen_", "n_features_in_", "has_pending_rows_"}
COMPUTED = sorted(set(DOCUMENTED) - NOT_OF_STREAMS - SET_BY_PARTIAL_FIT)


class CountingKMeans(ProjectedKMeans):
    """Counts the clusterings of its stream."""

    n_clusterings = 0

    def cluster_stream(self) -> Any:
        """Count the clusterings that really run."""
        self.n_clusterings += self.has_pending_rows_
        return super().cluster_stream()


@pytest.fixture
def stream() -> CountingKMeans:
    """Return a model with rows that are not clustered yet."""
    return CountingKMeans(3, random_state=0).partial_fit(ROWS)


@pytest.mark.parametrize("name", sorted(set(DOCUMENTED) - ALWAYS))
def test_before_a_fit_there_is_none(name: str) -> None:
    """Each fitted attribute raises AttributeError, so that hasattr is False."""
    model = ProjectedKMeans(3)
    assert not hasattr(model, name)
    assert name not in dir(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("name", COMPUTED)
def test_a_read_clusters_a_stream_once(name: str, stream: CountingKMeans) -> None:
    """The first read of a documented attribute clusters the rows, later ones do not."""
    assert stream.has_pending_rows_
    getattr(stream, name)
    assert (stream.n_clusterings, stream.has_pending_rows_) == (1, False)
    assert all(hasattr(stream, other) for other in COMPUTED)
    assert stream.n_clusterings == 1


@pytest.mark.parametrize("method", ["predict", "transform", "score", "get_feature_names_out"])
def test_a_prediction_clusters_a_stream(method: str, stream: CountingKMeans) -> None:
    """Methods that need centers bring the stream up to date."""
    getattr(stream, method)(*([] if method == "get_feature_names_out" else [ROWS]))
    assert stream.n_clusterings == 1


def test_nothing_else_clusters_a_stream(stream: CountingKMeans) -> None:
    """Tests, copies and texts of a pending stream are cheap."""
    check_is_fitted(stream)
    for name in (*NOT_OF_STREAMS, "nothing_", "coef_", "_repr_something_", "__array__"):
        assert not hasattr(stream, name)
    for name in SET_BY_PARTIAL_FIT:
        assert hasattr(stream, name)
    repr(stream)
    dict(inspect.getmembers(stream))
    stream._repr_mimebundle_()
    assert not hasattr(clone(stream), "key_")
    for other in (copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))):
        assert other.has_pending_rows_
        assert other.n_clusterings == 0
    assert stream.n_clusterings == 0


def test_more_rows_make_a_stream_pending_again(stream: CountingKMeans) -> None:
    """Results of earlier rows are dropped, and computed again when they are read."""
    before = stream.inertia_
    assert stream.partial_fit(ROWS + 1).has_pending_rows_
    assert stream.inertia_ > before
    assert stream.n_clusterings == 2
    assert stream.cluster_stream() is stream
    assert stream.n_clusterings == 2


def test_labels_and_trace_of_a_stream_are_refused(stream: CountingKMeans) -> None:
    """The sentence says what to do instead, also after a fit of other rows."""
    stream.fit(ROWS).partial_fit(ROWS)
    for name, advice in (("labels_", "ask predict"), ("trace_", "give a callback")):
        with pytest.raises(AttributeError, match=f"{name} of a stream .* not kept; {advice}"):
            getattr(stream, name)
    assert stream.n_clusterings == 0


def test_a_fit_has_nothing_pending() -> None:
    """After fit the attributes lie in the instance, where copies and pickles take them along."""
    model = ProjectedKMeans(3, random_state=0).fit(ROWS)
    assert not model.has_pending_rows_
    assert model.cluster_stream() is model
    computed = {"drift_", "has_pending_rows_", "mean_cosine_"}
    stored = set(vars(model)) | computed
    assert set(DOCUMENTED) - {"feature_names_in_"} <= stored
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.approach_ == model.approach_


def test_attributes_can_be_set() -> None:
    """As with any estimator of scikit-learn, a caller may replace the centers."""
    model = ProjectedKMeans(2, random_state=0).fit(ROWS)
    model.cluster_centers_ = np.array([[0.0] * 6, [9.0] * 6])
    assert model.predict(np.full((1, 6), 8.0)).tolist() == [1]


def test_the_class_itself_has_the_declarations() -> None:
    """Reading an attribute of the class runs nothing and raises nothing."""
    assert ProjectedKMeans.inertia_ is vars(ProjectedKMeans)["inertia_"]

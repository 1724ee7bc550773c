"""Models that go on: ``partial_fit`` after a fit or load, drift, and ``init="model"``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, load_model, save_model

MEANS = 6 * np.random.default_rng(9).normal(size=(4, 10))


def draw(seed: int, n_rows: int = 400, shift: float = 0.0) -> NDArray[np.float64]:
    """Return rows around four points, which may have moved."""
    stream = np.random.default_rng(seed)
    return MEANS[stream.integers(0, 4, n_rows)] + shift + stream.normal(size=(n_rows, 10))


def fit() -> ProjectedKMeans:
    """Return a model of 400 rows."""
    return ProjectedKMeans(4, random_state=0).fit(draw(0))


def test_new_rows_move_a_fitted_model() -> None:
    """Centers are the means of old and new rows, and clusters keep their numbers."""
    old, new = draw(0), draw(1, 800, shift=0.5)
    model = fit()
    labels = np.concatenate([model.labels_, model.predict(new)])
    model.partial_fit(new)
    both = np.concatenate([old, new])
    means = np.stack([both[labels == j].mean(axis=0) for j in range(4)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-9)
    assert model.n_samples_seen_ == 1200
    gaps = both - model.cluster_centers_[labels]
    assert model.inertia_ == pytest.approx(float(np.sum(gaps**2)), rel=1e-9)
    total = float(np.sum((both - both.mean(axis=0)) ** 2))
    assert model.explained_variance_ratio_ == pytest.approx(1 - model.inertia_ / total, rel=1e-9)
    assert model.normalized_inertia_ == pytest.approx(model.inertia_ / np.sum(both**2), rel=1e-9)


def test_weights_count() -> None:
    """A model of weighted rows resists new rows by its weights."""
    heavy = ProjectedKMeans(4, random_state=0).fit(draw(0), sample_weight=np.full(400, 1e6))
    before = heavy.cluster_centers_.copy()
    heavy.partial_fit(draw(1, shift=1.0))
    assert np.abs(heavy.cluster_centers_ - before).max() < 1e-5
    light = ProjectedKMeans(4, random_state=0).fit(draw(0))
    light.partial_fit(draw(1, shift=1.0), sample_weight=np.full(400, 1e6))
    assert np.abs(light.cluster_centers_ - before).max() > 0.5


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_do_not_matter(metric: str, sparse: bool) -> None:
    """Model and drift have the same bits for any division of the new rows into blocks."""
    new: Any = draw(1, 9000, shift=0.3)
    new = scipy.sparse.csr_array(new) if sparse else new
    weights = np.random.default_rng(0).random(9000)
    found = []
    for cuts in ([], [1, 17, 4000], [4444]):
        model = ProjectedKMeans(4, metric=metric, random_state=0).fit(draw(0))
        for start, stop in zip([0, *cuts], [*cuts, 9000], strict=True):
            model.partial_fit(new[start:stop], sample_weight=weights[start:stop])
        found.append((model.cluster_centers_.tobytes(), model.inertia_, model.drift_))
    assert found[0] == found[1] == found[2]


def test_drift_compares_with_the_fit() -> None:
    """Rows like those of the fit have a drift of about 1; moved rows have more."""
    model = fit()
    assert model.drift_ is None
    alike, moved = draw(1, 2000), draw(2, 2000, shift=1.0)
    assert model.drift(draw(0)) == pytest.approx(1.0, rel=1e-12)
    assert model.drift(alike) == pytest.approx(1.0, abs=0.05)
    wanted = -model.score(moved) / 2000 / (model.inertia_ / 400)
    assert model.drift(moved) == pytest.approx(wanted, rel=1e-12)
    assert wanted > 1.5
    for part in np.array_split(moved, 3):  # the reference is the fit, not the moving model
        model.partial_fit(part)
    assert model.drift_ == pytest.approx(wanted, rel=1e-12)


def test_a_fit_without_inertia() -> None:
    """Rows that lie on their centers are compared without a division by zero."""
    model = ProjectedKMeans(2, random_state=0).fit([[0.0], [1.0]])
    assert model.drift([[0.0]]) == 1.0
    assert model.drift([[0.5]]) == np.inf


def test_a_loaded_model_continues(tmp_path: Path) -> None:
    """A model that was stored goes on with the bits of the one in memory."""
    model = fit()
    save_model(model, tmp_path / "new" / "folder", labels=True)
    loaded = load_model(tmp_path / "new" / "folder")
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    assert loaded.drift(draw(3)) == model.drift(draw(3))
    for one in (loaded, model):
        one.partial_fit(draw(1))
    assert loaded.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()
    assert (loaded.inertia_, loaded.drift_) == (model.inertia_, model.drift_)
    assert not hasattr(loaded, "labels_")
    save_model(loaded, tmp_path / "again")
    assert load_model(tmp_path / "again").drift(draw(3)) == loaded.drift(draw(3))


def test_models_that_cannot_continue() -> None:
    """Another number of clusters or of columns is refused, and the model stays as it was."""
    model = fit()
    before = model.cluster_centers_
    with pytest.raises(ValueError, match="n_clusters=5 is not the 4 of the fitted model"):
        model.set_params(n_clusters=5).partial_fit(draw(1))
    with pytest.raises(ValueError, match="X has 3 features"):
        model.set_params(n_clusters=4).partial_fit(draw(1)[:, :3])
    assert model.cluster_centers_ is before
    del model._center_weights
    with pytest.raises(ValueError, match="does not say how many rows"):
        model.partial_fit(draw(1))


def test_a_fit_can_begin_with_the_model(tmp_path: Path) -> None:
    """``init="model"`` is the fit from the model's centers, also if the model was loaded."""
    model = fit()
    save_model(model.set_params(init="model"), tmp_path)
    given = ProjectedKMeans(4, init=model.cluster_centers_, random_state=0).fit(draw(1))
    for one in (model, load_model(tmp_path)):
        one.fit(draw(1))
        assert one.cluster_centers_.tobytes() == given.cluster_centers_.tobytes()
    with pytest.raises(ValueError, match='init="model" needs a model'):
        ProjectedKMeans(4, init="model").fit(draw(1))


def test_checkpoints_know_the_centers(tmp_path: Path) -> None:
    """A checkpoint of a fit from other centers is not continued."""
    model = fit().set_params(init="model", checkpoint=tmp_path, random_state=0)
    model.fit(draw(1))
    other = fit().partial_fit(draw(5, shift=0.1)).cluster_stream()
    with pytest.raises(ValueError, match="checkpoint"):
        other.set_params(init="model", checkpoint=tmp_path).fit(draw(1))

"""The peers of the k-means benchmark run Lloyd's method, or are named as absent."""

from __future__ import annotations

import numpy as np
import peers
import pytest
import sketches

from tests.support.benchmark_rows import NOBODY

ABSENT = peers.load_peers()


@pytest.mark.parametrize("name", list(peers.RUNNERS))
def test_peers_run_lloyd(name: str) -> None:
    """One pass of every peer gives the means that NumPy gives, if it takes first centers."""
    runner, package, _ = peers.RUNNERS[name]
    if package in ABSENT:
        pytest.skip(ABSENT[package])
    sketch = sketches.make_cloud(600, 8)
    first = sketches.draw_centers(sketch, 5)
    found = runner(sketch, first, 1, 1)
    assert found.shape == first.shape
    assert np.isfinite(found).all()
    if name != "superkmeans":
        labels = np.argmin(((sketch[:, None] - first) ** 2).sum(axis=2), axis=1)
        means = [sketch[labels == cluster].mean(axis=0) for cluster in range(5)]
        np.testing.assert_allclose(found, means, rtol=1e-4, atol=1e-5)


def test_an_absent_peer_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that cannot be imported is named, and no path of the machine is."""
    monkeypatch.setattr(peers, "MODULES", {"no-such-package": "no_such_module"})
    (sentence,) = peers.load_peers().values()
    assert sentence.startswith("no-such-package cannot be imported here")
    assert peers.pick_runners(NOBODY, 1000) == {}
    assert list(peers.pick_runners(NOBODY, 100)) == ["scikit-learn, Lloyd", "scikit-learn, Elkan"]

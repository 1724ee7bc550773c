"""The document of a fit: complete, and made of values that JSON can hold."""

from __future__ import annotations

import json

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans
from projected_kmeans.estimator.fit_document import describe_fit, describe_parameters

ROWS = np.random.default_rng(0).normal(size=(60, 12)) + 4 * np.repeat(np.eye(3, 12), 20, axis=0)


def test_a_document_describes_the_fit() -> None:
    """Data, versions, machine, results, seconds and plan are there, and JSON keeps them all."""
    model = ProjectedKMeans(3, n_components=4, random_state=1).fit(ROWS)
    document = describe_fit(model, ROWS, name="rows", accuracy=0.5)
    assert json.loads(json.dumps(document)) == document
    assert document["results"]["accuracy"] == 0.5
    assert document["results"]["cluster_sizes"] == np.bincount(model.labels_).tolist()
    assert document["results"]["inertia"] == model.inertia_
    assert document["results"]["projection"] == "SpectralProjection"
    assert document["data"] == {"name": "rows", "shape": [60, 12], "dtype": "float64"}
    assert document["seconds"] == model.timings_
    assert set(document["versions"]) == {"python", "numpy", "scipy", "scikit-learn"}
    assert set(document["machine"]) == {"processors", "instruction_set"}
    assert document["plan"]["reason"] == model.approach_.reason
    assert set(document["plan"]) == {"reason", "megabytes"}


def test_a_stream_has_no_document() -> None:
    """A document has the sizes of clusters, and a stream keeps no labels to count."""
    model = ProjectedKMeans(3, random_state=1).partial_fit(ROWS)
    with pytest.raises(AttributeError, match="ask predict"):
        describe_fit(model, ROWS, name="rows")


def test_parameters_that_json_cannot_hold_are_text() -> None:
    """Callables and arrays are described, a checkpoint is left out, NumPy numbers are plain."""
    model = ProjectedKMeans(np.int64(3), init=ROWS[:3], checkpoint="folder", callback=print)
    described = describe_parameters(model)
    assert set(described["unserialised"]) == {"callback", "init"}
    assert described["parameters"]["checkpoint"] is None
    assert type(described["parameters"]["n_clusters"]) is int

"""The document of a fit, which ``result.json`` holds and which reports are built from.

Describes a fitted model as plain values; it reads and writes no file.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib.metadata import version
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from projected_kmeans import _native
from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans, read_fitted_model
from projected_kmeans.output_files import hash_array
from projected_kmeans.search.own_solvers import name_function

RESULT_FORMAT = "projected_kmeans result"
FORMAT_VERSION = 1


def describe_fit(
    model: ProjectedKMeans, rows: Any, *, name: str, accuracy: float | None = None
) -> dict[str, Any]:
    """Describe a fit as the document that ``result.json`` holds.

    Of the rows only shape and type are used; ``accuracy`` is P, if the true labels are known.
    """
    fitted = read_fitted_model(model)
    labels = np.asarray(model.labels_)
    sizes = np.bincount(labels[labels >= 0], minlength=len(fitted.centers))
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "format": RESULT_FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": version("projected_kmeans"),
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in packages},
        },
        "machine": {"processors": os.cpu_count(), "instruction_set": _native.instruction_set()},
        "data": {"name": name, "shape": list(rows.shape), "dtype": rows.dtype.name},
        **describe_parameters(model),
        "key": int(fitted.key),
        "fit": identify_fit(fitted),
        "results": {
            "inertia": float(fitted.inertia),
            "normalized_inertia": float(fitted.normalized_inertia),
            "explained_variance_ratio": fitted.explained,
            "mean_cosine": model.mean_cosine_,
            "accuracy": accuracy,
            "projection": fitted.projection_name,
            "n_components": int(fitted.n_components),
            "certificate": describe_certificate(fitted),
            "gamma": model.gamma_,
            "n_iter": int(fitted.n_iter),
            "stopped": model.stopped_,
            "cluster_sizes": sizes.tolist(),
            "set_aside": len(labels) - int(sizes.sum()),
            "missing_rows": len(model.missing_rows_),
        },
        "seconds": {step: float(seconds) for step, seconds in model.timings_.items()},
        "plan": {
            "reason": model.approach_.reason,
            "megabytes": model._planned_bytes / 10**6,
        },
    }


def identify_fit(model: FittedModel) -> str:
    """Return a hash of the centers, the inertia and the key, by which files of one fit match.

    Equal fits have equal hashes: no time and no parameter is part of it.
    """
    identity = [hash_array(model.centers), float(model.inertia), int(model.key)]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


def describe_certificate(model: FittedModel) -> dict[str, Any] | None:
    """Return the certificate of a fit as JSON holds it, or None if the fit has none."""
    return None if model.certificate is None else model.certificate.to_document()


def describe_parameters(model: ProjectedKMeans) -> dict[str, dict[str, Any]]:
    """Return the parameters that JSON can hold, and the others as text."""
    plain: dict[str, Any] = {}
    others: dict[str, str] = {}
    for name, value in model.get_params(deep=False).items():
        if name == "checkpoint":  # only the run it belongs to may continue it
            value = None
        value = value.item() if isinstance(value, np.generic) else value
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            named = isinstance(value, FunctionType | BuiltinFunctionType)
            others[name] = name_function(value) if named else repr(value)
        else:
            plain[name] = value
    return {"parameters": plain, "unserialised": others}

"""The paper's own experiments, and the baselines that only they need.

The paper is *Random Projections for k-means Clustering* (Boutsidis, Zouzias, Drineas, NIPS 2010).
This package measures its tables, its figure and its theorem again with the parts of this library.
Nothing in the library depends on it; only the command ``reproduce`` and the benchmarks use it.

- ``experiments/``   one module for each table, figure or claim: what is measured, judged and shown
- ``reproduction``   the seven of them by name; a stored document as text, files and a page
- ``experiment``     run an experiment unit by unit, store its results, continue a stopped run
- ``tables``         a table of records as Markdown, LaTeX and CSV
- ``charts``         a chart as PNG and SVG; the only module that imports matplotlib
- ``baselines``      the reductions that the paper compares with, as scikit-learn transformers
- ``known_optima``   instances whose optimum is known, and the solvers that are compared with it
- ``data_sets``      the paper's face images and other real data: find it, say what is missing

A stored document names the key, the versions, the machine and all parameters, and what is shown
depends on it alone: a run takes minutes to hours, and its tables are drawn again whenever their
layout changes. Tests compare the pages in docs/ with the documents in docs/reproduction/.

The names below come from ``baselines`` and are public: users import them from
``projected_kmeans.paper``. They are imported when they are first asked for, so that the command
line starts without loading scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from projected_kmeans.paper.baselines import (
        FisherScore,
        LaplacianScore,
        LocallyLinearFeatures,
        SVDFeatures,
    )

__all__ = ["FisherScore", "LaplacianScore", "LocallyLinearFeatures", "SVDFeatures"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.baselines"), name)

"""Fit one of the systems of field_systems.py in a process of its own, within a time limit.

A system that crashes or takes too long costs its own result and no other. The rows lie in a file,
and so do the labels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from fit_process import Rows

# Seconds after which a fit is given up, unless another limit is given.
TIME_LIMIT = 120.0


@dataclass(frozen=True)
class Places:
    """Where rows and labels are stored for the processes that fit, and how these run.

    Attributes
    ----------
    folder : Path
        For rows and labels.
    pythons : mapping
        From the name of a system to the interpreter that runs it, if that is not this one.
    n_threads : int
        Of every system.
    limit : float
        Seconds after which a fit is given up.
    """

    folder: Path
    pythons: Mapping[str, str]
    n_threads: int
    limit: float = TIME_LIMIT


def store(rows: Rows, folder: Path) -> Path:
    """Write rows to a file; return it."""
    if scipy.sparse.issparse(rows):
        path = folder / "rows.npz"
        scipy.sparse.save_npz(path, rows, compressed=False)
    else:
        path = folder / "rows.npy"
        np.save(path, rows)
    return path


def run_system(name: str, rows: Path, n_clusters: int, key: int, places: Places) -> dict[str, Any]:
    """Return the costs of one fit, or why it failed; its labels lie in a file."""
    labels = places.folder / "labels.npy"
    labels.unlink(missing_ok=True)
    program = [
        places.pythons.get(name, sys.executable),
        str(Path(__file__).with_name("field_systems.py")),
        name,
        *(str(one) for one in (rows, labels, n_clusters, key, places.n_threads)),
    ]
    limit = str(places.n_threads)
    environment = {**os.environ, "OMP_NUM_THREADS": limit, "OPENBLAS_NUM_THREADS": limit}
    try:
        done = subprocess.run(
            program, capture_output=True, text=True, timeout=places.limit, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"failure": f"more than {places.limit:.0f} s"}
    if done.returncode < 0:
        return {"failure": f"ended by signal {-done.returncode}"}
    if done.returncode:
        return {"failure": name_error(done.stderr)}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def name_error(text: str) -> str:
    """Return the kind of error with which a process ended, and the module that it lacks, if any."""
    lines = text.strip().splitlines() or ["no message"]
    kind, _, rest = lines[-1].partition(":")
    return lines[-1] if kind == "ModuleNotFoundError" else kind + ("" if rest else " ended it")

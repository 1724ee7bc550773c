"""Stored results of whole fits, as the benchmark writes them."""

from __future__ import annotations

from typing import Any

from fit_systems import SYSTEMS

STAMP = {
    "machine": {
        "processor": "a processor",
        "threads": 1,
        "instruction_set": "portable",
        "python": "3",
        "versions": {"numpy": "2"},
    },
    "parameters": {"rounds": 2, "limit": 300.0, "long": 10.0},
    "source": "1",
}


def make_row(system: str, seconds: float, inertia: float, **more: Any) -> dict[str, Any]:
    """Return a stored row of a system's main effort."""
    return {
        "system": system,
        "effort": SYSTEMS[system].main,
        "seconds": seconds,
        "foreign": 0.0,
        "normalized_inertia": inertia,
        "extra_bytes": 8_000,
        "n_components": 10,
        **more,
    }


def make_entry(*rows: dict[str, Any], k: int = 10, **more: Any) -> dict[str, Any]:
    """Return a stored data set."""
    return {
        "title": "Rows",
        "k": k,
        "n": 100,
        "d": 784,
        "sparse": False,
        "rows": list(rows),
        "left_out": ["somebody, default: did not end within 300 s."],
        **STAMP,
        **more,
    }

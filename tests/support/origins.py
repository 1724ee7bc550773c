"""A machine and a measurement, as benchmarks store them."""

from __future__ import annotations

from typing import Any

MACHINE: dict[str, Any] = {
    "processor": "a processor",
    "processors": 4,
    "threads": 2,
    "instruction_set": "avx2",
    "python": "3",
    "versions": {"projected_kmeans": "1"},
}
MEASURED: dict[str, Any] = {
    "start": "2026-01-02T03:04:05Z",
    "seconds": 6.0,
    "command": "python benchmarks/bench_x.py --rounds 1",
    "load": 0.1,
    "busy": 0.0,
    "commit": "abc1234",
}

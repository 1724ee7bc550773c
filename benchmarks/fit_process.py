"""What a process needs that fits one system: the rows of a file, and its peak of memory.

Imports nothing of this package, because some peers run in an environment that does not have it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

# Rows of float32, dense or sparse.
Rows: TypeAlias = Any


def load_rows(path: Path) -> Rows:
    """Return stored rows, all of them in memory."""
    return scipy.sparse.load_npz(path) if path.suffix == ".npz" else np.load(path)


def forget_peak() -> None:
    """Reset the peak of resident memory to what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_kilobytes() -> int:
    """Return the peak of resident memory since it was last reset."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])

"""The documents that docs/reproduction.md was made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from projected_kmeans.paper.reproduction import EXHIBITS

DOCS = Path(__file__).parents[2] / "docs"
STORED = DOCS / "reproduction"


def load_documents() -> dict[str, Any]:
    """Return the stored documents by the name of their experiment."""
    return {name: json.loads((STORED / f"{name}.json").read_text()) for name in EXHIBITS}

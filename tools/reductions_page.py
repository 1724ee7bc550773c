"""The page docs/explanation/reductions.md, from the stored results of the experiment "beyond".

Run as a program it writes the page. A test compares the page with what the view renders.
"""

from __future__ import annotations

import json
from pathlib import Path

from projected_kmeans.paper.views.reductions_page import render_reductions

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "explanation" / "reductions.md"
STORED = DOCS / "reproduction" / "beyond.json"


if __name__ == "__main__":
    document = json.loads(STORED.read_text(encoding="utf-8"))
    PAGE.write_text(render_reductions(document), encoding="utf-8")

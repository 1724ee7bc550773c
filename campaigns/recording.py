"""What all campaigns share: the description of the machine, and stored results.

A campaign runs for minutes or hours and tries to break a promise of docs/reliability.md. Each
campaign is a script of this folder with its own ``--help``. It stores what it did and what it found
as ``results/<name>.json``, from which `reliability_page` renders the figures of the page.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from measuring import store_results
from provenance import Origin

RESULTS = Path(__file__).parent / "results"

# A campaign imports this module when it starts.
ORIGIN = Origin.now()


def store_campaign(
    name: str, command: str, counts: Mapping[str, Any], folder: Path | None = None
) -> Path:
    """Write what a campaign did as JSON; return the file.

    Parameters
    ----------
    name : str
        The name of the campaign, which is that of its script.
    command : str
        The command that repeats it.
    counts : mapping
        What was tried and what was found, as numbers and short texts. The entry "failures" lists
        what broke a promise, and is empty if nothing did.
    folder : Path, optional
        Where to write; ``results`` beside this file by default.
    """
    assert "failures" in counts, "a campaign says what failed, also if nothing did"
    origin = ORIGIN.describe(2)
    origin["measured"]["command"] = command
    document = {
        "campaign": name,
        "date": origin["measured"]["start"][:10],
        "command": command,
        **origin,
        **counts,
    }
    return store_results(name, document, RESULTS if folder is None else folder)

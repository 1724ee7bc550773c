"""Files that once crashed a reader, or made it ask for far too much memory, give one sentence."""

from __future__ import annotations

from pathlib import Path

import fuzz_cases
import pytest

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_files_that_did_harm_give_rows_or_one_sentence(path: Path) -> None:
    """Each file is read by the reader of its folder, in this process."""
    end = fuzz_cases.judge(lambda: fuzz_cases.READERS[path.parent.name](path))
    assert end.outcome in fuzz_cases.GOOD, end


def test_there_are_files() -> None:
    """The folder was found."""
    assert len(FILES) >= 14

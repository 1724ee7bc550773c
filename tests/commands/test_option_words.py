"""Errors of the command line name options as they are typed, not parameters of Python."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from projected_kmeans.commands.option_words import speak_options
from tests.support.commands import Call, check_refusal

COMMAND = click.Command(
    "fit",
    params=[
        click.Option(["--columns"]),
        click.Option(["-k", "--clusters", "n_clusters"]),
        click.Option(["--image-size"]),
        click.Option(["--memory-limit"]),
        click.Option(["--variable"]),
        click.Option(["--folder-labels"], is_flag=True),
    ],
)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("choose with columns=['a b', 'c']", "choose with --columns a b,c"),
        ("or choose with columns=[...]", "or choose with --columns A,B"),
        ("n_clusters=9 exceeds n_samples=4", "--clusters 9 exceeds n_samples=4"),
        ("give image_size=(64, 48)", "give --image-size 64x48"),
        ("so folder_labels=True cannot be chosen", "so --folder-labels cannot be chosen"),
        ("but memory_limit leaves 9 bytes", "but --memory-limit leaves 9 bytes"),
        ("choose one with variable", "choose one with --variable"),
        ("a.csv has 3 columns; use fewer columns", "a.csv has 3 columns; use fewer columns"),
        ("give --columns; no n_clusters_=1", "give --columns; no n_clusters_=1"),
    ],
)
def test_parameters_become_options(sentence: str, expected: str) -> None:
    """Values are written as they are typed; words of the sentence stay."""
    assert speak_options(sentence, COMMAND) == expected
    assert speak_options(sentence, None) == sentence


def test_the_command_line_speaks_of_its_options(call: Call, tmp_path: Path) -> None:
    """The advice of an error can be typed."""
    vectors = pa.FixedSizeListArray.from_arrays(np.ones(6, np.float32), 2)
    pq.write_table(pa.table({"id": [1, 2, 3], "embedding": vectors}), tmp_path / "e.parquet")
    check_refusal(call("fit", tmp_path / "e.parquet", "-k", 2), "choose with --columns embedding")
    check_refusal(
        call("fit", tmp_path / "e.parquet", "-k", 9, "--columns", "embedding"),
        "--clusters 9 exceeds",
    )

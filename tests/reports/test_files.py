"""A stored report is the same when it is read, and a damaged file gives one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from projected_kmeans.reports.files import load_report, read_facts, save_report
from projected_kmeans.reports.values import Report


def test_a_stored_report_is_the_same(report: Report, tmp_path: Path) -> None:
    """What is read equals what was written, to the last bit; folder and file lead to it."""
    path = save_report(report, tmp_path)
    assert load_report(path) == report == load_report(tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": "other"}, "is not a projected_kmeans result"),
        ({"format_version": 2}, "has format version 2 and this package reads 1"),
        ({"clusters": "none"}, "damaged (Expected `array`, got `str` - at `clusters`)"),
        ({"facts": None}, "damaged (Expected `object`, got `null` - at `facts`)"),
        ({"members": [{"cluster": 1.5}]}, "Expected `int`, got `float` - at `members"),
        ({"image_shape": [1, True]}, "Expected `int`, got `bool` - at `image_shape"),
        ({"curve": {"dimensions": [1], "ratios": [], "sample_rows": 1}}, "not one ratio for each"),
    ],
)
def test_a_damaged_report_gives_one_sentence(
    report: Report, tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    """Whatever is wrong in report.json, one sentence names the file, the place and the advice."""
    path = save_report(report, tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        load_report(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_field_is_named(report: Report, tmp_path: Path) -> None:
    """A report without one of its fields is refused by the name of the field."""
    path = save_report(report, tmp_path)
    document = json.loads(path.read_text())
    del document["facts"]["results"]["inertia"]
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="missing required field `inertia`"):
        load_report(path)


@pytest.mark.parametrize("content", ["{", "[1]", '{"format": NaN}', ""])
def test_a_file_that_is_not_json_gives_one_sentence(tmp_path: Path, content: str) -> None:
    """Files that are not JSON objects are refused."""
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(ValueError, match=r"result\.json is not"):
        load_report(tmp_path)


def test_a_folder_without_a_result_is_refused(tmp_path: Path) -> None:
    """An existing folder that no fit wrote gives one sentence."""
    with pytest.raises(ValueError, match=r"result\.json does not exist; name the folder"):
        load_report(tmp_path)


def test_a_damaged_result_names_its_field(report: Report) -> None:
    """A result whose field has another type is refused."""
    with pytest.raises(ValueError, match=r"^the result is damaged .*; fit again$"):
        read_facts({"package_version": 3})

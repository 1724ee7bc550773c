"""A stored report is the same when it is read, and a damaged file gives one sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from projected_kmeans.reports.files import find_contradiction, load_report, read_facts, save_report
from projected_kmeans.reports.page import render_report
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


Change = Callable[[dict[str, Any]], object]


def test_a_report_of_a_fit_agrees(report: Report) -> None:
    """What a fit has measured contradicts nothing."""
    assert find_contradiction(report) is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda one: one["clusters"].pop(), "the clusters are not numbered from 0 to 4"),
        (lambda one: one["clusters"][1].update(cluster=7), "the clusters are not numbered"),
        (lambda one: one["clusters"][0].update(rows=1), "are not cluster_sizes"),
        (lambda one: one["members"][0].update(cluster=9), "cluster 9 is shown, and there are 5"),
        (lambda one: one["row_map"]["clusters"].__setitem__(0, 5), "cluster 5 is shown"),
        (lambda one: one["row_map"]["rows"].__setitem__(0, 10**9), "row 1000000000 is shown"),
        (lambda one: one["row_map"]["center_x"].pop(), "have different lengths"),
        (lambda one: one["clusters"][2].update(inertia=None), "not the inertia of each cluster"),
        (lambda one: one["facts"]["data"].update(shape=[7, 2]), "is shown, and there are 7 rows"),
        (lambda one: one["facts"].update(key=2**64), "is not below 2**64"),
        (lambda one: one["facts"].update(seconds={}), "length >= 1 - at `facts.seconds`"),
        (lambda one: one["facts"]["results"].update(cluster_sizes=[]), "length >= 1 - at"),
        (lambda one: one["facts"]["results"].update(inertia=10**400), "- at `facts.results.iner"),
    ],
)
def test_a_contradiction_gives_one_sentence(
    report: Report, tmp_path: Path, change: Change, sentence: str
) -> None:
    """Each contradiction names the file and what is wrong."""
    path = save_report(report, tmp_path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        load_report(path)
    assert str(caught.value).startswith(f"{path} is damaged (")
    assert str(caught.value).endswith("; fit again")


def test_extreme_numbers_can_be_drawn(report: Report, tmp_path: Path) -> None:
    """The largest numbers that the fields allow make a page."""
    path = save_report(report, tmp_path)
    document = json.loads(path.read_text())
    proof = {"sentence": "", "certain": True, "confidence": 1.0, "method": "", "lower_bound": 0.0}
    results = document["facts"]["results"]
    results.update(inertia=1.7e308, certificate={**proof, "ratio": 1.7e308}, n_iter=2**63 - 1)
    document["facts"]["seconds"] = {"check": 1e18}
    for one in document["clusters"]:
        one.update(inertia=1.7e308, spread=1.7e308, farthest=1.7e308)
    document["facts"]["unserialised"] = {"init": "array([1,\n 2])"}
    path.write_text(json.dumps(document))
    page = render_report(load_report(path))
    assert "init=...  # array([1, 2])" in page

"""Certificates on the command line: the command ``certify`` and ``fit --certificate``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from projected_kmeans import certify
from tests.support.commands import ROWS, TRUTH, Call, check_refusal


def test_certify_prints_a_sentence_and_a_table(call: Call, data: Path, tmp_path: Path) -> None:
    """The output is the sentence and a table, or JSON; bad input is one sentence with code 2."""
    np.save(tmp_path / "labels.npy", TRUTH)
    run = call("certify", data, tmp_path / "labels.npy")
    assert run.out.startswith("proven optimal for all ")
    assert "lower bound" in run.out
    told = json.loads(call("certify", data, tmp_path / "labels.npy", "--json").out)
    assert told["ratio"] == certify(ROWS, TRUTH).ratio
    np.save(tmp_path / "short.npy", TRUTH[1:])
    check_refusal(call("certify", data, tmp_path / "short.npy"), "labels")
    check_refusal(call("certify", data, tmp_path / "labels.npy", "--delta", 2), "--delta 2")


def test_fit_writes_its_certificate(call: Call, data: Path, tmp_path: Path) -> None:
    """--certificate adds the sentence to the summary and the certificate to the files."""
    run = call("fit", data, "-k", 3, "--certificate", "auto", "--out", tmp_path / "out")
    assert (run.code, run.err) == (0, "")
    stored = json.loads((tmp_path / "out" / "result.json").read_text())
    certificate = stored["results"]["certificate"]
    assert f"certificate    {certificate['sentence']}" in run.out
    assert certificate["certain"] is True
    assert certificate["method"] in ("neighbour", "tightened", "semidefinite")
    assert stored["parameters"]["certificate"] == "auto"
    assert "certify" in stored["seconds"]
    plain = call("fit", data, "-k", 3, "--certificate", "none")
    assert "certificate" not in plain.out


def test_fit_limits_the_time_of_its_certificate(call: Call, data: Path) -> None:
    """--certificate-time 0 proves nothing, which JSON shows as a ratio of null."""
    short = call("fit", data, "-k", 3, "--certificate", "full", "--certificate-time", 0, "--json")
    told = json.loads(short.out)["results"]["certificate"]
    assert (told["ratio"], told["method"]) == (None, "none")
    check_refusal(call("fit", data, "-k", 3, "--certificate-time", -1), "certificate_time=-1.0")

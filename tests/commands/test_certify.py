"""Certificates on the command line: the command ``certify`` and ``fit --certificate``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from projected_kmeans import certify, inertia
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


def test_the_time_of_a_proof_is_limited(call: Call, data: Path, tmp_path: Path) -> None:
    """--time-limit 0 proves nothing, which JSON shows as a ratio of null; so does --time-budget."""
    np.save(tmp_path / "labels.npy", TRUTH)
    short = call("certify", data, tmp_path / "labels.npy", "--time-limit", 0, "--json")
    told = json.loads(short.out)
    assert (told["ratio"], told["method"]) == (None, "none")
    fit = call("fit", data, "-k", 3, "--certificate", "full", "--time-budget", 0, "--json")
    assert json.loads(fit.out)["results"]["certificate"] is None


def test_fit_takes_a_guarantee(call: Call, data: Path) -> None:
    """--guarantee takes percent or a ratio; it says whether it is met, and warns if it is not."""
    met = call("fit", data, "-k", 3, "--guarantee", "1 %")
    assert (met.code, met.err) == (0, "")
    assert "the guarantee of 1.01 is met" in met.out
    missed = call("fit", data, "-k", 3, "--guarantee", "1.01", "--time-budget", 0)
    assert missed.code == 0
    assert "guarantee=1.01 is not met: the fit was stopped before anything" in missed.err
    for wrong in ("-1 %", "0.5", "much", "inf"):
        check_refusal(call("fit", data, "-k", 3, "--guarantee", wrong), "--guarantee")


def test_certify_writes_a_better_clustering(call: Call, data: Path, tmp_path: Path) -> None:
    """A better clustering is told, and written if asked for; without one nothing is written."""
    labels, better = tmp_path / "labels.npy", tmp_path / "better.npy"
    worse = TRUTH.copy()
    worse[:2] = (worse[:2] + 1) % 3
    np.save(labels, worse)
    told = call("certify", data, labels)
    assert "--better-labels FILE writes these clusters" in told.out
    run = call("certify", data, labels, "--better-labels", better, "--json")
    found = json.loads(run.out)
    assert found["better_inertia"] < found["inertia"]
    assert inertia(ROWS, np.load(better)) == found["better_inertia"]
    better.unlink()
    np.save(labels, TRUTH)
    best = json.loads(call("certify", data, labels, "--better-labels", better, "--json").out)
    assert best["better_inertia"] is None
    assert not better.exists()
    refused = call("certify", data, labels, "--better-labels", tmp_path / "better.txt")
    check_refusal(refused, "unknown format")


def test_certify_reads_what_fit_writes(call: Call, data: Path, tmp_path: Path) -> None:
    """Labels that --out-labels wrote, alone or beside ids, are read again."""
    table = pd.DataFrame(ROWS, columns=[f"c{i}" for i in range(ROWS.shape[1])])
    for name in ("id", "label"):
        table.assign(**{name: [f"r{i}" for i in range(len(ROWS))]}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    wanted = json.loads(call("fit", data, "-k", 3, "--seed", 0, "--json").out)["results"]["inertia"]
    for suffix in ("npy", "csv", "parquet"):
        out = tmp_path / f"labels.{suffix}"
        assert call("fit", data, "-k", 3, "--seed", 0, "--out-labels", out, "-q").code == 0
        told = json.loads(call("certify", data, out, "--json").out)
        assert told["inertia"] == pytest.approx(wanted, rel=1e-9)
    for name in ("id", "label"):
        out = tmp_path / f"clusters-{name}.csv"
        words = (tmp_path / f"{name}.csv", "-k", 3, "--seed", 0, "--id-column", name)
        assert call("fit", *words, "--out-labels", out, "-q").code == 0
        told = json.loads(call("certify", data, out, "--json").out)
        assert told["inertia"] == pytest.approx(wanted, rel=1e-9)

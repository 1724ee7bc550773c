"""What a command has left: the old outputs, the new ones, or something that must not exist."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from forked_commands import ForkedCommands, Request

from projected_kmeans.estimator.model_files import load_model
from projected_kmeans.output_files import JOURNAL, TEMPORARY

N_ROWS = 150
PAGE_END = "</html>"
FILES = ("labels.npy", "centers.npy", "model.json", "result.json", "report.json")


@dataclass(frozen=True)
class Case:
    """A command that replaces outputs, and what its outputs are.

    Attributes
    ----------
    name : str
        What the campaign calls it.
    words : tuple of str
        The words after the program's name.
    model : Path or None
        The folder of a fit that it writes.
    files : tuple of Path
        Single files that it writes.
    checkpoint : Path or None
        The folder of its checkpoint.
    """

    name: str
    words: tuple[str, ...]
    model: Path | None = None
    files: tuple[Path, ...] = ()
    checkpoint: Path | None = None


def make_cases(work: Path, data: Path, model: Path) -> list[Case]:
    """Return the commands that a campaign interrupts; they write into the folder ``work``.

    Parameters
    ----------
    work : Path
        Where outputs go.
    data : Path
        The rows.
    model : Path
        A stored model of the rows, elsewhere.
    """
    out, page, labels = work / "model", work / "page.html", work / "labels.csv"
    quick = ("--solver", "lloyd", "--n-init", "2", "--projection", "sign", "--components", "4")
    fit = ("fit", str(data), "-k", "5", "--seed", "3", "-q", *quick)
    predict = ("predict", str(model), str(data), "-q", "--out")
    whole = ("--out", str(out), "--report", str(page), "--out-labels", str(labels))
    steps = ("--checkpoint", str(work / "steps"), "--out", str(out))
    return [
        Case("fit --out", (*fit, "--out", str(out)), out),
        Case("fit --out --report --out-labels", (*fit, *whole), out, (page, labels)),
        Case("predict --out", (*predict, str(labels)), files=(labels,)),
        Case("fit --checkpoint --out", (*fit, *steps), out, checkpoint=work / "steps"),
        Case("report --out", ("report", str(model), "--out", str(page)), files=(page,)),
        Case(
            "choose-k --out",
            ("choose-k", str(data), "--range", "2:4", "-q", "--out", str(labels)),
            files=(labels,),
        ),
    ]


class Bench:
    """The outputs that lay there before, and those of a run that nothing disturbs.

    Parameters
    ----------
    commands : ForkedCommands
        Runs the commands.
    folder : Path
        For the data and the copies; not below ``commands.work``.
    """

    def __init__(self, commands: ForkedCommands, folder: Path) -> None:
        self.commands, self.work = commands, commands.work
        self.data, self.old, self.new = folder / "rows.npy", folder / "old", folder / "new"
        stream = np.random.default_rng(0)
        means = 0.5 * stream.normal(size=(5, 8))
        rows = means[stream.integers(5, size=N_ROWS)] + stream.normal(size=(N_ROWS, 8))
        np.save(self.data, rows.astype(np.float32))
        before = ("fit", str(self.data), "-k", "4", "-q", "--out", str(self.old / "model"))
        self.old.mkdir()
        assert commands.run(Request(before)).code == 0
        (self.old / "page.html").write_text("an old page")
        (self.old / "labels.csv").write_text("old labels")
        self.cases = make_cases(self.work, self.data, self.old / "model")

    def reset(self, *, empty: bool = False) -> None:
        """Let the old outputs lie in the work folder, or nothing."""
        shutil.rmtree(self.work)
        shutil.copytree(self.old, self.work) if not empty else self.work.mkdir()

    def measure(self, case: Case) -> float:
        """Run a case undisturbed, keep its outputs to compare with, and return its seconds."""
        self.reset()
        done = self.commands.run(Request(case.words))
        assert done.code == 0, done
        kept = self.new / case.name
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.work, kept)
        return done.seconds

    def find_wrong(self, case: Case, *, same: bool = True) -> str | None:
        """Return what is wrong with the outputs of a case, or None if they are whole.

        Parameters
        ----------
        case : Case
            What was run.
        same : bool, default=True
            Whether new outputs must be those of an undisturbed run; a fit that Ctrl-C has stopped
            gives its best result so far.
        """
        for file in case.files:
            if wrong := self._judge_file(case, file, same=same):
                return wrong
        return None if case.model is None else self._judge_model(case, same=same)

    def find_leftovers(self) -> list[str]:
        """Return the temporary files and journals below the work folder."""
        names = [file.name for file in self.work.rglob(".*")]
        return [name for name in names if name == JOURNAL or TEMPORARY.fullmatch(name)]

    def _judge_file(self, case: Case, file: Path, *, same: bool) -> str | None:
        content = file.read_bytes() if file.exists() else None
        before, after = (place / file.name for place in (self.old, self.new / case.name))
        if content is None or content == before.read_bytes():
            return None
        if file.suffix == ".html":
            whole = content.decode().rstrip().endswith(PAGE_END)
        else:
            whole = not same or content == after.read_bytes()
        return None if whole else f"{file.name} is neither the old nor the new one"

    def _judge_model(self, case: Case, *, same: bool) -> str | None:
        folder = self.work / "model"
        if not (folder / "model.json").exists() and not (folder / JOURNAL).exists():
            left = [name for name in FILES if (folder / name).exists()]
            return f"{left} without model.json" if left else None
        try:
            model = load_model(folder)
        except ValueError as error:
            return f"refused: {error}"
        found = _describe(folder)
        if len(found["fits"]) != 1 or len(found["labels"]) != N_ROWS:
            return f"files of several fits: {found['fits']}"
        if not (folder / "result.json").exists():
            return "result.json is missing"
        expected = [_describe(self.old / "model")]
        expected += [_describe(self.new / case.name / "model")] if same else []
        if same and found["bytes"] not in [one["bytes"] for one in expected]:
            return f"neither the old nor the new fit (inertia {model.inertia_})"
        return None


def _describe(folder: Path) -> dict[str, Any]:
    """Return the hashes of fits that the documents of a folder hold, its labels and its bytes."""
    documents = {
        name: json.loads((folder / name).read_text())
        for name in ("model.json", "result.json", "report.json")
        if (folder / name).exists()
    }
    fits = {one.get("facts", one).get("fit") for one in documents.values()}
    names = ("labels.npy", "centers.npy", "model.json")
    return {
        "fits": fits,
        "labels": np.load(folder / "labels.npy"),
        "bytes": [(folder / name).read_bytes() for name in names],
    }

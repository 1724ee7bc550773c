"""The folder of a fit: files of two fits in one folder are refused by everyone who reads them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans
from projected_kmeans.commands import fit_outputs
from projected_kmeans.estimator.model_files import load_model, save_model
from tests.support.commands import ROWS, Call, check_refusal

SENTENCE = "is not of the fit that model.json describes, or is damaged; copy the whole folder"
FILES = ("labels.npy", "centers.npy", "model.json", "result.json", "report.json")


@pytest.fixture
def folders(call: Call, data: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Return the folders of two fits of the same rows."""
    for name, k in (("old", 3), ("new", 4)):
        run = call("fit", data, "-k", k, "--out", tmp_path / name, "-q")
        assert run.code == 0, run
    return tmp_path / "old", tmp_path / "new"


def forget_hashes(folder: Path) -> None:
    """Make the documents of a folder those of an earlier version, which had no hashes of fits."""
    for name in ("model.json", "result.json", "report.json"):
        document = json.loads((folder / name).read_text())
        document.pop("files", None)
        document.pop("fit", None)
        document.get("facts", {}).pop("fit", None)
        (folder / name).write_text(json.dumps(document))


def test_every_mixture_is_refused(
    call: Call, data: Path, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    """One file of another fit, whichever, stops predict, report, certify and load_model."""
    old, new = folders
    for name in FILES:
        mixed = tmp_path / f"mixed-{name}"
        shutil.copytree(old, mixed)
        shutil.copy(new / name, mixed / name)
        for command in (
            ("predict", mixed, data),
            ("report", mixed),
            ("certify", data, mixed / "labels.npy"),
        ):
            check_refusal(call(*command), "model.json")
        with pytest.raises(ValueError, match=r"model\.json"):
            load_model(mixed)


@pytest.mark.parametrize("name", ["labels.npy", "result.json", "report.json", "model.json"])
def test_mixtures_of_earlier_versions(
    name: str, call: Call, data: Path, folders: tuple[Path, Path]
) -> None:
    """Files of two fits that have no hashes are refused by the numbers that they share."""
    for folder in folders:
        forget_hashes(folder)
        load_model(folder)
        assert call("report", folder).code == 0
        assert call("certify", data, folder / "labels.npy").code == 0
    shutil.copy(folders[1] / name, folders[0] / name)
    with pytest.raises(ValueError, match=r"model\.json"):
        load_model(folders[0])
    check_refusal(call("certify", data, folders[0] / "labels.npy"), "model.json")


def test_missing_and_foreign_files(call: Call, data: Path, folders: tuple[Path, Path]) -> None:
    """Labels, result and report may be missing, and other files may lie in the folder."""
    folder = folders[0]
    for name in ("report.json", "result.json", "labels.npy"):
        (folder / name).unlink()
        assert call("predict", folder, data).code == 0
    (folder / "result.json").write_text('{"mine": 1}')
    np.save(folder / "truth.npy", np.zeros(60, int))
    assert call("predict", folder, data).code == 0
    assert call("certify", data, folder / "truth.npy").code == 0


def test_a_model_beside_labels_of_the_user(tmp_path: Path) -> None:
    """A folder may hold a user's own labels.npy: a model that is saved alone does not list it."""
    np.save(tmp_path / "labels.npy", np.arange(3))
    model = ProjectedKMeans(3, random_state=0).fit(ROWS)
    save_model(model, tmp_path)
    load_model(tmp_path)
    save_model(ProjectedKMeans(4, random_state=0).fit(ROWS), tmp_path)
    load_model(tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), np.arange(3))


def test_a_model_that_is_saved_again_in_place(call: Call, folders: tuple[Path, Path]) -> None:
    """The same model with another parameter keeps the labels, result and report of its fit."""
    model = load_model(folders[0]).set_params(n_threads=1)
    save_model(model, folders[0])
    assert load_model(folders[0]).n_threads == 1
    assert call("report", folders[0]).code == 0
    assert set(FILES) <= {file.name for file in folders[0].iterdir()}
    (folders[0] / "labels.npy").write_bytes(b"other")
    with pytest.raises(ValueError, match=SENTENCE):
        load_model(folders[0])


def test_another_model_takes_the_place_of_a_fit(folders: tuple[Path, Path]) -> None:
    """A model that replaces that of a fit takes the files with it that describe only the old."""
    (folders[0] / "mine.txt").write_text("mine")
    save_model(load_model(folders[1]), folders[0])
    assert sorted(file.name for file in folders[0].iterdir()) == [
        "centers.npy",
        "mine.txt",
        "model.json",
    ]
    assert len(load_model(folders[0]).cluster_centers_) == 4


def test_files_that_a_user_has_changed_are_not_removed(folders: tuple[Path, Path]) -> None:
    """Only files that are still those of the replaced fit are removed."""
    np.save(folders[0] / "labels.npy", np.arange(7))
    (folders[0] / "report.json").write_text("{}")
    save_model(load_model(folders[1]), folders[0])
    np.testing.assert_array_equal(np.load(folders[0] / "labels.npy"), np.arange(7))
    assert (folders[0] / "report.json").read_text() == "{}"


def test_a_report_of_another_fit_is_not_added(
    call: Call, data: Path, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process replaces the folder before the report is written, no report is."""
    describe = fit_outputs.describe_report

    def replace_folder(*arguments: object, **options: object) -> object:
        save_model(load_model(folders[1]), folders[0])
        return describe(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(fit_outputs, "describe_report", replace_folder)
    run = call("fit", data, "-k", 3, "--out", folders[0], "--seed", 5, "-q")
    check_refusal(run, "holds another fit by now, so that this report is not written")
    assert len(load_model(folders[0]).cluster_centers_) == 4

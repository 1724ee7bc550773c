"""Models on disk: the same predictions after a round trip, and no trust in what a file says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from projected_kmeans import ProjectedKMeans, load_model, save_model
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.estimator.model_files import save_fit

ROWS = np.random.default_rng(0).normal(size=(60, 12)) + 4 * np.repeat(np.eye(3, 12), 20, axis=0)


@pytest.fixture
def model() -> ProjectedKMeans:
    """Return a small fitted model."""
    return ProjectedKMeans(3, n_components=4, random_state=1).fit(ROWS)


@pytest.fixture
def folder(model: ProjectedKMeans, tmp_path: Path) -> Path:
    """Return a folder that holds the small model."""
    save_model(model, tmp_path)
    return tmp_path


def edit(folder: Path, **changes: Any) -> None:
    """Change fields of a stored model.json."""
    document = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(document | changes))


def replace_centers(folder: Path, centers: np.ndarray) -> None:
    """Replace the stored centers and make the checksum fit."""
    np.save(folder / "centers.npy", centers)
    digest = hashlib.sha256((folder / "centers.npy").read_bytes()).hexdigest()
    edit(folder, centers_sha256=digest)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("projection", ["auto", "sign", "gaussian", None])
def test_a_loaded_model_gives_the_same_bits(dtype: Any, projection: Any, tmp_path: Path) -> None:
    """After a round trip, predictions, distances and scores are the same bits."""
    rows = (ROWS * 9 + 60).astype(dtype)
    model = ProjectedKMeans(3, projection=projection, random_state=3).fit(rows)
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)
    assert loaded.predict(rows).tobytes() == model.predict(rows).tobytes()
    assert loaded.transform(rows).tobytes() == model.transform(rows).tobytes()
    assert loaded.score(rows) == model.score(rows)
    assert loaded.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()


def test_fitted_attributes_come_back(model: ProjectedKMeans, folder: Path) -> None:
    """What describes the fit is restored, and what belongs to its rows is not."""
    loaded = load_model(folder / "model.json")
    for name in (
        "inertia_",
        "normalized_inertia_",
        "n_components_",
        "n_features_in_",
        "n_iter_",
        "key_",
    ):
        assert getattr(loaded, name) == getattr(model, name), name
    assert not hasattr(loaded, "labels_")
    assert not hasattr(loaded, "projection_")
    assert loaded.get_params() == model.get_params()


def test_a_loaded_model_can_be_saved_again(folder: Path, tmp_path: Path) -> None:
    """Saving what was loaded writes the same bytes."""
    (tmp_path / "again").mkdir()
    save_model(load_model(folder), tmp_path / "again")
    for name in ("centers.npy", "model.json"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_a_model_can_move(folder: Path, tmp_path: Path) -> None:
    """A model holds no path, so that its folder can be renamed."""
    assert str(tmp_path) not in (folder / "model.json").read_text()
    moved = folder.rename(tmp_path.with_name("moved"))
    load_model(moved).predict(ROWS)


def test_feature_names_come_back(tmp_path: Path) -> None:
    """The column names of a data frame are checked after a round trip too."""
    frame = pd.DataFrame(ROWS, columns=[f"size {column}" for column in range(12)])
    save_model(ProjectedKMeans(3, random_state=0).fit(frame), tmp_path)
    loaded = load_model(tmp_path)
    loaded.predict(frame)
    with pytest.raises(ValueError, match="X has no column 'size 0', which the model was fitted to"):
        loaded.predict(frame.rename(columns={"size 0": "other"}))


def test_parameters_that_json_cannot_hold(tmp_path: Path) -> None:
    """Arrays and generators are told by their repr, and numpy numbers stay numbers."""
    generator = np.random.RandomState(0)
    model = ProjectedKMeans(np.int64(3), init=ROWS[:3], random_state=generator).fit(ROWS)
    save_model(model, tmp_path)
    document = json.loads((tmp_path / "model.json").read_text())
    assert document["parameters"]["n_clusters"] == 3
    assert set(document["unserialised"]) == {"init", "random_state"}
    np.testing.assert_array_equal(load_model(tmp_path).predict(ROWS), model.predict(ROWS))


def test_a_model_saves_itself(model: ProjectedKMeans, tmp_path: Path) -> None:
    """The method writes what the function writes."""
    save_model(model, tmp_path / "one", labels=True)
    model.save(tmp_path / "other", labels=True)
    for name in ("model.json", "centers.npy", "labels.npy"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_only_fitted_models_are_saved(tmp_path: Path) -> None:
    """A model without centers is refused before anything is written."""
    with pytest.raises(NotFittedError):
        save_model(ProjectedKMeans(3), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_fit_is_saved_as_four_files(model: ProjectedKMeans, tmp_path: Path) -> None:
    """Labels, centers, model and result are written, and result.json holds its document."""
    document = describe_fit(model, ROWS, name="rows")
    files = save_fit(model, document, tmp_path)
    assert sorted(files) == sorted(tmp_path.iterdir())
    assert json.loads((tmp_path / "result.json").read_text()) == document
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), model.labels_)


def test_a_model_of_an_earlier_version() -> None:
    """A model that version 0.1.0 wrote predicts, with its certificate and its column names."""
    old = load_model(Path(__file__).parent / "data" / "model_of_version_0_1_0")
    rows = pd.DataFrame([[9.0, 9.0, 9.0], [0.0, 0.0, 0.0]], columns=["a", "b", "c"])
    assert old.predict(rows).tolist() == [0, 1]
    assert (old.inertia_, old.key_, old.n_iter_) == (3.0, 0, 7)
    assert "polish_candidates" not in old.get_params()
    assert old.certificate_ is not None
    assert old.certificate_.method == "neighbour"


def refusal(folder: Path) -> str:
    """Return the one sentence with which loading refuses."""
    with pytest.raises(ValueError, match=";") as caught:
        load_model(folder)
    assert type(caught.value) is ValueError
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_missing_files(folder: Path) -> None:
    """Without model.json or centers.npy the missing one is named."""
    assert "model.json does not exist" in refusal(folder / "none")
    (folder / "centers.npy").unlink()
    assert "centers.npy does not exist; keep it beside" in refusal(folder)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "[" * 10**5, '{"format": "x"}', '{"a": NaN}']
)
def test_documents_that_are_no_model(text: str, folder: Path) -> None:
    """Anything but a model's JSON is refused."""
    (folder / "model.json").write_text(text)
    assert "model.json is not" in refusal(folder)


def test_bytes_that_are_no_text(folder: Path) -> None:
    """A model.json of other bytes is refused."""
    (folder / "model.json").write_bytes(b"\xff\x00\xfe")
    assert "model.json is not valid JSON" in refusal(folder)


@pytest.mark.parametrize("version", [2, 0, None, "1"])
def test_other_versions(version: Any, folder: Path) -> None:
    """A format of another version names both versions and the way out."""
    edit(folder, format_version=version)
    assert f"version {version!r} and this package reads 1; upgrade" in refusal(folder)


def test_changed_centers(folder: Path) -> None:
    """Centers that changed since are noticed by their checksum."""
    content = bytearray((folder / "centers.npy").read_bytes())
    content[-1] ^= 1
    (folder / "centers.npy").write_bytes(bytes(content))
    assert "does not match the checksum" in refusal(folder)


@pytest.mark.parametrize(
    ("centers", "part"),
    [
        (np.zeros((3, 5)), "(3, 5) and model.json says"),
        (np.zeros((2, 12)), "(2, 12) and model.json says"),
        (np.zeros((3, 12), dtype=np.float32), "float32 (3, 12) and model.json says float64"),
        (np.full((3, 12), np.nan), "NaN or infinity"),
        (np.full((3, 12), np.inf), "NaN or infinity"),
        (np.full((3, 12), {}, dtype=object), "is not an array"),
    ],
)
def test_wrong_centers(centers: np.ndarray, part: str, folder: Path) -> None:
    """Centers of another shape or dtype, not finite or pickled are refused."""
    replace_centers(folder, centers)
    assert part in refusal(folder)


@pytest.mark.parametrize(
    ("centers", "part"),
    [
        (np.zeros((3, 12), complex), "Invalid enum value 'complex128' - at `dtype`"),
        (np.full((3, 12), "1.5"), "- at `dtype`"),
        (np.zeros((3, 12), np.int64), "Invalid enum value 'int64' - at `dtype`"),
        (np.full((3, 12), 1e308), "reaches 1e+308, so that distances overflow"),
        (np.zeros((0, 12)), "Expected `int` >= 1 - at `n_clusters`, got 0"),
    ],
)
def test_centers_that_no_kernel_can_measure(centers: np.ndarray, part: str, folder: Path) -> None:
    """Centers are refused by their type, size and range, also where model.json says the same."""
    replace_centers(folder, centers)
    edit(folder, dtype=centers.dtype.name, n_clusters=len(centers))
    assert part in refusal(folder)


def test_centers_that_are_no_array(folder: Path) -> None:
    """Centers of other bytes with a fitting checksum are refused."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 12"
    starts = (b"}".rjust(70), b")}".rjust(70), b"000000000000)}".rjust(70), b" 12)".rjust(70))
    magic = b"\x93NUMPY\x01\x00"
    numbered = [magic + (len(header + end)).to_bytes(2, "little") + header + end for end in starts]
    for content in (b"", b"text", b"\x93NUMPY", b"\x93NUMPY\x09\x00", *numbered):
        (folder / "centers.npy").write_bytes(content)
        edit(folder, centers_sha256=hashlib.sha256(content).hexdigest())
        assert "centers.npy is not an array" in refusal(folder)


def test_centers_of_another_size_than_they_say(folder: Path) -> None:
    """Before an array is made, its header must ask for as many bytes as the file has."""
    content = (folder / "centers.npy").read_bytes()
    huge = content.replace(b"(3, 12), }" + b" " * 12, b"(3, 12" + b"0" * 12 + b"), }")
    for changed, said in ((content + b"\0", 288), (content[:-1], 288), (huge, 288 * 10**12)):
        (folder / "centers.npy").write_bytes(changed)
        edit(folder, centers_sha256=hashlib.sha256(changed).hexdigest())
        assert f"its header says {said} bytes, which it does not have" in refusal(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_clusters": "3"},
        {"n_features": 12.0},
        {"key": None},
        {"inertia": "small"},
        {"normalized_inertia": True},
        {"dtype": 64},
        {"parameters": []},
        {"parameters": {"n_cluster": 3}},
        {"parameters": {"n_threads": "many"}},
        {"feature_names": ["a", "b"]},
        {"feature_names": 12},
        {"feature_names": [1] * 12},
        {"n_clusters": 10**400},
        {"n_features": -12},
        {"n_components": 0},
        {"n_iter": True},
        {"key": 2**64},
        {"key": -1},
        {"inertia": 10**400},
        {"inertia": -1.0},
        {"dtype": "complex128"},
        {"parameters": {"n clusters": 3}},
        {"checkpoint": 1, "parameters": {"checkpoint": "/tmp"}},
        {"callback": 1, "parameters": {"callback": "print"}},
        {"parameters": {"memory_limit": "9" * 400}},
        {"certificate": {"ratio": 10**400}},
    ],
)
def test_wrong_fields(changes: dict[str, Any], folder: Path) -> None:
    """Every field of the wrong kind is named."""
    edit(folder, **changes)
    message = refusal(folder)
    assert "model.json" in message
    assert next(iter(changes)) in message

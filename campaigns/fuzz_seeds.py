"""One small sound file of every format and kind, for `fuzz_files` to damage.

A seed is a folder of files. One of its files is the victim of each mutation; the others stay as
they are. Files are small, because most of the time of a campaign is spent on reading them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.io
import scipy.sparse
import zarr
from PIL import Image

from projected_kmeans import FitState, ProjectedKMeans
from projected_kmeans.commands.main import main
from projected_kmeans.running import checkpoint as running_checkpoint

STREAM = np.random.default_rng(15)
ROWS = STREAM.normal(size=(24, 5)) + 6 * np.repeat(np.eye(3, 5), 8, axis=0)
SINGLES = ROWS.astype(np.float32)
SPARSE = np.where(STREAM.random(ROWS.shape) < 0.5, ROWS, 0.0)
COLUMNS = scipy.sparse.csc_array(SPARSE)
LABELS = np.repeat(np.arange(3), 8)
BYTES = STREAM.integers(0, 256, size=(6, 48), dtype=np.uint8)

# The projection of the fits whose checkpoints are seeds, by the folder of the seed.
PROJECTIONS = {"checkpoint": "sign", "finished_checkpoint": "svd"}

# How many files of a seed are read for each file of the slowest seeds.
CHEAP, USUAL, SLOW = 6, 3, 1


@dataclass(frozen=True)
class Seed:
    """Sound files of one kind.

    Attributes
    ----------
    name : str
        What the results call it.
    kind : {"rows", "labels", "model", "report", "checkpoint"}
        Who reads it.
    opens : str
        The path that is opened, below the folder of the seed.
    weight : int
        How often it is drawn, in proportion to others.
    files : dict
        The content of all files, by their paths below the folder.
    """

    name: str
    kind: str
    opens: str
    weight: int = USUAL
    files: dict[str, bytes] = field(default_factory=dict)


def write_seeds(folder: Path) -> None:
    """Write one seed of every kind below a folder."""
    for name, (_, _, _, write) in _list_seeds().items():
        place = folder / name.replace(" ", "_")
        place.mkdir()
        write(place)


def load_seeds(folder: Path) -> list[Seed]:
    """Return the seeds that `write_seeds` wrote, with their content."""
    seeds = []
    for name, (kind, opens, weight, _) in _list_seeds().items():
        place = folder / name.replace(" ", "_")
        files = {
            path.relative_to(place).as_posix(): path.read_bytes()
            for path in sorted(place.rglob("*"))
            if path.is_file() and path.name != "lock"
        }
        seeds.append(Seed(name, kind, opens, weight, files))
    return seeds


def _list_seeds() -> dict[str, tuple[str, str, int, Callable[[Path], object]]]:
    """Return kind, opened path, weight and writer of every seed, by its name."""
    rows: dict[str, Any] = {
        "npy": ("rows.npy", CHEAP, lambda f: np.save(f / "rows.npy", SINGLES)),
        "npy Fortran": ("rows.npy", CHEAP, lambda f: np.save(f / "rows.npy", ROWS[:, ::-1].T.T)),
        "npy version 2": ("rows.npy", CHEAP, _write_npy_2),
        "npz": ("rows.npz", CHEAP, lambda f: np.savez(f / "rows.npz", X=SINGLES, y=LABELS)),
        "npz compressed": ("rows.npz", CHEAP, lambda f: np.savez_compressed(f / "rows", X=ROWS)),
        "npz CSR": ("rows.npz", USUAL, lambda f: _write_sparse(f, scipy.sparse.csr_array)),
        "npz CSC": ("rows.npz", USUAL, lambda f: _write_sparse(f, scipy.sparse.csc_array)),
        "mat 4": ("rows.mat", USUAL, lambda f: _write_mat(f, ROWS, format="4")),
        "mat 5": ("rows.mat", USUAL, lambda f: _write_mat(f, ROWS)),
        "mat 5 compressed": ("rows.mat", USUAL, lambda f: _write_mat(f, ROWS, do_compression=True)),
        "mat 5 sparse": (
            "rows.mat",
            USUAL,
            lambda f: _write_mat(f, scipy.sparse.csc_array(SPARSE)),
        ),
        "mat 7.3": ("rows.mat", USUAL, _write_mat_73),
        "mat 7.3 sparse": ("rows.mat", USUAL, _write_sparse_mat_73),
        "hdf5": ("rows.h5", USUAL, lambda f: _write_hdf5(f)),
        "hdf5 chunks": ("rows.h5", USUAL, lambda f: _write_hdf5(f, chunks=(8, 5), compression=4)),
        "zarr 2": ("rows.zarr", SLOW, lambda f: _write_zarr(f, 2)),
        "zarr 3": ("rows.zarr", SLOW, lambda f: _write_zarr(f, 3)),
        "parquet": ("rows.parquet", USUAL, _write_parquet),
        "parquet lists": ("rows.parquet", USUAL, _write_lists),
        "feather": ("rows.feather", USUAL, lambda f: _write_feather(f, "lz4")),
        "feather plain": ("rows.feather", USUAL, lambda f: _write_feather(f, "uncompressed")),
        "arrow stream": ("rows.arrow", USUAL, lambda f: _write_arrow(f, pa.ipc.new_stream)),
        "arrow file": ("rows.arrow", USUAL, lambda f: _write_arrow(f, pa.ipc.new_file)),
        "csv": ("rows.csv", CHEAP, lambda f: _write_text(f / "rows.csv", ",", "a,b,c,d,e\r\n")),
        "tsv": ("rows.tsv", CHEAP, lambda f: _write_text(f / "rows.tsv", "\t")),
        "svmlight": ("rows.svm", CHEAP, _write_svmlight),
        "fvecs": ("rows.fvecs", CHEAP, lambda f: _write_vectors(f / "rows.fvecs", SINGLES)),
        "bvecs": ("rows.bvecs", CHEAP, lambda f: _write_vectors(f / "rows.bvecs", BYTES)),
        "ivecs": ("rows.ivecs", CHEAP, lambda f: _write_vectors(f / "rows.ivecs", BYTES[:, :8])),
    }
    for kind in ("png", "jpg", "gif", "bmp", "tif", "webp", "ppm"):
        rows[f"images {kind}"] = (".", USUAL, lambda f, kind=kind: _write_images(f, kind))
    found = {name: ("rows", opens, weight, write) for name, (opens, weight, write) in rows.items()}
    labels: dict[str, Callable[[Path], object]] = {
        "npy": lambda f: np.save(f / "labels.npy", LABELS),
        "npz": lambda f: np.savez(f / "labels.npz", y=LABELS),
        "mat": lambda f: scipy.io.savemat(f / "labels.mat", {"gnd": LABELS}),
        "csv": lambda f: (f / "labels.csv").write_text("\n".join(map(str, LABELS))),
        "txt": lambda f: (f / "labels.txt").write_text("\n".join(f"word {one}" for one in LABELS)),
    }
    for kind, write in labels.items():
        found[f"labels {kind}"] = ("labels", f"labels.{kind}", USUAL, write)
    found["model"] = ("model", "model", USUAL, _write_fit)
    found["report"] = ("report", "model", SLOW, _write_fit)
    for name, step in (("checkpoint", "lift"), ("finished checkpoint", None)):
        found[name] = ("checkpoint", "steps", SLOW, lambda f, step=step: _write_steps(f, step))
    return found


def _write_npy_2(folder: Path) -> None:
    with open(folder / "rows.npy", "wb") as handle:
        np.lib.format.write_array(handle, SINGLES, version=(2, 0))


def _write_sparse(folder: Path, kind: Callable[..., Any]) -> None:
    scipy.sparse.save_npz(folder / "rows.npz", kind(SPARSE), compressed=False)


def _write_mat(folder: Path, rows: Any, **options: Any) -> None:
    scipy.io.savemat(folder / "rows.mat", {"fea": rows, "gnd": LABELS[:, None] * 1.0}, **options)


def _open_mat_73(folder: Path) -> Any:
    path = folder / "rows.mat"
    with h5py.File(path, "w", userblock_size=512):
        pass
    with path.open("r+b") as handle:
        handle.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    return h5py.File(path, "r+")


def _write_mat_73(folder: Path) -> None:
    with _open_mat_73(folder) as file:
        file["fea"] = ROWS.T


def _write_sparse_mat_73(folder: Path) -> None:
    with _open_mat_73(folder) as file:
        group = file.create_group("fea")
        group.attrs["MATLAB_sparse"] = np.uint64(SPARSE.shape[0])
        group["data"], group["ir"], group["jc"] = COLUMNS.data, COLUMNS.indices, COLUMNS.indptr


def _write_hdf5(folder: Path, **storage: Any) -> None:
    with h5py.File(folder / "rows.h5", "w") as file:
        file.create_dataset("X", data=SINGLES, **storage)


def _write_zarr(folder: Path, version: int) -> None:
    place = str(folder / "rows.zarr")
    array = zarr.open_array(
        place, mode="w", shape=(24, 5), chunks=(12, 5), dtype="f4", zarr_format=version
    )
    array[:] = SINGLES


def _as_table() -> pa.Table:
    return pa.table({name: ROWS[:, at] for at, name in enumerate("abcde")})


def _write_parquet(folder: Path) -> None:
    pyarrow.parquet.write_table(_as_table(), folder / "rows.parquet", row_group_size=12)


def _as_lists() -> pa.Table:
    return pa.table({"vector": pa.array(list(SINGLES), pa.list_(pa.float32()))})


def _write_lists(folder: Path) -> None:
    pyarrow.parquet.write_table(_as_lists(), folder / "rows.parquet")


def _write_feather(folder: Path, compression: str) -> None:
    place = folder / "rows.feather"
    pyarrow.feather.write_feather(_as_table(), place, compression=compression, chunksize=12)


def _write_arrow(folder: Path, open_writer: Callable[..., Any]) -> None:
    table = _as_lists()
    with open_writer(str(folder / "rows.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=12)


def _write_text(path: Path, mark: str, head: str = "") -> None:
    lines = [mark.join(map(repr, row)) for row in ROWS.tolist()]
    path.write_text(head + "\n".join(lines))


def _write_svmlight(folder: Path) -> None:
    lines = ["# rows"]
    for number, row in enumerate(SPARSE.tolist()):
        pairs = [f"{column + 1}:{value!r}" for column, value in enumerate(row) if value]
        lines.append(" ".join([str(number), *pairs]))
    (folder / "rows.svm").write_text("\n".join(lines))


def _write_vectors(path: Path, rows: np.ndarray) -> None:
    lengths = np.full((len(rows), 1), rows.shape[1], "<i4").view(np.uint8)
    rows = rows.astype("<i4") if path.suffix == ".ivecs" else np.ascontiguousarray(rows)
    path.write_bytes(np.hstack([lengths, rows.view(np.uint8).reshape(len(rows), -1)]).tobytes())


def _write_images(folder: Path, kind: str) -> None:
    for number, row in enumerate(BYTES[:2]):
        Image.fromarray(row.reshape(4, 4, 3)).save(folder / f"image{number}.{kind}")


def _write_fit(folder: Path) -> None:
    """Write rows and all files of a fit with its report, by the command line."""
    np.save(folder / "rows.npy", ROWS)
    words = ["fit", folder / "rows.npy", "-k", 3, "--quiet", "--certificate", "auto"]
    with suppress(SystemExit):
        main([str(word) for word in (*words, "--out", folder / "model")])
    assert (folder / "model" / "report.json").exists(), "the seed of models could not be written"


class _Left(BaseException):
    """Ends a fit as a kill would."""


def fit_steps(
    rows: Any, steps: Path | None, projection: str, callback: Any = None
) -> ProjectedKMeans:
    """Make the fit of which `_write_steps` keeps the checkpoint."""
    model = ProjectedKMeans(
        3,
        projection=projection,
        n_components=3,
        init="random",
        n_init=2,
        solver="lloyd",
        polish_iter=2,
        random_state=0,
        n_threads=1,
        checkpoint=steps,
        callback=callback,
    )
    return model.fit(rows)


def _write_steps(folder: Path, step: str | None) -> None:
    """Write the checkpoint of a fit that was left in a step, or that came to its end."""
    running_checkpoint.SECONDS_BETWEEN_WRITES = running_checkpoint.WORK_PER_WRITE = 0.0

    def leave(state: FitState) -> None:
        if state.step == step:
            raise _Left

    try:
        fit_steps(ROWS, folder / "steps", PROJECTIONS[folder.name], leave)
    except _Left:
        return

"""The rows on which today's k-means systems are compared: real data that packages bring, and made.

Makes or reads rows; it fits nothing. Packages are searched for their files and not imported.
"""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from types import MappingProxyType

import numpy as np
import scipy.sparse
from bench_many_clusters import make_noise, make_tails, make_tree
from data_sets import NoData, Rows, find_file, make_digits, make_mixture


@dataclass(frozen=True)
class Work:
    """The title of some rows, the function that makes them, and numbers of clusters."""

    title: str
    make: Callable[[int], Rows]
    n_clusters: tuple[int, ...]


def find_in_package(package: str, ending: str) -> Path:
    """Return a file that an installed package brings."""
    try:
        listed = files(package) or []
    except PackageNotFoundError:
        listed = []
    for file in listed:
        if str(file).endswith(ending):
            return Path(str(file.locate()))
    raise NoData(f"it needs the package {package}")


def read_words(shrink: int) -> Rows:
    """Return the vectors of 250,002 Russian words that natasha brings (navec), 250,002 x 300.

    They are stored as product quantisation: 100 codes of a byte for each word.
    """
    path = find_in_package("natasha", "navec_news_v1_1B_250K_300d_100q.tar")
    with tarfile.open(path) as archive:
        member = archive.extractfile("pq.bin")
        if member is None:
            raise NoData("it needs pq.bin in natasha's archive of vectors")
        return decode_words(member.read())[:: max(1, shrink)].copy()


def decode_words(stored: bytes) -> Rows:
    """Return the vectors of navec's file: four sizes, then the codes, then the tables."""
    n, d, n_parts, n_codes = (int(x) for x in np.frombuffer(stored, np.uint32, 4))
    codes = np.frombuffer(stored, np.uint8, n * n_parts, 16).reshape(n, n_parts)
    tables = np.frombuffer(stored, np.float32, n_parts * n_codes * (d // n_parts), 16 + codes.size)
    tables = tables.reshape(n_parts, n_codes, d // n_parts)
    return np.concatenate([tables[part, codes[:, part]] for part in range(n_parts)], axis=1)


def read_tokens(shrink: int) -> Rows:
    """Return the vectors of 32,000 tokens that wordllama brings, 32,000 x 256 of float16."""
    stored = find_in_package("wordllama", "l2_supercat_256.safetensors").read_bytes()
    length = int.from_bytes(stored[:8], sys.byteorder)
    header = json.loads(stored[8 : 8 + length])
    name = next(one for one in header if one != "__metadata__")
    first, last = header[name]["data_offsets"]
    halves = np.frombuffer(stored[8 + length :][first:last], np.float16)
    return halves.reshape(header[name]["shape"]).astype(np.float32)[:: max(1, shrink)].copy()


def read_pixels(shrink: int) -> Rows:
    """Return the spectra of the pixels of Indian Pines, which tensorly brings, 21,025 x 200."""
    cube = np.load(find_in_package("tensorly", "Indian_pines_corrected.npy"))
    bands = min(cube.shape)
    axis = cube.shape.index(bands)
    spectra = np.moveaxis(cube, axis, -1).reshape(-1, bands)
    return np.ascontiguousarray(spectra[:: max(1, shrink)], dtype=np.float32)


def read_newsgroups(shrink: int) -> Rows:
    """Return the texts of the newsgroups as TF-IDF, CSR."""
    with np.load(find_file("newsgroups.npz"), allow_pickle=False) as stored:
        parts = [stored[name] for name in ("data", "indices", "indptr")]
        rows = scipy.sparse.csr_matrix(tuple(parts), shape=tuple(stored["shape"]))
    return rows.astype(np.float32)[:: max(1, shrink)].tocsr()


def read_small_digits(shrink: int) -> Rows:
    """Return scikit-learn's digits, 1,797 x 64."""
    from sklearn.datasets import load_digits

    return np.ascontiguousarray(load_digits().data, dtype=np.float32)


# Small rows come first, so that a run that is stopped has results.
WORKS: Mapping[str, Work] = MappingProxyType(
    {
        "small-digits": Work("load_digits", read_small_digits, (10,)),
        "pixels": Work("Indian Pines", read_pixels, (16, 256)),
        "tokens": Work("wordllama tokens", read_tokens, (100, 1000)),
        "newsgroups": Work("newsgroups", read_newsgroups, (20, 100)),
        "tails": Work("heavy tails", lambda s: make_tails(50_000 // s, 300), (50, 1000)),
        "noise": Work("noise", lambda s: make_noise(50_000 // s, 512), (100, 1000)),
        "mixture": Work("mixture", partial(make_mixture, n=60_000, d=768), (50, 200)),
        "digits": Work("shifted digits", make_digits, (10, 100, 1000)),
        "words": Work("navec words", read_words, (100, 1000, 16_384)),
        "tree": Work("tree", lambda s: make_tree(200_000 // s, 256, 64), (100, 4096, 65_536)),
    }
)

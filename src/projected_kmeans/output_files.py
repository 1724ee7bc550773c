"""Write files completely or not at all, and check before long work that a folder is writable."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray


def write_atomically(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write a file through a temporary one beside it: readers see the old content or the new.

    Parameters
    ----------
    path : str or path
        The file to create or replace.
    write : callable
        Writes to the open binary file that it is called with. If it raises, `path` is unchanged.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "greeting.txt"
    >>> write_atomically(file, lambda handle: handle.write(b"hello"))
    >>> file.read_text()
    'hello'
    """
    path = Path(path)
    temporary = _temporary_name(path)
    try:
        with open(temporary, "xb") as handle:
            write(handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_json(path: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """Write a document as indented JSON, atomically.

    Parameters
    ----------
    path : str or path
        The file to create or replace.
    document : mapping
        Values that JSON can hold, which NaN and infinity are not.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "result.json"
    >>> write_json(file, {"seconds": 0.5})
    >>> json.loads(file.read_text())
    {'seconds': 0.5}
    """
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    write_atomically(path, lambda handle: handle.write(text.encode()))


def write_array(path: str | os.PathLike[str], array: NDArray[Any]) -> None:
    """Write an array of numbers as ``.npy``, atomically.

    Parameters
    ----------
    path : str or path
        The file to create or replace.
    array : ndarray
        Numbers; Python objects are refused.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "labels.npy"
    >>> write_array(file, np.array([0, 1]))
    >>> np.load(file)
    array([0, 1])
    """
    write_atomically(path, lambda handle: np.save(_Stream(handle), array, allow_pickle=False))


class _Stream:
    """A file that NumPy writes to through Python, because its own way ignores a full disk."""

    def __init__(self, handle: BinaryIO) -> None:
        self.write = handle.write


@contextmanager
def open_output_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Create a folder and write a probe file there, so that long work does not end in an error.

    Parameters
    ----------
    path : str or path
        The folder; it may exist.

    Yields
    ------
    Path
        The folder. If the work inside fails, the folders that were created here and are still
        empty are removed again.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with open_output_folder(pathlib.Path(tempfile.mkdtemp()) / "a" / "b") as folder:
    ...     write_json(folder / "result.json", {})
    >>> [file.name for file in folder.iterdir()]
    ['result.json']
    """
    folder = Path(path)
    created = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = _temporary_name(folder / "probe")
            probe.touch(exist_ok=False)
            probe.unlink()
        except OSError as error:
            raise cannot_write(folder, error) from error
        yield folder
    except BaseException:
        for one in created:
            with suppress(OSError):  # a folder that is not empty stays, because rmdir refuses it
                one.rmdir()
        raise


def _temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def cannot_write(path: Path, error: OSError) -> ValueError:
    """Return the error to raise if a file or folder cannot be written."""
    reason = error.strerror or type(error).__name__
    return ValueError(f"{path} cannot be written ({reason}); choose another place")

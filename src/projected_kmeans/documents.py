"""Frozen values as JSON documents and back, with types checked while a document is decoded.

Every file that the package writes as JSON goes through here: models, results, reports and
checkpoints. msgspec checks each value against the type of its field, so that a damaged or foreign
file is refused with one sentence and never becomes an object of the wrong shape.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_origin

import msgspec
import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value")


class SplitValue(NamedTuple):
    """A value in two parts: what JSON can hold, and its arrays by name."""

    document: Any
    arrays: dict[str, NDArray[Any]]


def to_document(value: Any) -> Any:
    """Return a dataclass, or what is built of them, as dicts, tuples, numbers and strings.

    NumPy's numbers become Python's. Arrays are refused: `split_arrays` takes them.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: float
    ...     names: tuple[str, ...] = ()
    >>> to_document(Point(np.float64(1.5), ("a",)))
    {'x': 1.5, 'names': ('a',)}
    """
    # msgspec leaves out fields that were absent when it decoded the value; asdict has them all.
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    return msgspec.to_builtins(value, enc_hook=_to_plain)


def from_document(kind: type[Value], document: Any, where: str, advice: str = "fit again") -> Value:
    """Return the value of a type that a document describes.

    Parameters
    ----------
    kind : type
        A dataclass, or any type that msgspec checks: tuple[X, ...], dict[str, X], X | None, int.
        Fields that the type does not have are ignored; absent ones take their default.
    document : object
        As JSON gave it.
    where : str
        What an error calls the document.
    advice : str, default="fit again"
        What an error tells the reader to do.

    Examples
    --------
    >>> from_document(tuple[float, ...], [1, 2.5], "heights")
    (1.0, 2.5)
    >>> from_document(int, "1", "the count")
    Traceback (most recent call last):
    ...
    ValueError: the count is damaged (Expected `int`, got `str`); fit again
    """
    try:
        return msgspec.convert(document, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(f"{where} is damaged ({_describe(error)}); {advice}") from error


def read_document(
    path: Path, formats: Collection[str], version: int, advice: str = "fit again"
) -> dict[str, Any]:
    """Return a JSON file that this package wrote.

    Parameters
    ----------
    path : Path
        The file.
    formats : collection of str
        The values that its field "format" may have; errors name the first.
    version : int
        The value that its field "format_version" must have.
    advice : str, default="fit again"
        What an error tells the reader to do.

    Examples
    --------
    >>> read_document(Path("nowhere.json"), ["projected_kmeans model"], 1)
    Traceback (most recent call last):
    ...
    ValueError: nowhere.json does not exist; name the folder that a fit wrote
    """
    wanted = next(iter(formats))
    try:
        document = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist; name the folder that a fit wrote") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); check its access") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not valid JSON ({_describe(error)}); {advice}") from error
    if not isinstance(document, dict) or document.get("format") not in formats:
        raise ValueError(f"{path} is not a {wanted}; name the folder that a fit wrote")
    if document.get("format_version") != version:
        raise ValueError(
            f"{path} has format version {document.get('format_version')!r} and this package reads "
            f"{version}; upgrade projected_kmeans or {advice}"
        )
    return document


def split_arrays(value: Any) -> SplitValue:
    """Return a value as a document that names its arrays, and the arrays.

    Examples
    --------
    >>> split_arrays({"rows": 3, "sums": np.zeros(2)})
    SplitValue(document={'rows': 3, 'sums': 'array-0'}, arrays={'array-0': array([0., 0.])})
    """
    arrays: dict[str, NDArray[Any]] = {}

    def name_array(part: Any) -> Any:
        if not isinstance(part, np.ndarray):
            return _to_plain(part)
        name = f"array-{len(arrays)}"
        arrays[name] = part
        return name

    return SplitValue(msgspec.to_builtins(value, enc_hook=name_array), arrays)


def join_arrays(
    kind: type[Value], document: Any, arrays: Mapping[str, NDArray[Any]], where: str
) -> Value:
    """Return the value that `split_arrays` took apart; raise a ValueError where it does not fit.

    Examples
    --------
    >>> join_arrays(dict[str, np.ndarray], {"sums": "array-0"}, {"array-0": np.ones(2)}, "sums")
    {'sums': array([1., 1.])}
    """

    def find_array(wanted: Any, name: Any) -> Any:
        if (get_origin(wanted) or wanted) is not np.ndarray:
            raise NotImplementedError(f"a field of type {wanted} cannot be read from JSON")
        if not isinstance(name, str) or name not in arrays:
            raise msgspec.ValidationError(f"no array is named {name!r}")
        return arrays[name]

    try:
        return msgspec.convert(document, kind, dec_hook=find_array)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(f"{where} is damaged ({_describe(error)}); fit again") from error


def _to_plain(value: Any) -> Any:
    """Return a number of NumPy's as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON; use numbers or strings")


def _describe(error: BaseException) -> str:
    """Return the first line of an error, with the path in the document as a reader writes it."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].replace("`$.", "`").replace(" - at `$`", "").rstrip(".")

"""Frozen values as JSON documents and back, with types and ranges checked while one is decoded.

Every file that the package writes as JSON and reads again goes through here: models, results,
reports, checkpoints and stored experiments. msgspec checks each value against the type of its
field, and against the range that types such as `Count` add, so that a damaged or foreign file is
refused with one sentence and never becomes an object of the wrong shape. Arrays beside a document
are checked against the type and the `Shape` of their field, because kernels rely on these, and a
forged file may have the right checksum. JSON has no NaN and no infinity, and msgspec refuses both.
Of a key that occurs twice, the last value counts.
"""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from projected_kmeans.messages import first_line

Value = TypeVar("Value")

# Ranges of fields. A count fits into 64 bits with its sign, a key without.
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Size: TypeAlias = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Key: TypeAlias = Annotated[int, Meta(ge=0)]  # below 2**64; msgspec's own limits have 63 bits
Finite: TypeAlias = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0, le=sys.float_info.max)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e18)]
ParameterName: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]*$")]

# No document of this package comes near this size; a larger file is not read at all.
MAX_BYTES = 2**28


# What names of sizes stand for in a stored value, such as {"rows": 150, "clusters": 3}; None is any
# number. The annotation of a field that holds a dataclass may name other sizes for what is in it.
Sizes: TypeAlias = Mapping[str, int | None]


@dataclass(frozen=True)
class Shape:
    """What an array of a stored value must be, as the annotation of its field.

    Its numbers must be finite. If they are indices, they are ``below`` the size of that name, not
    negative, and ``distinct`` along the last axis if that is said.
    """

    sizes: tuple[str, ...]  # the name of the size of each axis; "any" for one of any size
    below: str | None = None
    distinct: bool = False
    may_be_empty: bool = False

    def allows(self, array: NDArray[Any], sizes: Sizes) -> bool:
        """Return whether an array is such a one."""
        if self.may_be_empty and array.shape[:1] == (0,):
            return True
        wanted = [{"any": None, **sizes}[name] for name in self.sizes]
        if array.ndim != len(wanted) or any(
            size not in (None, length) for size, length in zip(wanted, array.shape, strict=True)
        ):
            return False
        if self.below is None or array.size == 0:
            return bool(np.isfinite(array).all())
        stop, ascending = sizes[self.below], np.sort(array, axis=-1)
        in_range = stop is None or (ascending.min() >= 0 and ascending.max() < stop)
        repeats = self.distinct and (ascending[..., 1:] == ascending[..., :-1]).any()
        return bool(in_range and not repeats)


class SplitValue(NamedTuple):
    """A value in two parts: what JSON can hold, and its arrays by name."""

    document: Any
    arrays: dict[str, NDArray[Any]]


def to_document(value: Any) -> Any:
    """Return a dataclass, or what is built of them, as dicts, tuples, numbers and strings.

    NumPy's numbers become Python's. Arrays are refused: `split_arrays` takes them.
    """
    # msgspec leaves out fields that were absent when it decoded the value; asdict has them all.
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    return msgspec.to_builtins(value, enc_hook=_to_plain)


def from_document(kind: type[Value], document: Any, where: str, advice: str = "fit again") -> Value:
    """Return the value of a type that a document describes.

    The type is a dataclass, or any type that msgspec checks: tuple[X, ...], dict[str, X], X | None,
    int. Fields that the type does not have are ignored; absent ones take their default. An error
    says where the document is, and the advice.
    """
    try:
        return msgspec.convert(document, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        reason = _describe(error) + _quote_value(error, document)
        raise ValueError(f"{where} is damaged ({reason}); {advice}") from error


def read_document(
    path: Path, formats: Collection[str], version: int, advice: str = "fit again"
) -> dict[str, Any]:
    """Return a JSON file that this package wrote.

    Its field "format" has one of the formats, of which errors name the first.
    """
    wanted = next(iter(formats))
    content = _read_content(path)
    try:
        # The head first: the rest of a foreign file is looked through, and never becomes objects.
        head = msgspec.json.decode(content, type=_Head)
    except msgspec.ValidationError:
        head = _Head()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not valid JSON ({_describe(error)}); {advice}") from error
    if head.format not in formats:
        raise ValueError(f"{path} is not a {wanted}; name the folder that a fit wrote")
    if head.format_version != version:
        raise ValueError(
            f"{path} has format version {quote(head.format_version)} and this package reads "
            f"{version}; upgrade projected_kmeans or {advice}"
        )
    document: dict[str, Any] = decode_json(content, str(path), advice)
    return document


@dataclass(frozen=True)
class _Head:
    """The two fields that say what a document is."""

    format: str = ""
    format_version: int | float | str | None = None


def decode_json(content: bytes, where: str, advice: str = "fit again") -> Any:
    """Return what JSON holds, as dicts, lists, numbers and strings."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{where} is not valid JSON ({_describe(error)}); {advice}") from error


def _read_content(path: Path) -> bytes:
    """Return all bytes of a regular file that is not too large for a document."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path} is not a file; name the folder that a fit wrote")
        if status.st_size > MAX_BYTES:
            raise ValueError(
                f"{path} has {status.st_size} bytes, more than any file of this kind; name the "
                "folder that a fit wrote"
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist; name the folder that a fit wrote") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); check its access") from error


def split_arrays(value: Any) -> SplitValue:
    """Return a value as a document that names its arrays, and the arrays."""
    arrays: dict[str, NDArray[Any]] = {}

    def name_array(part: Any) -> Any:
        if not isinstance(part, np.ndarray):
            return _to_plain(part)
        name = f"array-{len(arrays)}"
        arrays[name] = part
        return name

    return SplitValue(msgspec.to_builtins(value, enc_hook=name_array), arrays)


def join_arrays(
    kind: type[Value],
    document: Any,
    arrays: Mapping[str, NDArray[Any]],
    where: str,
    sizes: Sizes | None = None,
) -> Value:
    """Return the value that `split_arrays` took apart; raise a ValueError where it does not fit.

    Arrays in dataclasses must have the `Shape` of their field with these sizes.
    """

    def find_array(wanted: Any, name: Any) -> Any:
        if (get_origin(wanted) or wanted) is not np.ndarray:
            raise NotImplementedError(f"a field of type {wanted} cannot be read from JSON")
        if not isinstance(name, str) or name not in arrays:
            raise msgspec.ValidationError(f"no array is named {name!r}")
        dtype = _dtype_of(wanted)
        if dtype is not None and arrays[name].dtype != dtype:
            raise msgspec.ValidationError(f"{name} has type {arrays[name].dtype}, not {dtype}")
        return arrays[name]

    try:
        value = msgspec.convert(document, kind, dec_hook=find_array)
        _check_shapes(value, sizes or {})
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(f"{where} is damaged ({_describe(error)}); fit again") from error
    return value


def _check_shapes(value: Any, sizes: Sizes) -> None:
    """Raise if an array in a dataclass does not have the `Shape` that the type of its field has."""
    if not is_dataclass(value):
        return
    for name, hint in get_type_hints(type(value), include_extras=True).items():
        part, inside = getattr(value, name), sizes
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Mapping):
                inside = {**sizes, **mark}
            elif isinstance(mark, Shape) and part is not None and not mark.allows(part, sizes):
                raise msgspec.ValidationError(f"{name} has shape {part.shape} or other numbers")
        _check_shapes(part, inside)


def _dtype_of(wanted: Any) -> np.dtype[Any] | None:
    """Return the element type that an annotation such as NDArray[np.float64] names, if it does."""
    named = [get_args(one) for one in get_args(wanted) if get_origin(one) is np.dtype]
    kind = named[0][0] if named else None
    return np.dtype(kind) if isinstance(kind, type) and issubclass(kind, np.generic) else None


def _to_plain(value: Any) -> Any:
    """Return a number of NumPy's as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON; use numbers or strings")


def _describe(error: BaseException) -> str:
    """Return the first line of an error, with the path in the document as a reader writes it."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    line = first_line(error).replace("`$.", "`").replace(" - at `$`", "")
    return line.removeprefix("JSON is malformed: ")


def _quote_value(error: BaseException, document: Any) -> str:
    """Return the value that an error is about, where the error does not say what it got."""
    found = re.search(r" - at `\$((?:\.[^`.\[]+|\[\d+\])+)`$", str(error))
    if found is None or ", got " in str(error):
        return ""
    for name, index in re.findall(r"\.([^.\[]+)|\[(\d+)\]", found[1]):
        try:
            document = document[name] if name else document[int(index)]
        except (LookupError, TypeError):
            return ""
    if isinstance(document, dict | list | tuple):
        return ""
    return f", got {quote(document)}"


def quote(value: Any) -> str:
    """Return a value of a document as Python writes it, cut if it is long."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."

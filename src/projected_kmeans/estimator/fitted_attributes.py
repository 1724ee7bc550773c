"""Attributes that ``fit`` sets, and that a stream of rows sets when one of them is first read.

Decides when a stream is clustered; how it is clustered is the estimator's business.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, Self, TypeVar, overload

Value = TypeVar("Value")


class StreamingEstimator(Protocol):
    """What these attributes ask of the estimator that has them."""

    @property
    def _is_stream(self) -> bool:
        """Whether the estimator was last given rows by ``partial_fit``."""

    def cluster_stream(self) -> object:
        """Cluster all rows so far, unless that is done, and set the fitted attributes."""


class FittedAttribute(Generic[Value]):
    """An attribute that a fit leaves on the estimator.

    ``fit`` stores it in the instance as usual, and Python then reads it from there: this class only
    sees reads of an attribute that the instance does not have. For a stream such a read clusters
    the rows so far. Otherwise it raises AttributeError, so that ``hasattr`` is False before the
    first fit. Only the documented attributes are declared this way: ``hasattr`` of any other name
    never runs a clustering.

    Parameters
    ----------
    not_of_streams : str, optional
        The message of the AttributeError if the estimator is a stream, for an attribute that
        streams do not have. Reading it does not run a clustering.
    """

    def __init__(self, *, not_of_streams: str | None = None) -> None:
        self._not_of_streams = not_of_streams

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...

    @overload
    def __get__(self, model: StreamingEstimator, owner: type) -> Value: ...

    def __get__(self, model: StreamingEstimator | None, owner: type) -> Any:
        if model is None:
            return self
        if not model._is_stream:
            kind = type(model).__name__
            raise AttributeError(f"{kind!r} object has no attribute {self._name!r}")
        if self._not_of_streams is not None:
            raise AttributeError(self._not_of_streams)
        model.cluster_stream()
        return vars(model)[self._name]


def list_unset_attributes(model: object) -> set[str]:
    """Return the names of fitted attributes that an estimator declares and does not have yet."""
    declared = {
        name
        for kind in type(model).__mro__
        for name, value in vars(kind).items()
        if isinstance(value, FittedAttribute)
    }
    return declared - vars(model).keys()

"""Where arrays lie: kernels refuse misaligned ones and outputs that overlap, and fits copy them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, SignProjection, _native
from tests.native.bindings import test_arguments as right
from tests.support.blobs import assert_same_fit, draw_blobs

# The arguments of every call, taken from the calls that the tests of arguments spoil.
CALLS = (
    *right.CALLS,
    right.call_weigh_candidates,
    right.call_dot_rows,
    right.call_center_neighbours,
    right.call_halve_clusters,
    right.call_race_centers,
    right.call_search_few_rows,
)


def shift(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of an array that begins one byte behind a multiple of its element size."""
    memory = np.empty(array.nbytes + 1, np.uint8)
    shifted = memory[1:].view(np.uint8).data.cast("B")
    moved = np.frombuffer(shifted, array.dtype).reshape(array.shape)
    moved[...] = array
    assert not moved.flags.aligned
    assert moved.flags.c_contiguous
    return moved


def arguments_of(call: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the arguments that a call passes to its kernel."""
    name = call.__name__.removeprefix("call_")
    seen: dict[str, Any] = {}
    with monkeypatch.context() as patch:
        patch.setattr(_native, name, lambda **arguments: seen.update(arguments))
        call()
    return seen


def arrays_of(arguments: dict[str, Any]) -> list[str]:
    """Return the names of the arguments that are arrays."""
    return [name for name, value in arguments.items() if isinstance(value, np.ndarray)]


@pytest.mark.parametrize("call", CALLS)
def test_misaligned_arrays_are_refused(
    call: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every array of every kernel must begin at a multiple of its element size."""
    arguments = arguments_of(call, monkeypatch)
    for name in arrays_of(arguments):
        with pytest.raises(ValueError, match="not a multiple of its element size; copy it"):
            call(**{name: shift(arguments[name])})


@pytest.mark.parametrize("call", CALLS)
def test_outputs_do_not_overlap_other_arguments(
    call: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last array, which is always written, may not be the memory of another of its type."""
    arguments = arguments_of(call, monkeypatch)
    *others, last = arrays_of(arguments)
    out = arguments[last]
    alike = [name for name in others if arguments[name].dtype == out.dtype]
    assert alike
    for name in alike:
        other = arguments[name]
        memory = np.zeros(max(other.size, out.size), out.dtype)
        changed = {
            name: memory[: other.size].reshape(other.shape),
            last: memory[-out.size :].reshape(out.shape),
        }
        with pytest.raises(ValueError, match="has memory in common with another argument"):
            call(**changed)


def test_neighbouring_arrays_do_not_overlap() -> None:
    """An output may begin where another array ends."""
    memory = np.zeros(8)
    right.call_nearest_center(nearest=memory[:4], second=memory[4:])


def test_rows_in_any_order_are_taken() -> None:
    """Blocks whose rows go backwards or repeat one row are read where they lie."""
    for block in (right.X[::-1], np.broadcast_to(right.X[1], (4, 3))):
        found, expected = np.empty((4, 2)), np.empty((4, 2))
        right.call_sign_product(block=block, out=found)
        right.call_sign_product(block=block.copy(), out=expected)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("solver", ["lloyd", "hartigan"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint16])
def test_misaligned_rows_and_weights_are_fitted(dtype: Any, solver: Any) -> None:
    """A fit of contiguous but misaligned rows gives the bits of the same rows aligned."""
    X = np.rint(100 * draw_blobs()[0] + 5000).astype(dtype)
    weights = np.linspace(1.0, 2.0, len(X))
    model = ProjectedKMeans(4, n_components=3, solver=solver, random_state=0)
    expected = model.fit(X, sample_weight=weights)
    found = ProjectedKMeans(**model.get_params()).fit(shift(X), sample_weight=shift(weights))
    assert_same_fit(found, expected)
    np.testing.assert_array_equal(found.predict(shift(X)), expected.predict(X))


def test_misaligned_sparse_rows_are_fitted() -> None:
    """Parts of CSR rows may be misaligned, too."""
    rows = scipy.sparse.random_array((200, 30), density=0.2, rng=np.random.default_rng(0))
    X = scipy.sparse.csr_array(rows)
    moved = X.copy()
    moved.data, moved.indices, moved.indptr = shift(X.data), shift(X.indices), shift(X.indptr)
    model = ProjectedKMeans(4, n_components=3, random_state=0)
    assert_same_fit(ProjectedKMeans(**model.get_params()).fit(moved), model.fit(X))


def test_misaligned_rows_are_projected() -> None:
    """A projection of misaligned rows gives the bits of the same rows aligned."""
    X = draw_blobs()[0]
    signs = SignProjection(3, random_state=0).fit(X)
    np.testing.assert_array_equal(signs.transform(shift(X)), signs.transform(X))

"""What all tests of maps share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from projected_kmeans.blas_threads import one_blas_thread


@pytest.fixture(autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """Enter the guard for BLAS threads once a test, because maps enter it at every small product.

    Setting the limit looks through all loaded libraries, which takes milliseconds each time.
    """
    with one_blas_thread():
        yield

"""What tests of several modules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture
def several_blas_threads() -> Iterator[None]:
    """Two threads for matrices, as users have them: `make test` leaves one to each of its workers."""
    with threadpool_limits(limits=2, user_api="blas"):
        yield

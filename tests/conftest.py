"""What tests of several modules share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from threadpoolctl import threadpool_limits

from dpframe import registry

if TYPE_CHECKING:
    from tests.support.refusals import Watch

pytest.register_assert_rewrite("tests.support")  # before anything imports it


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a database in a PostgreSQL server of the tests' own."""
    from tests.support.postgres import server

    with server() as url:
        yield url


@pytest.fixture
def several_blas_threads() -> Iterator[None]:
    """Two threads for matrices, as users have them: `make test` leaves one to each of its workers."""
    with threadpool_limits(limits=2, user_api="blas"):
        yield


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Counts charges, reads and draws."""
    from tests.support.refusals import Watch

    watch = Watch(monkeypatch)
    registry.hook()
    manager = registry._registry._manager
    manager.register(watch)
    yield watch
    manager.unregister(watch)

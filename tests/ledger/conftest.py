"""Ledgers for tests: in a file, and in the PostgreSQL server of the tests."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

import dpframe as dp
from tests.support.ledgers import make


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


@pytest.fixture
def ledger(path: Path) -> dp.Ledger:
    return make(path)


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest) -> str:
    """Where a ledger may be made: a new file, or a schema of its own in the server."""
    name = "path" if request.param == "sqlite" else "url"
    return str(request.getfixturevalue(name))


@pytest.fixture
def url(postgres: str) -> str:
    """The URL of a schema of its own in the server."""
    import psycopg

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgres}&options=-csearch_path%3D{name}"

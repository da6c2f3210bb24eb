"""A PostgreSQL server of the tests' own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

REQUIRED = "DPFRAME_REQUIRE_POSTGRES"
"""Where this variable is set, a missing PostgreSQL is a failure."""


@contextmanager
def server() -> Iterator[str]:
    """The URL of an empty database, in a server that runs as an unprivileged user for the time of the tests."""
    found = programs()
    try:
        import psycopg  # noqa: F401
    except ImportError:
        found = None
    if found is None:
        if os.environ.get(REQUIRED):
            pytest.fail("PostgreSQL, or psycopg, is not installed")
        pytest.skip("PostgreSQL, or psycopg, is not installed")
    folder = Path(tempfile.mkdtemp(prefix="dpframe-pg-"))  # short: names of sockets are limited
    user = _unprivileged()
    if user is not None:
        shutil.chown(folder, user)
    settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=40"
    try:
        _as(user, found / "initdb", "-D", folder / "data", "-U", "dpframe", "-A", "trust", "--no-sync")
        _as(user, found / "pg_ctl", "-D", folder / "data", "-l", folder / "log", "-w", "-o", settings, "start")
        try:
            yield f"postgresql://dpframe@/postgres?host={folder}"
        finally:
            _as(user, found / "pg_ctl", "-D", folder / "data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def programs() -> Path | None:
    """Where the programs of the server are; Debian keeps them out of the path."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


def _unprivileged() -> str | None:
    """Whom the server runs as: it refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    return next(name for name in ("postgres", "nobody") if name in {each.pw_name for each in pwd.getpwall()})


def _as(user: str | None, *words: Path | str) -> None:
    done = subprocess.run(
        list(map(str, words)), user=user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    assert 0 == done.returncode, done.stderr

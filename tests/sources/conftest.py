"""The database servers of a test run, and the engines on them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import databases
from databases import Server
from lynq.sources import SQLiteSettings
from sources.engines import Engine, MariaDB, PostgreSQL, SQLite, mariadb_at, postgresql_at


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Server]:
    with databases.mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    with databases.postgresql() as server:
        yield server


@pytest.fixture(params=["mysql", "postgresql", "sqlite"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Each engine in turn."""
    if request.param == "mysql":
        return mariadb_at(request.getfixturevalue("mariadb"))
    if request.param == "postgresql":
        return postgresql_at(request.getfixturevalue("postgresql"))
    return SQLite(SQLiteSettings(path="rows.db", directory=tmp_path))


@pytest.fixture(params=["mysql", "postgresql"])
def server_engine(request: pytest.FixtureRequest) -> MariaDB | PostgreSQL:
    """Each engine with a server in turn."""
    if request.param == "mysql":
        return mariadb_at(request.getfixturevalue("mariadb"))
    return postgresql_at(request.getfixturevalue("postgresql"))


@pytest.fixture
def postgresql_engine(postgresql: Server) -> PostgreSQL:
    return postgresql_at(postgresql)

"""Databases with everything that push needs, one fixture per engine."""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import databases
from certificates import Authority
from databases import Server
from lynq.sources import SQLiteSettings
from lynq.sources.postgresql.trigger import trigger_sql
from lynq.sources.query import Table
from sources.engines import mariadb_at, postgresql_at
from sources.push.push_databases import (
    MySQLPush,
    PostgreSQLPush,
    PushDatabase,
    PushServer,
    SQLitePush,
)


@pytest.fixture(scope="session")
def authority() -> Authority:
    """The authority of the MariaDB server's certificate."""
    return Authority()


@pytest.fixture(scope="session")
def binlog_mariadb(authority: Authority) -> Iterator[Server]:
    """MariaDB with a binlog; it accepts connections with and without TLS."""
    options = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
    with TemporaryDirectory() as folder:
        # The server runs under its own account, which must be able to read the files.
        Path(folder).chmod(0o755)
        chain = authority.sign("mariadb", "127.0.0.1").write(Path(folder))
        tls = (f"--ssl-cert={chain}", f"--ssl-key={chain}")
        with databases.mariadb(*options, *tls) as server:
            yield server


@pytest.fixture
async def mysql_push(binlog_mariadb: Server) -> AsyncIterator[MySQLPush]:
    database = mysql_push_at(binlog_mariadb)
    await database.execute(
        "CREATE DATABASE elsewhere",
        "CREATE TABLE tenants (id INT PRIMARY KEY, name TEXT)",
        "CREATE TABLE others (id INT PRIMARY KEY, name TEXT)",
        "CREATE TABLE elsewhere.tenants (id INT PRIMARY KEY, name TEXT)",
        "CREATE VIEW active AS SELECT id, name FROM tenants",
        "INSERT INTO tenants VALUES (1, 'one'), (2, 'two')",
    )
    yield database
    await database.execute(
        "DROP VIEW active", "DROP TABLE tenants, others", "DROP DATABASE elsewhere"
    )


@pytest.fixture
def mysql_without_binlog(mariadb: Server) -> MySQLPush:
    """MariaDB without a binlog."""
    if not mariadb.process:
        pytest.skip("a server named in the environment may have a binlog")
    return mysql_push_at(mariadb)


@pytest.fixture
async def postgresql_push(postgresql: Server) -> AsyncIterator[PostgreSQLPush]:
    settings = postgresql_at(postgresql).settings
    run = partial(databases.in_postgresql, postgresql)
    database = PostgreSQLPush(postgresql, settings, run)
    await database.execute(
        'CREATE SCHEMA "Sales Dept"',
        "CREATE TABLE tenants (id INT PRIMARY KEY, name TEXT)",
        "CREATE TABLE others (id INT PRIMARY KEY, name TEXT)",
        'CREATE TABLE "Sales Dept"."Tenants" (id INT PRIMARY KEY, name TEXT)',
        "CREATE VIEW active AS SELECT id, name FROM tenants",
        "INSERT INTO tenants VALUES (1, 'one'), (2, 'two')",
        trigger_sql(Table.named("tenants")),
        trigger_sql(Table.named("others")),
        trigger_sql(Table.named("Sales Dept.Tenants")),
    )
    yield database
    await database.execute(
        'DROP SCHEMA "Sales Dept" CASCADE',
        "DROP TABLE tenants, others CASCADE",
        "DROP FUNCTION lynq_notify",
    )


@pytest.fixture
def sqlite_push(tmp_path: Path) -> SQLitePush:
    database = SQLitePush(SQLiteSettings(path="hub.db", directory=tmp_path))
    database.create(database.file)
    return database


@pytest.fixture(params=["mysql", "postgresql", "sqlite"])
def push_database(request: pytest.FixtureRequest) -> PushDatabase:
    """Each engine in turn."""
    database: PushDatabase = request.getfixturevalue(f"{request.param}_push")
    return database


@pytest.fixture(params=["mysql", "postgresql"])
def push_server(request: pytest.FixtureRequest) -> PushServer:
    """Each engine with a server in turn."""
    server: PushServer = request.getfixturevalue(f"{request.param}_push")
    return server


def mysql_push_at(server: Server) -> MySQLPush:
    return MySQLPush(server, mariadb_at(server).settings, partial(databases.in_mariadb, server))

"""Servers that tell of their changes."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import databases
from certificates import Authority
from databases import Server
from lynq.sources import MySQLSettings, PostgreSQLSettings
from push_listener import ChangingTable


@pytest.fixture(scope="session")
def authority() -> Authority:
    """Who signed the certificate of our MariaDB."""
    return Authority()


@pytest.fixture(scope="session")
def changing_mysql(authority: Authority) -> Iterator[ChangingTable[MySQLSettings]]:
    """MariaDB with what push needs; it takes encrypted connections, and others."""
    options = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
    with TemporaryDirectory() as folder:
        # The server runs under an account of its own, and must be able to read it.
        Path(folder).chmod(0o755)
        chain = authority.sign("mariadb", "127.0.0.1").write(Path(folder))
        tls = (f"--ssl-cert={chain}", f"--ssl-key={chain}")
        with databases.mariadb(*options, *tls) as server:
            yield changing_mysql_at(server)


@pytest.fixture
def unchanging_mysql(mariadb: Server) -> ChangingTable[MySQLSettings]:
    """MariaDB that logs nothing."""
    if not mariadb.process:
        pytest.skip("the server was named in the environment: it may log its changes")
    return changing_mysql_at(mariadb)


@pytest.fixture
def changing_postgresql(postgresql: Server) -> ChangingTable[PostgreSQLSettings]:
    """PostgreSQL, which needs no settings."""
    settings = PostgreSQLSettings(
        host=postgresql.host,
        port=postgresql.port,
        username=postgresql.user,
        password=postgresql.password,
        database=postgresql.database,
    )

    return ChangingTable(postgresql, settings, partial(databases.in_postgresql, postgresql))


def changing_mysql_at(server: Server) -> ChangingTable[MySQLSettings]:
    settings = MySQLSettings(
        host=server.host,
        port=server.port,
        username=server.user,
        password=server.password,
        database=server.database,
    )

    return ChangingTable(server, settings, partial(databases.in_mariadb, server))

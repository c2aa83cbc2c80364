"""Servers that tell of their changes."""

from collections.abc import Iterator

import asyncmy
import asyncpg
import pytest

import databases
from databases import Server
from hearing import Changing
from lynq.sources.settings import MySQLSettings, PostgreSQLSettings


@pytest.fixture(scope="session")
def changing_mysql() -> Iterator[Changing[MySQLSettings]]:
    """MariaDB with what push needs."""
    options = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
    with databases.mariadb(*options) as server:
        yield changing_mysql_at(server)


@pytest.fixture
def unchanging_mysql(mariadb: Server) -> Changing[MySQLSettings]:
    """MariaDB that logs nothing."""
    return changing_mysql_at(mariadb)


@pytest.fixture
def changing_postgresql(postgresql: Server) -> Changing[PostgreSQLSettings]:
    """PostgreSQL, which needs no settings."""
    settings = PostgreSQLSettings(
        host=postgresql.host,
        port=postgresql.port,
        username=postgresql.user,
        password=postgresql.password,
        database=postgresql.database,
    )

    async def execute(*statements: str) -> None:
        connection = await asyncpg.connect(
            host=postgresql.host,
            port=postgresql.port,
            user=postgresql.user,
            password=postgresql.password,
            database=postgresql.database,
        )
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    return Changing(postgresql, settings, execute)


def changing_mysql_at(server: Server) -> Changing[MySQLSettings]:
    settings = MySQLSettings(
        host=server.host,
        port=server.port,
        username=server.user,
        password=server.password,
        database=server.database,
    )

    async def execute(*statements: str) -> None:
        connection = await asyncmy.connect(
            host=server.host,
            port=server.port,
            user=server.user,
            password=server.password,
            database=server.database,
            autocommit=True,
        )
        async with connection, connection.cursor() as cursor:
            for statement in statements:
                await cursor.execute(statement)

    return Changing(server, settings, execute)

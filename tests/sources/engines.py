"""The databases of the contract suite, with one interface for all engines."""

import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import asyncmy
import asyncpg

from databases import Server
from lynq.sources import (
    MySQLSettings,
    PostgreSQLSettings,
    Query,
    Reading,
    ReadSummary,
    Row,
    Settings,
    Source,
    SQLiteSettings,
    open_source,
)


class Engine(Protocol):
    """A real database that a test can change."""

    @property
    def settings(self) -> Settings:
        """How a source reaches it."""

    async def execute(self, *statements: str) -> None:
        """Run statements with all privileges."""

    async def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows with unchanged values."""


@dataclass(frozen=True)
class MariaDB:
    settings: MySQLSettings

    async def execute(self, *statements: str) -> None:
        async with self.connection() as connection, connection.cursor() as cursor:
            for statement in statements:
                await cursor.execute(statement)

    async def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        async with self.connection() as connection, connection.cursor() as cursor:
            for row in rows:
                placeholders = ", ".join(["%s"] * len(row))
                await cursor.execute(f"INSERT INTO {table} VALUES ({placeholders})", row)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        settings = self.settings
        connection = await asyncmy.connect(
            host=settings.host,
            port=settings.port,
            user=settings.username,
            password=settings.password,
            database=settings.database,
            autocommit=True,
        )
        async with connection:
            yield connection


@dataclass(frozen=True)
class PostgreSQL:
    settings: PostgreSQLSettings

    async def execute(self, *statements: str) -> None:
        async with self.connection() as connection:
            for statement in statements:
                await connection.execute(statement)

    async def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        async with self.connection() as connection:
            for row in rows:
                placeholders = ", ".join(f"${position}" for position in range(1, len(row) + 1))
                await connection.execute(f"INSERT INTO {table} VALUES ({placeholders})", *row)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        settings = self.settings
        connection = await asyncpg.connect(
            host=settings.host,
            port=settings.port,
            user=settings.username,
            password=settings.password,
            database=settings.database,
        )
        try:
            yield connection
        finally:
            await connection.close()


@dataclass(frozen=True)
class SQLite:
    settings: SQLiteSettings

    @property
    def file(self) -> Path:
        assert self.settings.directory
        return self.settings.directory / self.settings.path

    async def execute(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.file)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    async def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        with closing(sqlite3.connect(self.file)) as connection, connection:
            for row in rows:
                placeholders = ", ".join("?" * len(row))
                connection.execute(f"INSERT INTO {table} VALUES ({placeholders})", row)


def mariadb_at(server: Server) -> MariaDB:
    return MariaDB(
        MySQLSettings(
            host=server.host,
            port=server.port,
            username=server.user,
            password=server.password,
            database=server.database,
        )
    )


def postgresql_at(server: Server) -> PostgreSQL:
    return PostgreSQL(
        PostgreSQLSettings(
            host=server.host,
            port=server.port,
            username=server.user,
            password=server.password,
            database=server.database,
        )
    )


def new_table() -> str:
    return f"t_{uuid4().hex[:12]}"


def tenants(table: str, **changes: Any) -> Query:
    """Return a query for uid, activate and plan."""
    query = Query(table=table, uid="uid", activate="activate", extras={"planId": "plan"})
    return replace(query, **changes)


TENANTS = "(uid VARCHAR(63), activate VARCHAR(10), plan VARCHAR(200))"


async def fill(engine: Engine, table: str, count: int) -> None:
    """Insert u0, u1, … with every tenth row inactive."""
    rows = [f"('u{n}', '{int(bool(n % 10))}', 'p')" for n in range(count)]
    for start in range(0, count, 1000):
        await engine.execute(f"INSERT INTO {table} VALUES {', '.join(rows[start : start + 1000])}")


@asynccontextmanager
async def opened(settings: Settings, **changes: Any) -> AsyncIterator[Source]:
    """Open a source for a block, with some settings changed."""
    source = open_source(replace(settings, **changes))
    try:
        yield source
    finally:
        await source.close()


async def all_rows(reading: Reading) -> list[Row]:
    """Return the rows of all pages."""
    return [row async for page in reading for row in page]


async def read(source: Source, query: Query) -> tuple[list[Row], ReadSummary]:
    """Read everything."""
    reading = source.read(query)
    rows = await all_rows(reading)
    return rows, reading.summary


async def texts(engine: Engine, table: str, column: str = "plan") -> list[str]:
    """Return the texts of one column of all rows, in the order of their uid."""
    async with opened(engine.settings) as source:
        rows, _ = await read(source, tenants(table, extras={"it": column}))
    return [row.extras["it"] for row in sorted(rows, key=lambda row: row.uid)]

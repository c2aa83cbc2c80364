"""The databases of the push contract: how a test changes them and takes them down."""

import asyncio
import os
import signal
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import asyncpg
import pytest

from databases import Server
from lynq.sources import MySQLSettings, PostgreSQLSettings, Settings, SQLiteSettings

BURST = 10_000
"""Updates of `commit_burst`, each in its own transaction."""


class PushDatabase(Protocol):
    """A database with the table tenants (id, name), rows 1 and 2, and everything push needs."""

    @property
    def settings(self) -> Settings:
        """How a source reaches the database."""

    has_thread: bool
    """Whether the push channel has its own thread."""
    extra_arrivals: int
    """Arrivals of a burst beyond one per interval: its first, its last, and a repeat for MySQL."""
    outage_reasons: frozenset[str]
    """Reasons that a channel may report during an outage."""

    async def execute(self, *statements: str) -> None:
        """Run statements with all privileges, on one connection, in autocommit mode."""

    async def commit_burst(self) -> None:
        """Commit BURST updates of the table."""

    def outage(self) -> AbstractAsyncContextManager[None]:
        """Make the database unavailable for a block."""


class PushServer(PushDatabase, Protocol):
    """A database server with push."""

    @property
    def settings(self) -> MySQLSettings | PostgreSQLSettings:
        """How a source reaches the database."""

    server: Server

    async def kill_connections(self) -> None:
        """Kill the connections of push channels."""

    def silence(self) -> AbstractAsyncContextManager[None]:
        """Stop the server's responses on existing connections for a block, without closing them."""


@dataclass
class MySQLPush:
    server: Server
    settings: MySQLSettings
    run: Callable[..., Awaitable[None]]
    has_thread: bool = True
    extra_arrivals: int = 3
    outage_reasons: frozenset[str] = frozenset(
        {"Interrupted", "Refused", "ServerStopping", "SourceConnectionFailed"}
    )

    def logged_in_as(self, user: str, password: str) -> MySQLSettings:
        return replace(self.settings, username=user, password=password)

    async def execute(self, *statements: str) -> None:
        await self.run(*statements)

    async def commit_burst(self) -> None:
        await self.execute(f"""
            BEGIN NOT ATOMIC
              DECLARE i INT DEFAULT 0;
              WHILE i < {BURST} DO
                UPDATE tenants SET name = i WHERE id = 1;
                SET i = i + 1;
              END WHILE;
            END""")

    def outage(self) -> AbstractAsyncContextManager[None]:
        return stopped(self.server)

    async def kill_connections(self) -> None:
        await self.execute(f"KILL USER {self.settings.username}")

    @asynccontextmanager
    async def silence(self) -> AsyncIterator[None]:
        assert self.server.process
        self.server.process.send(signal.SIGSTOP)
        try:
            yield
        finally:
            self.server.process.send(signal.SIGCONT)


@dataclass
class PostgreSQLPush:
    server: Server
    settings: PostgreSQLSettings
    run: Callable[..., Awaitable[None]]
    has_thread: bool = False
    extra_arrivals: int = 2
    outage_reasons: frozenset[str] = frozenset({"Interrupted", "Refused", "ServerStopping"})

    async def execute(self, *statements: str) -> None:
        await self.run(*statements)

    async def commit_burst(self) -> None:
        await self.execute(f"""
            DO $$ BEGIN
              FOR i IN 1..{BURST} LOOP
                UPDATE tenants SET name = i WHERE id = 1;
                COMMIT;
              END LOOP;
            END $$""")

    def outage(self) -> AbstractAsyncContextManager[None]:
        return stopped(self.server)

    async def kill_connections(self) -> None:
        await self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'lynq' AND pid <> pg_backend_pid()"
        )

    @asynccontextmanager
    async def silence(self) -> AsyncIterator[None]:
        """Stop only the backend of the channel: the network works, nothing answers."""
        if not self.server.process:
            pytest.skip("a server named in the environment cannot be stopped")
        (pid,) = await self.backends()
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    async def backends(self) -> list[int]:
        """Return the process ids of the backends of push channels."""
        server = self.server
        connection: Any = await asyncpg.connect(
            host=server.host,
            port=server.port,
            user=server.user,
            password=server.password,
            database=server.database,
        )
        try:
            rows = await connection.fetch(
                "SELECT pid FROM pg_stat_activity"
                " WHERE application_name = 'lynq' AND query LIKE '%pg_trigger%'"
            )
        finally:
            await connection.close()
        return [row["pid"] for row in rows]


@dataclass
class SQLitePush:
    settings: SQLiteSettings
    has_thread: bool = True
    extra_arrivals: int = 2
    outage_reasons: frozenset[str] = frozenset({"MissingDatabase"})

    @property
    def file(self) -> Path:
        assert self.settings.directory
        return self.settings.directory / self.settings.path

    def create(self, file: Path) -> None:
        self.write(
            "CREATE TABLE tenants (id INTEGER PRIMARY KEY, name TEXT)",
            "INSERT INTO tenants VALUES (1, 'one'), (2, 'two')",
            file=file,
        )

    def write(self, *statements: str, file: Path | None = None) -> None:
        with closing(sqlite3.connect(file or self.file, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    async def execute(self, *statements: str) -> None:
        self.write(*statements)

    async def commit_burst(self) -> None:
        self.write("PRAGMA journal_mode = WAL")
        updates = ["UPDATE tenants SET name = name + 1 WHERE id = 1"] * BURST
        await asyncio.to_thread(self.write, "PRAGMA synchronous = OFF", *updates)

    @asynccontextmanager
    async def outage(self) -> AsyncIterator[None]:
        self.file.unlink()
        try:
            yield
        finally:
            self.create(self.file)


@asynccontextmanager
async def stopped(server: Server) -> AsyncIterator[None]:
    """Stop a server for a block."""
    if not server.process:
        pytest.skip("a server named in the environment cannot be stopped")
    server.stop()
    try:
        yield
    finally:
        server.start()

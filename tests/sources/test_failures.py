"""Errors of reads: one type per cause, a message without secrets."""

import asyncio
import os
import shutil
import sqlite3
import stat
import traceback
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from databases import Server
from lynq.sources import (
    MySQLSettings,
    PostgreSQLSettings,
    Query,
    Settings,
    SourceError,
    SQLiteSettings,
    errors,
)
from sources.engines import (
    TENANTS,
    Engine,
    MariaDB,
    PostgreSQL,
    SQLite,
    new_table,
    opened,
    postgresql_at,
    read,
    tenants,
)

CANARY = "c4nary-pässwörd-€"


async def failure(settings: Settings, query: Query, **changes: Any) -> SourceError:
    """Return the error of a read, after checking that it contains no secret."""
    async with opened(settings, **changes) as source:
        with pytest.raises(SourceError) as caught:
            await read(source, query)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    for secret in (CANARY, getattr(settings, "password", "") or CANARY):
        assert secret not in shown
    return caught.value


async def table_of(engine: Engine) -> str:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}", f"INSERT INTO {table} VALUES ('a', '1', 'x')"
    )
    return table


async def test_missing_table_is_reported(engine: Engine) -> None:
    await table_of(engine)
    error = await failure(engine.settings, tenants("nowhere"))
    assert type(error) is errors.MissingTable
    assert "table nowhere" in str(error)
    assert str(engine.settings.endpoint) in str(error)


async def test_missing_column_is_named(engine: Engine) -> None:
    table = await table_of(engine)
    error = await failure(engine.settings, tenants(table, extras={"x": "nothere"}))
    assert type(error) is errors.MissingColumn
    assert "no column nothere" in str(error)


async def test_view_of_a_dropped_table_fails(engine: Engine) -> None:
    table = await table_of(engine)
    await engine.execute(f"CREATE VIEW v{table} AS SELECT * FROM {table}")
    cascade = " CASCADE" if isinstance(engine, PostgreSQL) else ""
    await engine.execute(f"DROP TABLE {table}{cascade}")
    error = await failure(engine.settings, tenants(f"v{table}"))
    assert isinstance(error, errors.QueryFailed)


async def test_wrong_password_is_reported(server_engine: MariaDB | PostgreSQL) -> None:
    error = await failure(server_engine.settings, tenants("t"), password=CANARY)
    assert type(error) is errors.WrongPassword
    assert "user tester" in str(error)


async def test_unknown_user_is_reported(server_engine: MariaDB | PostgreSQL) -> None:
    error = await failure(server_engine.settings, tenants("t"), username="unknown-user")
    assert isinstance(error, errors.LoginFailed)


async def test_missing_database_is_reported(server_engine: MariaDB | PostgreSQL) -> None:
    error = await failure(server_engine.settings, tenants("t"), database="nowhere")
    assert type(error) is errors.MissingDatabase
    assert "database nowhere" in str(error)


async def test_unknown_host_is_reported(server_engine: MariaDB | PostgreSQL) -> None:
    error = await failure(server_engine.settings, tenants("t"), host="nowhere.invalid")
    assert type(error) is errors.UnknownHost
    assert "nowhere.invalid" in str(error)


async def test_refused_connection_is_reported(server_engine: MariaDB | PostgreSQL) -> None:
    for host in ("127.0.0.1", "localhost"):
        error = await failure(server_engine.settings, tenants("t"), host=host, port=1)
        assert type(error) is errors.Refused
        assert f"{host}:1" in str(error)


async def test_missing_grant_on_the_table_is_reported(server_engine: MariaDB | PostgreSQL) -> None:
    table = await table_of(server_engine)
    settings = await unprivileged_user(server_engine)
    error = await failure(settings, tenants(table))
    assert type(error) is errors.MissingGrant
    assert "SELECT" in str(error)


async def test_missing_grant_on_a_column_is_reported(server_engine: MariaDB | PostgreSQL) -> None:
    table = await table_of(server_engine)
    settings = await unprivileged_user(server_engine)
    await server_engine.execute(f"GRANT SELECT (uid, activate) ON {table} TO {settings.username}")
    error = await failure(settings, tenants(table))
    assert type(error) is errors.MissingGrant
    async with opened(settings) as source:
        rows, _ = await read(source, tenants(table, extras={}))
    assert [row.uid for row in rows] == ["a"]


async def test_select_on_the_table_is_sufficient(
    server_engine: MariaDB | PostgreSQL,
) -> None:
    table = await table_of(server_engine)
    settings = await unprivileged_user(server_engine)
    await server_engine.execute(f"GRANT SELECT ON {table} TO {settings.username}")
    async with opened(settings) as source:
        _, summary = await read(source, tenants(table))
    assert summary.seen == 1


async def test_rotated_password_needs_new_settings(server_engine: MariaDB | PostgreSQL) -> None:
    table = await table_of(server_engine)
    settings = await unprivileged_user(server_engine)
    await server_engine.execute(f"GRANT SELECT ON {table} TO {settings.username}")
    async with opened(settings) as source:
        await read(source, tenants(table))
    change = (
        f"ALTER USER {settings.username} IDENTIFIED BY 'rotated'"
        if isinstance(server_engine, MariaDB)
        else f"ALTER ROLE {settings.username} PASSWORD 'rotated'"
    )
    await server_engine.execute(change)
    assert type(await failure(settings, tenants(table))) is errors.WrongPassword
    rotated = replace(settings, password="rotated")
    assert rotated != settings
    async with opened(rotated) as source:
        _, summary = await read(source, tenants(table))
    assert summary.seen == 1


async def test_exhausted_server_is_reported(
    server_engine: MariaDB | PostgreSQL,
) -> None:
    settings = await unprivileged_user(server_engine)
    limit = (
        f"ALTER USER {settings.username} WITH MAX_USER_CONNECTIONS 1"
        if isinstance(server_engine, MariaDB)
        else f"ALTER ROLE {settings.username} CONNECTION LIMIT 1"
    )
    await server_engine.execute(limit)
    async with replace(server_engine, settings=settings).connection():  # type: ignore[arg-type]
        error = await failure(settings, tenants("t"))
    assert type(error) is errors.TooManyConnections


async def test_exhausted_pool_is_reported(server_engine: MariaDB | PostgreSQL) -> None:
    table = await table_of(server_engine)
    async with opened(server_engine.settings, pool_size=1, connect_timeout=1.5) as source:
        async with source.read(tenants(table)) as reading:
            await anext(aiter(reading))
            with pytest.raises(errors.TooManyConnections, match="all 1 connections"):
                await read(source, tenants(table))
        _, summary = await read(source, tenants(table))
    assert summary.seen == 1


async def test_value_of_a_failed_cast_is_not_shown(postgresql: Server) -> None:
    engine = postgresql_at(postgresql)
    table = await table_of(engine)
    await engine.execute(
        f"UPDATE {table} SET plan = '{CANARY}'",
        f"CREATE VIEW v{table} AS SELECT uid, activate, plan::int AS plan FROM {table}",
    )
    error = await failure(engine.settings, tenants(f"v{table}"))
    assert type(error) is errors.QueryFailed
    assert "22P02" in str(error)


async def test_repr_of_settings_hides_secrets() -> None:
    for settings in (
        MySQLSettings(host="h", username="u", password=CANARY, database="d"),
        PostgreSQLSettings(host="h", username="u", password=CANARY, database="d"),
    ):
        assert CANARY not in repr(settings)


async def test_password_may_contain_any_characters(server_engine: MariaDB | PostgreSQL) -> None:
    table = await table_of(server_engine)
    settings = await unprivileged_user(server_engine, password=CANARY)
    await server_engine.execute(f"GRANT SELECT ON {table} TO {settings.username}")
    async with opened(settings) as source:
        _, summary = await read(source, tenants(table))
    assert summary.seen == 1


async def unprivileged_user(
    engine: MariaDB | PostgreSQL, password: str = "user-secret"
) -> MySQLSettings | PostgreSQLSettings:
    """Create a user without privileges besides the login."""
    name = f"u_{new_table()}"
    if isinstance(engine, MariaDB):
        await engine.execute(
            f"CREATE USER {name} IDENTIFIED BY '{password}'",
            f"GRANT EXECUTE ON {engine.settings.database}.* TO {name}",
        )
    else:
        await engine.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
    return replace(engine.settings, username=name, password=password)


class TestSQLite:
    @pytest.fixture
    async def settings(self, tmp_path: Path) -> SQLiteSettings:
        directory = tmp_path / "databases"
        directory.mkdir()
        settings = SQLiteSettings(path="rows.db", directory=directory)
        await SQLite(settings).execute(f"CREATE TABLE t {TENANTS}")
        return settings

    async def test_file_is_rejected_without_a_directory(self, settings: SQLiteSettings) -> None:
        error = await failure(settings, tenants("t"), directory=None)
        assert isinstance(error, errors.InvalidSettings)
        assert "--sqlite-dir" in str(error)

    @pytest.mark.parametrize("path", ["../outside.db", "sub/../../outside.db", ".", "", "a\0b"])
    async def test_path_out_of_the_directory_is_rejected(
        self, settings: SQLiteSettings, path: str
    ) -> None:
        assert settings.directory
        outside = replace(settings, path="outside.db", directory=settings.directory.parent)
        await SQLite(outside).execute(f"CREATE TABLE t {TENANTS}")
        error = await failure(settings, tenants("t"), path=path)
        assert isinstance(error, errors.InvalidSettings)
        assert error.field == "sqlite.path"

    @pytest.mark.parametrize("path", ["x" * 300, "x/" * 3000, "rows.db\ud800"])
    async def test_invalid_path_is_rejected(self, settings: SQLiteSettings, path: str) -> None:
        error = await failure(settings, tenants("t"), path=path)
        assert isinstance(error, errors.InvalidSettings)
        assert error.field == "sqlite.path"

    async def test_link_out_of_the_directory_is_rejected(self, settings: SQLiteSettings) -> None:
        assert settings.directory
        outside = settings.directory.parent / "outside.db"
        outside.touch()
        (settings.directory / "link.db").symlink_to(outside)
        error = await failure(settings, tenants("t"), path="link.db")
        assert isinstance(error, errors.InvalidSettings)

    async def test_link_inside_the_directory_is_followed(self, settings: SQLiteSettings) -> None:
        assert settings.directory
        (settings.directory / "link.db").symlink_to("rows.db")
        async with opened(settings, path="link.db") as source:
            _, summary = await read(source, tenants("t"))
        assert summary.seen == 0

    async def test_cycle_of_links_is_rejected(self, settings: SQLiteSettings) -> None:
        assert settings.directory
        (settings.directory / "circle.db").symlink_to("circle.db")
        error = await failure(settings, tenants("t"), path="circle.db")
        assert isinstance(error, errors.InvalidSettings | errors.MissingDatabase)

    async def test_missing_file_is_not_created(self, settings: SQLiteSettings) -> None:
        assert settings.directory
        error = await failure(settings, tenants("t"), path="nowhere.db")
        assert type(error) is errors.MissingDatabase
        assert not (settings.directory / "nowhere.db").exists()

    async def test_directory_and_pipe_are_rejected(self, settings: SQLiteSettings) -> None:
        assert settings.directory
        (settings.directory / "folder").mkdir()
        os.mkfifo(settings.directory / "pipe")
        for path in ("folder", "pipe"):
            assert type(await failure(settings, tenants("t"), path=path)) is errors.MissingDatabase

    async def test_file_that_is_no_database_is_rejected(self, settings: SQLiteSettings) -> None:
        assert settings.directory
        (settings.directory / "text.db").write_text("no database" * 100)
        error = await failure(settings, tenants("t"), path="text.db")
        assert type(error) is errors.QueryFailed
        assert "no SQLite database" in str(error)

    async def test_damaged_file_is_never_a_partial_table(self, settings: SQLiteSettings) -> None:
        engine = SQLite(settings)
        await engine.insert("t", [(f"u{n}", "1", "x" * 150) for n in range(5000)])
        content = bytearray(engine.file.read_bytes())
        middle = len(content) // 2 // 4096 * 4096
        content[middle : middle + 3 * 4096] = b"\xff" * (3 * 4096)
        engine.file.write_bytes(content)
        error = await failure(settings, tenants("t"))
        assert type(error) is errors.QueryFailed
        assert "damaged" in str(error)

    async def test_unfinished_transaction_of_a_dead_writer_is_not_read(
        self, settings: SQLiteSettings
    ) -> None:
        engine = SQLite(settings)
        await engine.insert("t", [(f"u{n}", "1", "x" * 100) for n in range(3000)])
        with closing(sqlite3.connect(engine.file, isolation_level=None)) as writer:
            writer.execute("PRAGMA cache_size = 1")
            writer.execute("BEGIN")
            writer.execute("UPDATE t SET plan = 'y'")
            for left in (engine.file, engine.file.with_name("rows.db-journal")):
                shutil.copy(left, left.with_name(left.name.replace("rows", "left")))
        error = await failure(settings, tenants("t"), path="left.db")
        assert type(error) is errors.QueryFailed
        assert "in the middle of a transaction" in str(error)

    async def test_text_that_is_not_utf8_is_not_shown(self, settings: SQLiteSettings) -> None:
        await SQLite(settings).execute(
            "INSERT INTO t VALUES ('a', '1', CAST(x'63346e617279ff' AS TEXT))"
        )
        error = await failure(settings, tenants("t"))
        assert type(error) is errors.QueryFailed
        assert "c4nary" not in "".join(traceback.format_exception(error))

    async def test_unreadable_file_is_reported(self, settings: SQLiteSettings) -> None:
        if os.geteuid() == 0:
            pytest.skip("root may read everything")
        SQLite(settings).file.chmod(0)
        assert type(await failure(settings, tenants("t"))) is errors.MissingGrant

    async def test_file_in_a_read_only_directory_is_read(self, settings: SQLiteSettings) -> None:
        assert settings.directory
        mode = stat.S_IMODE(settings.directory.stat().st_mode)
        settings.directory.chmod(0o555)
        try:
            async with opened(settings) as source:
                _, summary = await read(source, tenants("t"))
        finally:
            settings.directory.chmod(mode)
        assert summary.seen == 0
        assert {path.name for path in settings.directory.iterdir()} == {"rows.db"}

    async def test_view_may_not_load_extensions(self, settings: SQLiteSettings) -> None:
        await SQLite(settings).execute(
            "CREATE VIEW evil AS SELECT uid, activate, load_extension('x') AS plan FROM t"
        )
        assert isinstance(await failure(settings, tenants("evil")), errors.QueryFailed)

    async def test_unknown_column_is_never_read_as_a_text(self, settings: SQLiteSettings) -> None:
        await SQLite(settings).execute("INSERT INTO t VALUES ('a', '1', 'x')")
        error = await failure(settings, tenants("t", extras={"x": "nothere"}))
        assert type(error) is errors.MissingColumn


async def test_password_is_never_sent_in_clear_text() -> None:
    received = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send MySQL's greeting, and request the password in clear text."""
        capabilities = (0xFFFFFFFF & ~(1 << 11)).to_bytes(4, "little")
        greeting = b"\x0a8.0.0\0" + bytes(4) + b"12345678\0" + capabilities[:2]
        greeting += b"\x2d\x02\x00" + capabilities[2:] + b"\x15" + bytes(10)
        greeting += b"123456789012\0mysql_native_password\0"
        writer.write(len(greeting).to_bytes(3, "little") + b"\0" + greeting)
        received.extend(await reader.read(4096))
        switch = b"\xfemysql_clear_password\0"
        writer.write(len(switch).to_bytes(3, "little") + b"\x02" + switch)
        received.extend(await reader.read(4096))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        settings = MySQLSettings(
            host="127.0.0.1",
            port=server.sockets[0].getsockname()[1],
            username="user",
            password=CANARY,
            database="d",
        )
        error = await failure(settings, tenants("t"))
    assert b"user" in received
    assert CANARY.encode() not in received
    assert type(error) is errors.UnverifiedServer

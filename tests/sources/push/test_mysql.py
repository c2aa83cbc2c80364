"""Push from MariaDB: the behavior that is specific to the binlog."""

import asyncio
import re
import sys
import time
from dataclasses import replace

import pytest
from pymysqlreplication import row_event

from certificates import Authority
from databases import mariadb_session
from lynq.api import TlsMode
from lynq.sources import TLS
from lynq.sources.mysql import binlog
from push_listener import count_changes, listen_to, push_threads
from sources.push.push_databases import MySQLPush
from waiting import eventually


@pytest.fixture
def database(mysql_push: MySQLPush) -> MySQLPush:
    return mysql_push


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO tenants VALUES (3, 'three')",
        "UPDATE tenants SET name = 'uno' WHERE id = 1",
        "DELETE FROM tenants WHERE id = 2",
        "REPLACE INTO tenants VALUES (1, 'eins')",
        "TRUNCATE TABLE tenants",
        "ALTER TABLE tenants ADD COLUMN age INT",
        "RENAME TABLE tenants TO gone, gone TO tenants",
    ],
)
async def test_every_kind_of_change_is_reported(database: MySQLPush, statement: str) -> None:
    async with count_changes(database.settings, "tenants") as notifier:
        before = notifier.changes
        await database.execute(statement)
        await eventually(lambda: notifier.changes > before)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO others VALUES (3, 'three')",
        "INSERT INTO elsewhere.tenants VALUES (3, 'three')",
        "UPDATE tenants SET name = 'one' WHERE id = 1",
        "TRUNCATE TABLE others",
        "CREATE TABLE further (id INT)",
        "DROP TABLE IF EXISTS further",
    ],
)
async def test_other_statements_are_not_reported(database: MySQLPush, statement: str) -> None:
    async with count_changes(database.settings, "tenants") as notifier:
        before = notifier.changes
        # The binlog is ordered: the first would have been reported before the second.
        await database.execute(statement, "INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: notifier.changes > before)
        assert notifier.changes == before + 1


async def test_table_of_another_database_is_watched(database: MySQLPush) -> None:
    async with count_changes(database.settings, "elsewhere.tenants") as notifier:
        before = notifier.changes
        await database.execute(
            "INSERT INTO tenants VALUES (9, 'nine')",
            "INSERT INTO elsewhere.tenants VALUES (9, 'nine')",
        )
        await eventually(lambda: notifier.changes > before)
        assert notifier.changes == before + 1


async def test_view_reports_changes_of_every_table_of_its_database(database: MySQLPush) -> None:
    async with count_changes(database.settings, "active") as notifier:
        before = notifier.changes
        await database.execute("INSERT INTO elsewhere.tenants VALUES (9, 'nine')")
        await database.execute("INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: notifier.changes == before + 1)
        await database.execute("INSERT INTO others VALUES (9, 'nine')")
        await eventually(lambda: notifier.changes == before + 2)


async def test_binlog_rotation_and_purge_keep_the_channel(database: MySQLPush) -> None:
    async with count_changes(database.settings, "tenants") as notifier:
        before = notifier.changes
        await database.execute("FLUSH BINARY LOGS", "PURGE BINARY LOGS BEFORE NOW()")
        await database.execute("INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: notifier.changes == before + 1)


async def test_event_that_cannot_be_parsed_is_reported(
    database: MySQLPush, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trip(*_: object) -> None:
        raise KeyError("a column type of the future")

    monkeypatch.setattr(row_event.TableMapEvent, "_sync_column_info", trip)
    async with count_changes(database.settings, "tenants") as notifier:
        before = notifier.changes
        await database.execute("INSERT INTO tenants VALUES (8, 'eight')")
        await eventually(lambda: notifier.changes == before + 1)
        await database.execute("INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: notifier.changes == before + 2)


async def test_server_id_collision_resolves_itself(
    database: MySQLPush, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = binlog._SERVER_IDS
    monkeypatch.setattr(binlog, "_SERVER_IDS", [4242])
    async with (
        listen_to(database.settings, "tenants") as first,
        listen_to(database.settings, "others") as second,
    ):
        await first.lost()
        await second.lost()
        monkeypatch.setattr(binlog, "_SERVER_IDS", free)
        await first.connected()
        await second.connected()
        before = first.arrivals, second.arrivals
        await database.execute("DELETE FROM tenants", "INSERT INTO others VALUES (1, '')")
        await eventually(lambda: first.arrivals > before[0] and second.arrivals > before[1])


@pytest.mark.parametrize("mode", list(TlsMode))
async def test_connection_is_encrypted_as_tls_mode_requires(
    database: MySQLPush, authority: Authority, mode: TlsMode
) -> None:
    await database.execute("CREATE USER tls_only IDENTIFIED BY 'x' REQUIRE SSL")
    await database.execute("GRANT ALL ON *.* TO tls_only")
    try:
        tls = TLS(mode=mode, ca=authority.certificate.decode())
        async with listen_to(
            replace(database.logged_in_as("tls_only", "x"), tls=tls), "tenants"
        ) as listener:
            if mode is TlsMode.DISABLE:
                await listener.lost()
            else:
                await listener.connected()
    finally:
        await database.execute("DROP USER tls_only")


async def test_untrusted_certificate_is_reported(database: MySQLPush) -> None:
    tls = TLS(ca=Authority("other-authority").certificate.decode())
    async with listen_to(replace(database.settings, tls=tls), "tenants") as listener:
        assert (await listener.lost()).reason == "TLSFailed"


async def test_xa_transaction_is_reported_at_its_commit(database: MySQLPush) -> None:
    # A prepared transaction belongs to its connection until the server has noticed its end.
    async with (
        count_changes(database.settings, "tenants") as notifier,
        mariadb_session(database.server) as execute,
    ):
        await execute(
            "XA START 'x'", "INSERT INTO tenants VALUES (9, '')", "XA END 'x'", "XA PREPARE 'x'"
        )
        try:
            await eventually(lambda: notifier.changes == 2)
        finally:
            await execute("XA COMMIT 'x'")
        await eventually(lambda: notifier.changes > 2)


async def test_created_table_reconnects(database: MySQLPush) -> None:
    async with listen_to(database.settings, "missing") as listener:
        lost = await listener.lost()
        assert lost.reason == "MissingTable"
        assert "table missing" in lost.message
        await database.execute("CREATE TABLE missing (id INT)")
        await listener.connected()
    await database.execute("DROP TABLE missing")


@pytest.mark.parametrize("granted", ["REPLICATION CLIENT", "REPLICATION SLAVE"])
async def test_missing_grant_is_reported_and_granting_it_reconnects(
    database: MySQLPush, granted: str
) -> None:
    await database.execute(
        "CREATE USER limited IDENTIFIED BY 'limited-secret'",
        "GRANT SELECT ON tests.tenants TO limited",
        f"GRANT {granted} ON *.* TO limited",
    )
    try:
        settings = database.logged_in_as("limited", "limited-secret")
        async with listen_to(settings, "tenants") as listener:
            lost = await listener.lost()
            assert lost.reason == "MissingGrant"
            assert "user limited may not follow the binlog" in lost.message
            assert "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.*" in lost.message
            await database.execute("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO limited")
            await listener.connected()
    finally:
        await database.execute("DROP USER limited")


async def test_disabled_binlog_is_reported(mysql_without_binlog: MySQLPush) -> None:
    async with listen_to(mysql_without_binlog.settings, "tenants") as listener:
        lost = await listener.lost()
    assert lost.reason == "MissingSetting"
    assert re.search(r"needs log_bin \(is OFF\) and binlog_format=ROW \(is MIXED\)", lost.message)


async def test_statement_binlog_is_reported_and_row_format_reconnects(database: MySQLPush) -> None:
    await database.execute("SET GLOBAL binlog_format = 'STATEMENT'")
    try:
        async with listen_to(database.settings, "tenants") as listener:
            lost = await listener.lost()
            assert lost.reason == "MissingSetting"
            assert "binlog_format=ROW (is STATEMENT)" in lost.message
            await database.execute("SET GLOBAL binlog_format = 'ROW'")
            await listener.connected()
    finally:
        await database.execute("SET GLOBAL binlog_format = 'ROW'")


async def test_missing_package_is_named(
    database: MySQLPush, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "lynq.sources.mysql.binlog")
    monkeypatch.delattr("lynq.sources.mysql.binlog")
    monkeypatch.setitem(sys.modules, "pymysqlreplication", None)
    async with listen_to(database.settings, "tenants") as listener:
        lost = await listener.lost()
    assert lost.reason == "DriverMissing"
    assert "mysql-replication" in lost.message


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.timing
async def test_closed_tls_channel_leaves_no_thread_and_no_task(
    database: MySQLPush, authority: Authority, *, encrypted: bool
) -> None:
    tls = TLS(ca=authority.certificate.decode()) if encrypted else TLS(mode=TlsMode.DISABLE)
    before = asyncio.all_tasks()
    async with listen_to(replace(database.settings, tls=tls), "tenants") as listener:
        await listener.connected()
        assert push_threads()
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert not push_threads()
    assert asyncio.all_tasks() <= before


@pytest.mark.timing
async def test_close_does_not_wait_for_a_silent_server(database: MySQLPush) -> None:
    """The server accepts connections and never sends its greeting."""
    connections: list[asyncio.StreamWriter] = []

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)

    silent = await asyncio.start_server(accept, "127.0.0.1", 0)
    settings = replace(database.settings, port=silent.sockets[0].getsockname()[1])
    async with silent, listen_to(replace(settings, connect_timeout=60.0), "tenants"):
        await eventually(lambda: push_threads() and len(connections) == 2)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert not push_threads()
    for writer in connections:
        writer.close()

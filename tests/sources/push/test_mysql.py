"""Push from MariaDB: what wakes the hub, what does not, and what is told when it cannot."""

import asyncio
import re
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial

import pytest
from pymysqlreplication import row_event

from certificates import Authority
from lynq.api import TlsMode
from lynq.sources import TLS, MySQLSettings, SourceChangeKind
from lynq.sources.mysql import binlog, push
from lynq.sources.push.channel import PushTiming
from lynq.sources.query import Table
from push_listener import (
    QUICK,
    ChangingTable,
    CountingNotifier,
    listen_to,
    notifications,
    push_threads,
)
from waiting import eventually

MySQL = ChangingTable[MySQLSettings]


@pytest.fixture
async def database(changing_mysql: MySQL) -> AsyncIterator[MySQL]:
    await changing_mysql.execute(
        "CREATE DATABASE elsewhere",
        "CREATE TABLE tenants (id INT PRIMARY KEY, name TEXT)",
        "CREATE TABLE others (id INT PRIMARY KEY, name TEXT)",
        "CREATE TABLE elsewhere.tenants (id INT PRIMARY KEY, name TEXT)",
        "CREATE VIEW active AS SELECT id, name FROM tenants",
        "INSERT INTO tenants VALUES (1, 'one'), (2, 'two')",
    )
    yield changing_mysql
    await changing_mysql.execute(
        "DROP VIEW active", "DROP TABLE tenants, others", "DROP DATABASE elsewhere"
    )


def rung(database: MySQL, table: str) -> AbstractAsyncContextManager[CountingNotifier]:
    return notifications(partial(push.listen, database.settings, Table.named(table), QUICK))


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
async def test_a_change_wakes(database: MySQL, statement: str) -> None:
    async with rung(database, "tenants") as bell:
        before = bell.rings
        await database.execute(statement)
        await eventually(lambda: bell.rings > before)


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
async def test_nothing_else_does(database: MySQL, statement: str) -> None:
    async with rung(database, "tenants") as bell:
        before = bell.rings
        # The binlog is in order: once the second is heard, the first would have been.
        await database.execute(statement, "INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: bell.rings > before)
        assert bell.rings == before + 1


async def test_what_is_rolled_back_wakes_nobody(database: MySQL) -> None:
    async with rung(database, "tenants") as bell:
        before = bell.rings
        await database.execute("BEGIN", "DELETE FROM tenants", "ROLLBACK")
        await database.execute("INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: bell.rings > before)
        assert bell.rings == before + 1


async def test_a_table_may_be_in_another_database(database: MySQL) -> None:
    async with rung(database, "elsewhere.tenants") as bell:
        before = bell.rings
        await database.execute(
            "INSERT INTO tenants VALUES (9, 'nine')",
            "INSERT INTO elsewhere.tenants VALUES (9, 'nine')",
        )
        await eventually(lambda: bell.rings > before)
        assert bell.rings == before + 1


async def test_a_view_is_woken_by_every_table_of_its_database(database: MySQL) -> None:
    async with rung(database, "active") as bell:
        before = bell.rings
        await database.execute("INSERT INTO elsewhere.tenants VALUES (9, 'nine')")
        await database.execute("INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: bell.rings == before + 1)
        await database.execute("INSERT INTO others VALUES (9, 'nine')")
        await eventually(lambda: bell.rings == before + 2)


async def test_a_new_binlog_file_changes_nothing(database: MySQL) -> None:
    async with rung(database, "tenants") as bell:
        before = bell.rings
        await database.execute("FLUSH BINARY LOGS", "PURGE BINARY LOGS BEFORE NOW()")
        await database.execute("INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: bell.rings == before + 1)


async def test_an_event_that_cannot_be_parsed_wakes(
    database: MySQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trip(*_: object) -> None:
        raise KeyError("a column type of the future")

    monkeypatch.setattr(row_event.TableMapEvent, "_sync_column_info", trip)
    async with rung(database, "tenants") as bell:
        before = bell.rings
        await database.execute("INSERT INTO tenants VALUES (8, 'eight')")
        await eventually(lambda: bell.rings == before + 1)
        await database.execute("INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: bell.rings == before + 2)


async def test_ten_thousand_updates_are_a_handful_of_wake_ups(database: MySQL) -> None:
    timing = PushTiming()
    updates = """
        BEGIN NOT ATOMIC
          DECLARE i INT DEFAULT 0;
          WHILE i < 10000 DO
            UPDATE tenants SET name = i WHERE id = 1;
            SET i = i + 1;
          END WHILE;
        END"""
    async with listen_to(database.settings, "tenants", timing) as ears:
        await ears.connected()
        began, before = time.monotonic(), ears.wake_ups
        await database.execute(updates)
        await eventually(lambda: ears.wake_ups > before, within=timing.interval * 2)
        intervals = (time.monotonic() - began) / timing.interval
        # One at once, one per interval, the last of the burst, and its echo.
        assert ears.wake_ups - before <= intervals + 3


async def test_a_restarted_server_is_told_and_comes_back_with_a_wake_up(database: MySQL) -> None:
    async with listen_to(database.settings, "tenants") as ears:
        await ears.connected()
        database.server.stop()
        lost = await ears.lost()
        assert lost.reason in {"Interrupted", "Refused", "ServerStopping", "SourceConnectionFailed"}
        assert f"mysql {database.server.host}:{database.server.port}" in lost.message
        database.server.start()
        await ears.connected()


async def test_a_killed_connection_is_told_and_comes_back_with_a_wake_up(database: MySQL) -> None:
    async with listen_to(database.settings, "tenants") as ears:
        await ears.connected()
        await database.execute(f"KILL USER {database.settings.username}")
        assert (await ears.lost()).reason == "Interrupted"
        await ears.connected()


async def test_a_server_that_falls_silent_is_noticed(database: MySQL) -> None:
    timing = replace(QUICK, silence=1.0)
    settings = replace(database.settings, connect_timeout=0.5)
    process = database.server.process
    assert process
    async with listen_to(settings, "tenants", timing) as ears:
        await ears.connected()
        process.send(signal.SIGSTOP)
        try:
            await ears.lost()
        finally:
            process.send(signal.SIGCONT)
        await ears.connected()


async def test_an_idle_connection_is_kept_alive_by_heartbeats(database: MySQL) -> None:
    timing = replace(QUICK, silence=0.6)
    async with listen_to(database.settings, "tenants", timing) as ears:
        await ears.connected()
        # Longer than the silence that would be the end of it, several times over.
        await asyncio.sleep(2)
        assert [word.kind for word in ears.words].count(SourceChangeKind.CONNECTED) == 1
        assert ears.state is SourceChangeKind.CONNECTED


async def test_a_clash_of_server_ids_resolves_itself(
    database: MySQL, monkeypatch: pytest.MonkeyPatch
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
        before = first.wake_ups, second.wake_ups
        await database.execute("DELETE FROM tenants", "INSERT INTO others VALUES (1, '')")
        await eventually(lambda: first.wake_ups > before[0] and second.wake_ups > before[1])


async def test_a_wrong_password_is_told_and_never_shown(database: MySQL) -> None:
    settings = database.logged_in_as(database.settings.username, "not-the-password")
    async with listen_to(settings, "tenants") as ears:
        lost = await ears.lost()
    assert lost.reason == "WrongPassword"
    assert "not-the-password" not in lost.message


@pytest.mark.parametrize("mode", list(TlsMode))
async def test_the_connection_is_encrypted_as_asked(
    database: MySQL, authority: Authority, mode: TlsMode
) -> None:
    await database.execute("CREATE USER secretive IDENTIFIED BY 'x' REQUIRE SSL")
    await database.execute("GRANT ALL ON *.* TO secretive")
    try:
        tls = TLS(mode=mode, ca=authority.certificate.decode())
        async with listen_to(
            replace(database.logged_in_as("secretive", "x"), tls=tls), "tenants"
        ) as ears:
            if mode is TlsMode.DISABLE:
                await ears.lost()
            else:
                await ears.connected()
    finally:
        await database.execute("DROP USER secretive")


async def test_a_certificate_of_somebody_else_is_told(database: MySQL) -> None:
    tls = TLS(ca=Authority("somebody-else").certificate.decode())
    async with listen_to(replace(database.settings, tls=tls), "tenants") as ears:
        assert (await ears.lost()).reason == "TLSFailed"


async def test_a_transaction_in_two_phases_wakes_when_it_is_committed(database: MySQL) -> None:
    async with rung(database, "tenants") as bell:
        await database.execute(
            "XA START 'x'", "INSERT INTO tenants VALUES (9, '')", "XA END 'x'", "XA PREPARE 'x'"
        )
        await eventually(lambda: bell.rings == 2)
        await database.execute("XA COMMIT 'x'")
        await eventually(lambda: bell.rings > 2)


async def test_a_server_that_is_not_there_is_told(database: MySQL, unused_tcp_port: int) -> None:
    async with listen_to(replace(database.settings, port=unused_tcp_port), "tenants") as ears:
        assert (await ears.lost()).reason == "Refused"


async def test_an_unknown_host_is_told(database: MySQL) -> None:
    async with listen_to(replace(database.settings, host="nowhere.invalid"), "tenants") as ears:
        assert (await ears.lost()).reason == "UnknownHost"


async def test_a_missing_table_is_told(database: MySQL) -> None:
    async with listen_to(database.settings, "missing") as ears:
        lost = await ears.lost()
        assert lost.reason == "MissingTable"
        assert "table missing" in lost.message
        await database.execute("CREATE TABLE missing (id INT)")
        await ears.connected()
    await database.execute("DROP TABLE missing")


@pytest.mark.parametrize("given", ["REPLICATION CLIENT", "REPLICATION SLAVE"])
async def test_a_missing_grant_is_told_and_taken_up(database: MySQL, given: str) -> None:
    await database.execute(
        "CREATE USER limited IDENTIFIED BY 'limited-secret'",
        "GRANT SELECT ON tests.tenants TO limited",
        f"GRANT {given} ON *.* TO limited",
    )
    try:
        settings = database.logged_in_as("limited", "limited-secret")
        async with listen_to(settings, "tenants") as ears:
            lost = await ears.lost()
            assert lost.reason == "MissingGrant"
            assert "user limited may not follow the binlog" in lost.message
            assert "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.*" in lost.message
            await database.execute("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO limited")
            await ears.connected()
    finally:
        await database.execute("DROP USER limited")


async def test_a_server_without_binlog_is_told(unchanging_mysql: MySQL) -> None:
    async with listen_to(unchanging_mysql.settings, "tenants") as ears:
        lost = await ears.lost()
    assert lost.reason == "MissingSetting"
    assert re.search(r"needs log_bin \(is OFF\) and binlog_format=ROW \(is MIXED\)", lost.message)


async def test_a_binlog_of_statements_is_told_and_its_end_taken_up(database: MySQL) -> None:
    await database.execute("SET GLOBAL binlog_format = 'STATEMENT'")
    try:
        async with listen_to(database.settings, "tenants") as ears:
            lost = await ears.lost()
            assert lost.reason == "MissingSetting"
            assert "binlog_format=ROW (is STATEMENT)" in lost.message
            await database.execute("SET GLOBAL binlog_format = 'ROW'")
            await ears.connected()
    finally:
        await database.execute("SET GLOBAL binlog_format = 'ROW'")


async def test_without_the_extra_it_says_what_to_install(
    database: MySQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "lynq.sources.mysql.binlog")
    monkeypatch.delattr("lynq.sources.mysql.binlog")
    monkeypatch.setitem(sys.modules, "pymysqlreplication", None)
    async with listen_to(database.settings, "tenants") as ears:
        lost = await ears.lost()
    assert lost.reason == "DriverMissing"
    assert "lynq[push]" in lost.message


@pytest.mark.parametrize("encrypted", [False, True])
async def test_closing_leaves_no_thread_and_no_task(
    database: MySQL, authority: Authority, *, encrypted: bool
) -> None:
    tls = TLS(ca=authority.certificate.decode()) if encrypted else TLS(mode=TlsMode.DISABLE)
    before = asyncio.all_tasks()
    async with listen_to(replace(database.settings, tls=tls), "tenants") as ears:
        await ears.connected()
        assert push_threads()
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert not push_threads()
    assert asyncio.all_tasks() == before


async def test_closing_does_not_wait_for_a_server_that_says_nothing(database: MySQL) -> None:
    """It accepts, and then nothing: no greeting, no end."""
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

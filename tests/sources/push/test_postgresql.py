"""Push from PostgreSQL: what wakes the hub, what does not, and what is told when it cannot."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial

import asyncpg
import pytest

from databases import Server
from lynq.sources import PostgreSQLSettings, SourceChangeKind
from lynq.sources.postgresql import push
from lynq.sources.postgresql.trigger import trigger_sql
from lynq.sources.push.channel import PushTiming
from lynq.sources.query import Table
from push_listener import QUICK, ChangingTable, CountingNotifier, listen_to, notifications
from sources.proxy import Fault, proxied
from waiting import eventually

PostgreSQL = ChangingTable[PostgreSQLSettings]


@pytest.fixture
async def database(changing_postgresql: PostgreSQL) -> AsyncIterator[PostgreSQL]:
    await changing_postgresql.execute(
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
    yield changing_postgresql
    await changing_postgresql.execute(
        'DROP SCHEMA "Sales Dept" CASCADE',
        "DROP TABLE tenants, others CASCADE",
        "DROP FUNCTION lynq_notify",
    )


@pytest.fixture
def _ours_to_stop(postgresql: Server) -> None:
    if not postgresql.process:
        pytest.skip("the server was named in the environment: it is not ours to stop")


def rung(database: PostgreSQL, table: str) -> AbstractAsyncContextManager[CountingNotifier]:
    return notifications(partial(push.listen, database.settings, Table.named(table), QUICK))


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO tenants VALUES (3, 'three')",
        "UPDATE tenants SET name = 'uno' WHERE id = 1",
        "DELETE FROM tenants WHERE id = 2",
        "TRUNCATE tenants",
        "COPY (SELECT 1) TO STDOUT; INSERT INTO active VALUES (4, 'by the view')",
    ],
)
async def test_a_change_wakes(database: PostgreSQL, statement: str) -> None:
    async with rung(database, "tenants") as bell:
        before = bell.rings
        await database.execute(statement)
        await eventually(lambda: bell.rings > before)


async def test_other_tables_do_not_wake(database: PostgreSQL) -> None:
    async with rung(database, "tenants") as bell:
        before = bell.rings
        # Notifications come in the order of commits: the first would have been heard.
        await database.execute(
            "INSERT INTO others VALUES (9, 'nine')",
            """INSERT INTO "Sales Dept"."Tenants" VALUES (9, 'nine')""",
            "INSERT INTO tenants VALUES (9, 'nine')",
        )
        await eventually(lambda: bell.rings > before)
        assert bell.rings == before + 1


async def test_what_is_rolled_back_wakes_nobody(database: PostgreSQL) -> None:
    async with rung(database, "tenants") as bell:
        before = bell.rings
        await database.execute("BEGIN", "DELETE FROM tenants", "ROLLBACK")
        await database.execute("INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: bell.rings > before)
        assert bell.rings == before + 1


async def test_a_transaction_of_many_statements_wakes_once(database: PostgreSQL) -> None:
    async with rung(database, "tenants") as bell:
        before = bell.rings
        inserts = [f"INSERT INTO tenants VALUES ({i}, '')" for i in range(10, 60)]
        await database.execute("BEGIN", *inserts, "COMMIT")
        await database.execute("NOTIFY \"lynq_public.tenants\", 'the end'")
        await eventually(lambda: bell.rings == before + 2)


async def test_names_with_capitals_and_spaces_are_found(database: PostgreSQL) -> None:
    async with rung(database, "Sales Dept.Tenants") as bell:
        before = bell.rings
        await database.execute("""INSERT INTO "Sales Dept"."Tenants" VALUES (9, 'nine')""")
        await eventually(lambda: bell.rings == before + 1)


async def test_the_sql_may_be_run_again(database: PostgreSQL) -> None:
    await database.execute(*[trigger_sql(Table.named("tenants"))] * 3)
    async with rung(database, "tenants") as bell:
        before = bell.rings
        await database.execute(
            "INSERT INTO tenants VALUES (8, '')", "INSERT INTO tenants VALUES (9, '')"
        )
        await eventually(lambda: bell.rings == before + 2)


async def test_a_missing_trigger_is_told_and_its_installation_taken_up(
    database: PostgreSQL,
) -> None:
    await database.execute('DROP TRIGGER "lynq_public.tenants" ON tenants')
    timing = replace(QUICK, silence=0.5)
    async with listen_to(database.settings, "tenants", timing) as ears:
        lost = await ears.lost()
        assert lost.reason == "MissingTrigger"
        assert "`lynq source sql-trigger --table public.tenants`" in lost.message
        await database.execute(trigger_sql(Table.named("tenants")))
        await ears.connected()


async def test_a_trigger_that_goes_away_or_is_disabled_is_told(database: PostgreSQL) -> None:
    async with listen_to(database.settings, "tenants", replace(QUICK, silence=0.5)) as ears:
        await ears.connected()
        await database.execute('ALTER TABLE tenants DISABLE TRIGGER "lynq_public.tenants"')
        assert (await ears.lost()).reason == "MissingTrigger"
        await database.execute('ALTER TABLE tenants ENABLE TRIGGER "lynq_public.tenants"')
        await ears.connected()


async def test_a_trigger_that_fires_on_replicas_only_is_as_good_as_none(
    database: PostgreSQL,
) -> None:
    async with listen_to(database.settings, "tenants", replace(QUICK, silence=0.5)) as ears:
        await ears.connected()
        await database.execute('ALTER TABLE tenants ENABLE REPLICA TRIGGER "lynq_public.tenants"')
        assert (await ears.lost()).reason == "MissingTrigger"
        await database.execute('ALTER TABLE tenants ENABLE ALWAYS TRIGGER "lynq_public.tenants"')
        await ears.connected()


async def test_notifications_of_somebody_else_are_taken_without_a_trigger(
    database: PostgreSQL,
) -> None:
    await database.execute('DROP TRIGGER "lynq_public.tenants" ON tenants')
    async with rung(database, "tenants") as bell:
        before = bell.rings
        await database.execute('NOTIFY "lynq_public.tenants"')
        await eventually(lambda: bell.rings == before + 1)


async def test_a_view_is_woken_by_triggers_on_the_tables_behind_it(database: PostgreSQL) -> None:
    async with listen_to(database.settings, "active", replace(QUICK, silence=0.5)) as ears:
        lost = await ears.lost()
        assert "`lynq source sql-trigger --table TABLE --for public.active`" in lost.message
        await database.execute(trigger_sql(Table.named("tenants"), Table.named("active")))
        await ears.connected()
    async with rung(database, "active") as bell:
        before = bell.rings
        await database.execute("INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: bell.rings == before + 1)


async def test_ten_thousand_updates_are_a_handful_of_wake_ups(database: PostgreSQL) -> None:
    timing = PushTiming()
    updates = """
        DO $$ BEGIN
          FOR i IN 1..10000 LOOP
            UPDATE tenants SET name = i WHERE id = 1;
            COMMIT;
          END LOOP;
        END $$"""
    async with listen_to(database.settings, "tenants", timing) as ears:
        await ears.connected()
        began, before = time.monotonic(), ears.wake_ups
        await database.execute(updates)
        await eventually(lambda: ears.wake_ups > before, within=timing.interval * 2)
        intervals = (time.monotonic() - began) / timing.interval
        assert ears.wake_ups - before <= intervals + 2


@pytest.mark.usefixtures("_ours_to_stop")
async def test_a_restarted_server_is_told_and_comes_back_with_a_wake_up(
    database: PostgreSQL,
) -> None:
    async with listen_to(database.settings, "tenants") as ears:
        await ears.connected()
        database.server.stop()
        lost = await ears.lost()
        assert lost.reason in {"Interrupted", "Refused", "ServerStopping"}
        assert f"postgresql {database.server.host}:{database.server.port}" in lost.message
        database.server.start()
        await ears.connected()


async def test_a_killed_connection_is_told_and_comes_back_with_a_wake_up(
    database: PostgreSQL,
) -> None:
    async with listen_to(database.settings, "tenants") as ears:
        await ears.connected()
        await database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'lynq' AND pid <> pg_backend_pid()"
        )
        assert (await ears.lost()).reason == "Interrupted"
        await ears.connected()


@pytest.mark.usefixtures("_ours_to_stop")
async def test_a_server_that_falls_silent_is_noticed(database: PostgreSQL) -> None:
    """Only the process that serves us is stopped: the network is there, nobody answers."""
    timing = replace(QUICK, silence=1.0)
    async with listen_to(database.settings, "tenants", timing) as ears:
        await ears.connected()
        (pid,) = await backends(database)
        os.kill(pid, signal.SIGSTOP)
        try:
            assert (await ears.lost()).reason == "Interrupted"
            await ears.connected()
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("after", [400, 600, 800, 1000])
async def test_a_server_that_falls_silent_after_the_log_in_is_noticed(
    database: PostgreSQL, after: int
) -> None:
    async with proxied(database.server.host, database.server.port) as proxy:
        settings = replace(database.settings, port=proxy.port, connect_timeout=1.0)
        proxy.breaks(Fault.SILENCE, after=after)
        async with listen_to(settings, "tenants", replace(QUICK, silence=1.0)) as ears:
            await ears.lost()
            proxy.breaks(Fault.NONE)
            await ears.connected()


async def backends(database: PostgreSQL) -> list[int]:
    """Return the processes that serve push channels."""
    server = database.server
    connection = await asyncpg.connect(
        host=server.host,
        port=server.port,
        user=server.user,
        password=server.password,
        database=server.database,
    )
    try:
        found = await connection.fetch(
            "SELECT pid FROM pg_stat_activity"
            " WHERE application_name = 'lynq' AND query LIKE '%pg_trigger%'"
        )
    finally:
        await connection.close()
    return [row["pid"] for row in found]


async def test_a_wrong_password_is_told_and_never_shown(database: PostgreSQL) -> None:
    settings = database.logged_in_as(database.settings.username, "not-the-password")
    async with listen_to(settings, "tenants") as ears:
        lost = await ears.lost()
    assert lost.reason == "WrongPassword"
    assert "not-the-password" not in lost.message


async def test_a_missing_table_is_told(database: PostgreSQL) -> None:
    async with listen_to(database.settings, "missing") as ears:
        lost = await ears.lost()
    assert lost.reason == "MissingTable"
    assert "table missing" in lost.message


async def test_closing_leaves_no_task_and_no_connection(database: PostgreSQL) -> None:
    before = asyncio.all_tasks()
    async with listen_to(database.settings, "tenants") as ears:
        await ears.connected()
        assert ears.state is SourceChangeKind.CONNECTED
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert asyncio.all_tasks() == before

    async def are_gone() -> bool:
        return not await backends(database)

    await eventually(are_gone)

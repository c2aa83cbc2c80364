"""Push from PostgreSQL: the behavior that is specific to LISTEN/NOTIFY and triggers."""

from dataclasses import replace

import pytest

from lynq.sources.postgresql.trigger import trigger_sql
from lynq.sources.query import Table
from push_listener import QUICK, count_changes, listen_to
from sources.proxy import Fault, proxied
from sources.push.push_databases import PostgreSQLPush
from waiting import eventually


@pytest.fixture
def database(postgresql_push: PostgreSQLPush) -> PostgreSQLPush:
    return postgresql_push


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
async def test_every_kind_of_change_is_reported(database: PostgreSQLPush, statement: str) -> None:
    async with count_changes(database.settings, "tenants") as notifier:
        before = notifier.changes
        await database.execute(statement)
        await eventually(lambda: notifier.changes > before)


async def test_changes_of_other_tables_are_not_reported(database: PostgreSQLPush) -> None:
    async with count_changes(database.settings, "tenants") as notifier:
        before = notifier.changes
        # Notifications are ordered by commit: the first would have been reported.
        await database.execute(
            "INSERT INTO others VALUES (9, 'nine')",
            """INSERT INTO "Sales Dept"."Tenants" VALUES (9, 'nine')""",
            "INSERT INTO tenants VALUES (9, 'nine')",
        )
        await eventually(lambda: notifier.changes > before)
        assert notifier.changes == before + 1


async def test_transaction_of_many_statements_is_reported_once(database: PostgreSQLPush) -> None:
    async with count_changes(database.settings, "tenants") as notifier:
        before = notifier.changes
        inserts = [f"INSERT INTO tenants VALUES ({i}, '')" for i in range(10, 60)]
        await database.execute("BEGIN", *inserts, "COMMIT")
        await database.execute("NOTIFY \"lynq_public.tenants\", 'the end'")
        await eventually(lambda: notifier.changes == before + 2)


async def test_names_with_capitals_and_spaces_are_quoted(database: PostgreSQLPush) -> None:
    async with count_changes(database.settings, "Sales Dept.Tenants") as notifier:
        before = notifier.changes
        await database.execute("""INSERT INTO "Sales Dept"."Tenants" VALUES (9, 'nine')""")
        await eventually(lambda: notifier.changes == before + 1)


async def test_trigger_sql_is_idempotent(database: PostgreSQLPush) -> None:
    await database.execute(*[trigger_sql(Table.named("tenants"))] * 3)
    async with count_changes(database.settings, "tenants") as notifier:
        before = notifier.changes
        await database.execute(
            "INSERT INTO tenants VALUES (8, '')", "INSERT INTO tenants VALUES (9, '')"
        )
        await eventually(lambda: notifier.changes == before + 2)


async def test_missing_trigger_is_reported_and_installing_it_connects(
    database: PostgreSQLPush,
) -> None:
    await database.execute('DROP TRIGGER "lynq_public.tenants" ON tenants')
    timing = replace(QUICK, silence=2.0)
    async with listen_to(database.settings, "tenants", timing) as listener:
        lost = await listener.lost()
        assert lost.reason == "MissingTrigger"
        assert "`lynq source sql-trigger --table public.tenants`" in lost.message
        await database.execute(trigger_sql(Table.named("tenants")))
        await listener.connected()


async def test_disabled_trigger_is_reported(
    database: PostgreSQLPush,
) -> None:
    async with listen_to(database.settings, "tenants", replace(QUICK, silence=2.0)) as listener:
        await listener.connected()
        await database.execute('ALTER TABLE tenants DISABLE TRIGGER "lynq_public.tenants"')
        assert (await listener.lost()).reason == "MissingTrigger"
        await database.execute('ALTER TABLE tenants ENABLE TRIGGER "lynq_public.tenants"')
        await listener.connected()


async def test_trigger_for_replicas_only_counts_as_missing(
    database: PostgreSQLPush,
) -> None:
    async with listen_to(database.settings, "tenants", replace(QUICK, silence=2.0)) as listener:
        await listener.connected()
        await database.execute('ALTER TABLE tenants ENABLE REPLICA TRIGGER "lynq_public.tenants"')
        assert (await listener.lost()).reason == "MissingTrigger"
        await database.execute('ALTER TABLE tenants ENABLE ALWAYS TRIGGER "lynq_public.tenants"')
        await listener.connected()


async def test_notification_of_an_application_is_reported_without_a_trigger(
    database: PostgreSQLPush,
) -> None:
    await database.execute('DROP TRIGGER "lynq_public.tenants" ON tenants')
    async with count_changes(database.settings, "tenants") as notifier:
        before = notifier.changes
        await database.execute('NOTIFY "lynq_public.tenants"')
        await eventually(lambda: notifier.changes == before + 1)


async def test_view_reports_changes_by_triggers_on_its_tables(database: PostgreSQLPush) -> None:
    async with listen_to(database.settings, "active", replace(QUICK, silence=2.0)) as listener:
        lost = await listener.lost()
        assert "`lynq source sql-trigger --table TABLE --for public.active`" in lost.message
        await database.execute(trigger_sql(Table.named("tenants"), Table.named("active")))
        await listener.connected()
    async with count_changes(database.settings, "active") as notifier:
        before = notifier.changes
        await database.execute("INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: notifier.changes == before + 1)


async def test_stopped_backend_is_replaced_by_a_new_connection(database: PostgreSQLPush) -> None:
    timing = replace(QUICK, silence=1.0)
    async with listen_to(database.settings, "tenants", timing) as listener:
        await listener.connected()
        async with database.silence():
            assert (await listener.lost()).reason == "Interrupted"
            await listener.connected()


@pytest.mark.parametrize("after", [400, 600, 800, 1000])
async def test_silence_after_login_is_noticed(database: PostgreSQLPush, after: int) -> None:
    async with proxied(database.server.host, database.server.port) as proxy:
        settings = replace(database.settings, port=proxy.port, connect_timeout=1.0)
        proxy.inject(Fault.SILENCE, after=after)
        async with listen_to(settings, "tenants", replace(QUICK, silence=1.0)) as listener:
            await listener.lost()
            proxy.inject(Fault.NONE)
            await listener.connected()


async def test_closed_channel_leaves_no_connection(database: PostgreSQLPush) -> None:
    async with listen_to(database.settings, "tenants") as listener:
        await listener.connected()
        assert await database.backends()

    async def are_closed() -> bool:
        return not await database.backends()

    await eventually(are_closed)

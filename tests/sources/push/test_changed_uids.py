"""The uids of changed rows: from the binlog's row images, and from the trigger's payload."""

import os
from collections.abc import AsyncIterator

import asyncpg
import pytest

from lynq.sources.postgresql.trigger import trigger_sql, uids_in
from lynq.sources.query import Table
from push_listener import CountingNotifier, count_changes
from sources.push.push_databases import MySQLPush, PostgreSQLPush, PushServer
from waiting import eventually

# One column of each kind of length, and the uid behind them.
WIDE_MYSQL = """CREATE TABLE wide (
    a TINYINT, b SMALLINT, c MEDIUMINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(20,7),
    i DATE, j TIME(3), k DATETIME(6), l TIMESTAMP(1) NULL, m YEAR, n BIT(12), o ENUM('x','y'),
    p SET('x','y'), q CHAR(200), r VARCHAR(40), s VARCHAR(900), t BLOB, u LONGTEXT, v BINARY(4),
    uid VARCHAR(300), w CHAR(3), x TEXT CHARACTER SET latin1
)"""
WIDE_ROW = """INSERT INTO wide VALUES (
    1, 2, 3, 4, 5, 1.5, 2.5, 123456.7, '2024-01-02', '01:02:03.4', '2024-01-02 03:04:05.678901',
    '2024-01-02 03:04:05', 2024, b'101', 'y', 'x,y', 'ünï', 'r', REPEAT('s', 800), x'00ff', 'long',
    x'01020304', '{uid}', 'w', 'ä'
)"""


async def expect(
    uids: set[str] | None, notifier: CountingNotifier, database: PushServer, *statements: str
) -> None:
    """Wait until the rows of statements are reported, in any number of reports.

    None: any row may have changed.
    """
    before = len(notifier.uids)
    await database.execute(*statements)

    def is_reported() -> bool:
        reports = notifier.uids[before:]
        if uids is None:
            return None in reports
        assert None not in reports
        return frozenset().union(*filter(None, reports)) == uids

    await eventually(is_reported)


@pytest.fixture
async def uid_triggers(postgresql_push: PostgreSQLPush) -> AsyncIterator[PostgreSQLPush]:
    """The trigger with uids, which replaces that of an earlier release."""
    await postgresql_push.execute(trigger_sql(Table.named("tenants"), uid="id"))
    yield postgresql_push
    await postgresql_push.execute('DROP FUNCTION "lynq_notify_id" CASCADE')


@pytest.fixture(params=["mysql_push", "uid_triggers"])
def database(request: pytest.FixtureRequest) -> PushServer:
    server: PushServer = request.getfixturevalue(request.param)
    return server


async def test_changes_name_their_rows(database: PushServer) -> None:
    async with count_changes(database.settings, "tenants", "id") as notifier:
        insert = "INSERT INTO tenants VALUES (3, 'three'), (-4, 'four')"
        await expect({"3", "-4"}, notifier, database, insert)
        update = "UPDATE tenants SET name = 'x' WHERE id = 3"
        await expect({"3"}, notifier, database, update)
        rename = "UPDATE tenants SET id = 5 WHERE id = 3"
        await expect({"3", "5"}, notifier, database, rename)
        delete = "DELETE FROM tenants WHERE id < 2"
        await expect({"1", "-4"}, notifier, database, delete)
        await expect(None, notifier, database, "TRUNCATE TABLE tenants")


async def test_moved_column_is_found_again(database: PushServer) -> None:
    async with count_changes(database.settings, "tenants", "id") as notifier:
        alter = (
            "ALTER TABLE tenants ADD COLUMN code INT FIRST"
            if isinstance(database, MySQLPush)
            else "ALTER TABLE tenants ADD COLUMN code INT"
        )
        await database.execute(alter)
        update = "UPDATE tenants SET code = 99 WHERE id = 2"
        await eventually(lambda: notifier.uids)
        await database.execute(update)
        await eventually(lambda: notifier.uids[-1] == frozenset({"2"}))


async def test_uid_is_found_behind_values_of_all_lengths(mysql_push: MySQLPush) -> None:
    await mysql_push.execute(WIDE_MYSQL)
    try:
        async with count_changes(mysql_push.settings, "wide", "uid") as notifier:
            insert = WIDE_ROW.format(uid="ünï'c")
            await expect({"ünï'c"}, notifier, mysql_push, insert.replace("'c'", "''c'"))
            await mysql_push.execute("INSERT INTO wide (uid) VALUES ('nulls')")
            await eventually(lambda: notifier.uids[-1] == frozenset({"nulls"}))
            update = "UPDATE wide SET a = NULL, t = REPEAT('t', 70000 / 2)"
            await expect({"ünï'c", "nulls"}, notifier, mysql_push, update)
            null = "UPDATE wide SET uid = NULL WHERE uid = 'nulls'"
            await expect(None, notifier, mysql_push, null)
    finally:
        await mysql_push.execute("DROP TABLE wide")


async def test_partial_images_name_the_row_if_they_have_its_uid(mysql_push: MySQLPush) -> None:
    await mysql_push.execute("CREATE TABLE slugs (id INT PRIMARY KEY, slug VARCHAR(20), plan TEXT)")
    minimal = "SET binlog_row_image = MINIMAL"
    try:
        async with count_changes(mysql_push.settings, "slugs", "slug") as notifier:
            insert = "INSERT INTO slugs VALUES (1, 'acme', 'p')"
            await expect({"acme"}, notifier, mysql_push, minimal, insert)
            update = "UPDATE slugs SET plan = 'q' WHERE id = 1"
            await expect(None, notifier, mysql_push, minimal, update)
            await expect(None, notifier, mysql_push, minimal, "DELETE FROM slugs")
        async with count_changes(mysql_push.settings, "slugs", "id") as notifier:
            insert = "INSERT INTO slugs VALUES (1, 'acme', 'p')"
            await expect({"1"}, notifier, mysql_push, minimal, insert)
            await expect({"1"}, notifier, mysql_push, minimal, update)
    finally:
        await mysql_push.execute("DROP TABLE slugs")


@pytest.mark.parametrize(
    "type_",
    ["VARBINARY(9)", "ENUM('7')", "DECIMAL(5)", "INT ZEROFILL", "VARCHAR(9) CHARACTER SET latin1"],
)
async def test_values_that_differ_from_their_text_are_not_named(
    mysql_push: MySQLPush, type_: str
) -> None:
    await mysql_push.execute(f"CREATE TABLE odd (uid {type_})")
    try:
        async with count_changes(mysql_push.settings, "odd", "uid") as notifier:
            await expect(None, notifier, mysql_push, "INSERT INTO odd VALUES ('7')")
    finally:
        await mysql_push.execute("DROP TABLE odd")


async def test_view_of_mysql_names_no_rows(mysql_push: MySQLPush) -> None:
    async with count_changes(mysql_push.settings, "active", "id") as notifier:
        insert = "INSERT INTO tenants VALUES (3, 'three')"
        await expect(None, notifier, mysql_push, insert)


async def test_trigger_of_an_earlier_release_names_no_rows(
    postgresql_push: PostgreSQLPush,
) -> None:
    async with count_changes(postgresql_push.settings, "tenants", "id") as notifier:
        insert = "INSERT INTO tenants VALUES (3, 'three')"
        await expect(None, notifier, postgresql_push, insert)


async def test_role_without_privileges_learns_uids_only_if_they_are_notified(
    uid_triggers: PostgreSQLPush,
) -> None:
    """LISTEN needs no privilege."""
    settings = uid_triggers.settings
    role = f"stranger_{os.getpid()}"
    await uid_triggers.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    stranger = await asyncpg.connect(
        host=settings.host,
        port=settings.port,
        user=role,
        password="x",
        database=settings.database,
    )
    payloads: list[str] = []
    try:
        await stranger.add_listener("lynq_public.tenants", lambda *call: payloads.append(call[3]))
        await uid_triggers.execute("INSERT INTO tenants VALUES (3, 'three')")
        await eventually(lambda: len(payloads) == 1)
        assert '"3"' in payloads.pop()
        await uid_triggers.execute(trigger_sql(Table.named("tenants")))
        await uid_triggers.execute("INSERT INTO tenants VALUES (4, 'four')")
        await eventually(lambda: bool(payloads))
        assert payloads == [""]
    finally:
        await stranger.close()
        await uid_triggers.execute(f"DROP ROLE {role}")


async def test_statement_without_rows_sends_no_notification(uid_triggers: PostgreSQLPush) -> None:
    async with count_changes(uid_triggers.settings, "tenants", "id") as notifier:
        before = notifier.changes
        await uid_triggers.execute("UPDATE tenants SET name = 'x' WHERE id = 99")
        await uid_triggers.execute("INSERT INTO tenants VALUES (3, 'three')")
        await eventually(lambda: notifier.changes > before)
        assert notifier.uids[-1] == frozenset({"3"})
        assert notifier.changes == before + 1


async def test_statement_with_many_rows_names_none(uid_triggers: PostgreSQLPush) -> None:
    async with count_changes(uid_triggers.settings, "tenants", "id") as notifier:
        few = "INSERT INTO tenants SELECT n, '' FROM generate_series(1000, 1199) AS n"
        await expect(set(map(str, range(1000, 1200))), notifier, uid_triggers, few)
        many = "INSERT INTO tenants SELECT n, '' FROM generate_series(2000, 2200) AS n"
        await expect(None, notifier, uid_triggers, many)


async def test_long_uids_and_null_are_not_named(uid_triggers: PostgreSQLPush) -> None:
    await uid_triggers.execute(
        'CREATE TABLE slugs ("The Slug" TEXT)',
        trigger_sql(Table.named("slugs"), uid="The Slug"),
    )
    try:
        async with count_changes(uid_triggers.settings, "slugs", "The Slug") as notifier:
            quoted = """INSERT INTO slugs VALUES ('o''b"\\ünï')"""
            await expect({"o'b\"\\ünï"}, notifier, uid_triggers, quoted)
            null = "INSERT INTO slugs VALUES (NULL)"
            await expect(None, notifier, uid_triggers, null)
            long = "INSERT INTO slugs VALUES (repeat('x', 9000))"
            await expect(None, notifier, uid_triggers, long)
    finally:
        await uid_triggers.execute(
            "DROP TABLE slugs", 'DROP FUNCTION "lynq_notify_The Slug" CASCADE'
        )


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "tenants changed",
        "[]",
        '{"column": "id"}',
        '{"column": "id", "uids": []}',
        '{"column": "id", "uids": [null]}',
        '{"column": "id", "uids": [7]}',
        '{"column": "slug", "uids": ["acme"]}',
        '{"column": "id", "uids": ["\\ud800"]}',
    ],
)
def test_other_payload_names_no_rows(payload: str) -> None:
    assert uids_in(payload, "id") is None


def test_payload_names_rows() -> None:
    assert uids_in('{"column": "id", "uids": ["a", "b"]}', "id") == frozenset({"a", "b"})

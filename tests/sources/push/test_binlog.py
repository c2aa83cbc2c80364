"""Which events of a binlog wake the hub, played by hand where MariaDB has no such event."""

import pytest
from pymysqlreplication.event import NotImplementedEvent, QueryEvent

from lynq.sources import MySQLSettings
from lynq.sources.errors import Interrupted, MissingGrant, WrongPassword
from lynq.sources.mysql.binlog import is_relevant
from lynq.sources.mysql.preflight import WatchedTable, binlog_error

TABLE = WatchedTable("shop", "Tenants")
VIEW = WatchedTable("shop", None)
SETTINGS = MySQLSettings(host="db", username="lynq", password="secret", database="shop")


def statement(text: str, schema: str = "shop") -> QueryEvent:
    event = QueryEvent.__new__(QueryEvent)
    event.query, event.schema = text, schema.encode()
    return event


def unknown(number: int) -> NotImplementedEvent:
    event = NotImplementedEvent.__new__(NotImplementedEvent)
    event.event_type = number
    return event


@pytest.mark.parametrize(
    ("text", "wakes_table", "wakes_view"),
    [
        ("TRUNCATE TABLE tenants", True, True),
        ("ALTER TABLE `Tenants` ADD x INT", True, True),
        ("DROP DATABASE shop", True, True),
        ("RENAME TABLE a TO b", False, True),
        ("XA COMMIT X'01',X'',1", True, True),
        ("BEGIN", False, False),
        ("COMMIT", False, False),
        ("SAVEPOINT tenants", False, False),
    ],
)
def test_statements(text: str, *, wakes_table: bool, wakes_view: bool) -> None:
    assert is_relevant(statement(text), TABLE) == wakes_table
    assert is_relevant(statement(text), VIEW) == wakes_view


def test_a_statement_from_another_database_wakes_only_if_it_names_ours() -> None:
    assert not is_relevant(statement("DROP TABLE orders", "elsewhere"), VIEW)
    assert is_relevant(statement("DROP TABLE shop.orders", "elsewhere"), VIEW)


def test_compressed_events_wake_for_nobody_can_see_what_is_in_them() -> None:
    transaction_payload, compressed_statement, anonymous_gtid = 40, 165, 34
    assert is_relevant(unknown(transaction_payload), TABLE)
    assert is_relevant(unknown(compressed_statement), TABLE)
    assert not is_relevant(unknown(anonymous_gtid), TABLE)


@pytest.mark.parametrize(
    ("code", "sentence", "kind", "told"),
    [
        (1227, "you need REPLICATION SLAVE", MissingGrant, "GRANT REPLICATION SLAVE"),
        (1236, "A slave with the same server_uuid", Interrupted, "another replica uses the same"),
        (1236, "Could not find first log file", Interrupted, "cannot send its binlog"),
        (2013, "Lost connection", Interrupted, "connection was lost"),
        (1045, "Access denied, password secret", WrongPassword, "user lynq"),
    ],
)
def test_refusals_are_told_apart_and_in_our_words(
    code: int, sentence: str, kind: type[Exception], told: str
) -> None:
    error = binlog_error(Exception(code, sentence), SETTINGS)
    assert type(error) is kind
    assert told in str(error)
    assert sentence not in str(error)

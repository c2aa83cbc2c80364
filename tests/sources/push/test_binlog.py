"""Which binlog events are relevant, with artificial events that MariaDB does not send."""

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
    ("text", "for_table", "for_view"),
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
def test_relevance_of_statements(text: str, *, for_table: bool, for_view: bool) -> None:
    assert is_relevant(statement(text), TABLE) == for_table
    assert is_relevant(statement(text), VIEW) == for_view


def test_statement_of_another_database_is_relevant_only_if_it_names_the_schema() -> None:
    assert not is_relevant(statement("DROP TABLE orders", "elsewhere"), VIEW)
    assert is_relevant(statement("DROP TABLE shop.orders", "elsewhere"), VIEW)


def test_compressed_events_are_relevant() -> None:
    transaction_payload, compressed_statement, anonymous_gtid = 40, 165, 34
    assert is_relevant(unknown(transaction_payload), TABLE)
    assert is_relevant(unknown(compressed_statement), TABLE)
    assert not is_relevant(unknown(anonymous_gtid), TABLE)


@pytest.mark.parametrize(
    ("code", "server_message", "kind", "message"),
    [
        (1227, "you need REPLICATION SLAVE", MissingGrant, "GRANT REPLICATION SLAVE"),
        (1236, "A slave with the same server_uuid", Interrupted, "another replica uses the same"),
        (1236, "Could not find first log file", Interrupted, "cannot send its binlog"),
        (2013, "Lost connection", Interrupted, "connection was lost"),
        (1045, "Access denied, password secret", WrongPassword, "user lynq"),
    ],
)
def test_binlog_errors_have_their_own_type_and_message(
    code: int, server_message: str, kind: type[Exception], message: str
) -> None:
    error = binlog_error(Exception(code, server_message), SETTINGS)
    assert type(error) is kind
    assert message in str(error)
    assert server_message not in str(error)

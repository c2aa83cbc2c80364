"""The checks before a binlog is followed, with a fake server."""

from typing import Any

import pytest

from lynq.sources import Endpoint
from lynq.sources.errors import MissingSetting, MissingTable
from lynq.sources.mysql.preflight import (
    BinlogStart,
    WatchedTable,
    is_filtered,
    missing_settings,
    preflight,
    status_statement,
)
from lynq.sources.query import Table

ENDPOINT = Endpoint(engine="mysql", host="db", port=3306, database="shop")
GOOD = {"log_bin": "ON", "binlog_format": "ROW", "server_id": "1"}
STATUS = {"File": "binlog.000007", "Position": 1234, "Binlog_Do_DB": "", "Binlog_Ignore_DB": ""}


class Server:
    """Returns the rows of a server."""

    def __init__(
        self,
        settings: dict[str, str] = GOOD,
        version: str = "8.4.3",
        status: dict[str, Any] = STATUS,
        kind: str = "BASE TABLE",
    ) -> None:
        self.answers = {
            "SHOW GLOBAL": [{"Variable_name": k, "Value": v} for k, v in settings.items()],
            "SELECT VERSION": [{"version": version}],
            "SHOW": [status],
            "SELECT": [{"schema": "shop", "name": "tenants", "type": kind}] if kind else [],
        }

    def __call__(self, statement: str, *_: str) -> list[dict[str, Any]]:
        matching = (rows for start, rows in self.answers.items() if statement.startswith(start))
        return next(matching)


def test_table_is_followed_from_the_end_of_the_binlog() -> None:
    result = preflight(Server(), Table("", "tenants"), ENDPOINT)
    assert result == (BinlogStart("binlog.000007", 1234), WatchedTable("shop", "tenants"))


@pytest.mark.parametrize("kind", ["VIEW", "SYSTEM VIEW"])
def test_view_is_followed_by_its_database(kind: str) -> None:
    _, watched = preflight(Server(kind=kind), Table("", "tenants"), ENDPOINT)
    assert watched == WatchedTable("shop", None)


def test_missing_table_is_named() -> None:
    with pytest.raises(MissingTable, match=r"db:3306, database shop, table sales\.tenants"):
        preflight(Server(kind=""), Table("sales", "tenants"), ENDPOINT)


@pytest.mark.parametrize(
    ("changed", "problems"),
    [
        ({"log_bin": "OFF"}, ["log_bin (is OFF)"]),
        ({"binlog_format": "MIXED"}, ["binlog_format=ROW (is MIXED)"]),
        ({"server_id": "0"}, ["a server_id other than 0"]),
        (
            {"log_bin": "OFF", "binlog_format": "STATEMENT"},
            ["log_bin (is OFF)", "binlog_format=ROW (is STATEMENT)"],
        ),
        ({}, []),
    ],
)
def test_every_missing_setting_is_reported(changed: dict[str, str], problems: list[str]) -> None:
    assert list(missing_settings({**GOOD, **changed})) == problems


def test_setting_that_the_server_no_longer_has_is_not_required() -> None:
    assert not list(missing_settings({"log_bin": "ON", "server_id": "1"}))


def test_missing_settings_are_reported_together() -> None:
    settings = {"log_bin": "OFF", "binlog_format": "MIXED"}
    with pytest.raises(MissingSetting, match=r"log_bin \(is OFF\) and binlog_format=ROW"):
        preflight(Server(settings), Table("", "tenants"), ENDPOINT)


@pytest.mark.parametrize(
    ("version", "statement"),
    [
        ("5.7.44-log", "SHOW MASTER STATUS"),
        ("8.0.40", "SHOW MASTER STATUS"),
        ("8.2.0", "SHOW BINARY LOG STATUS"),
        ("8.4.3-commercial", "SHOW BINARY LOG STATUS"),
        ("9.1.0", "SHOW BINARY LOG STATUS"),
        ("10.11.6-MariaDB-log", "SHOW MASTER STATUS"),
        ("5.5.5-10.6.1-MariaDB", "SHOW MASTER STATUS"),
        ("12.0.2-mariadb", "SHOW MASTER STATUS"),
        ("unheard of", "SHOW MASTER STATUS"),
    ],
)
def test_status_statement_depends_on_the_version(version: str, statement: str) -> None:
    assert status_statement(version) == statement


@pytest.mark.parametrize(
    ("included", "excluded", "filtered"),
    [
        ("", "", False),
        ("shop", "", False),
        ("a,shop", "", False),
        ("a", "", True),
        ("", "a", False),
        ("", "a,shop", True),
    ],
)
def test_database_excluded_from_the_binlog_is_reported(
    included: str, excluded: str, *, filtered: bool
) -> None:
    status = {**STATUS, "Binlog_Do_DB": included, "Binlog_Ignore_DB": excluded}
    assert is_filtered("shop", status) == filtered
    if filtered:
        with pytest.raises(MissingSetting, match="binlog_do_db"):
            preflight(Server(status=status), Table("", "tenants"), ENDPOINT)

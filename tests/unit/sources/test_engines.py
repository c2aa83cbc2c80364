"""The registry of engines: complete, and settings follow the block of the spec."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from lynq.api import MySQL, PostgreSQL, SourceType, TlsMode
from lynq.api.source import SQLite
from lynq.sources import (
    ENGINES,
    TLS,
    MySQLSettings,
    PostgreSQLSettings,
    ResolvedValues,
    Settings,
    SQLiteSettings,
)
from lynq.sources.read import Identity

TLS_SETTINGS = TLS(mode=TlsMode.REQUIRE)
VALUES = ResolvedValues(
    password="secret",
    tls=TLS_SETTINGS,
    connect_timeout=3.0,
    query_timeout=30.0,
    sqlite_directory=Path("/databases"),
)


@pytest.mark.parametrize("name", list(SourceType))
def test_every_source_type_has_an_engine(name: SourceType) -> None:
    assert ENGINES[name].name is name


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            MySQL(host="db", username="u", database="d", table="t"),
            MySQLSettings(
                host="db",
                username="u",
                password="secret",
                database="d",
                tls=TLS_SETTINGS,
                connect_timeout=3.0,
                query_timeout=30.0,
            ),
        ),
        (
            PostgreSQL(host="db", port=6543, username="u", database="d", table="t"),
            PostgreSQLSettings(
                host="db",
                port=6543,
                username="u",
                password="secret",
                database="d",
                tls=TLS_SETTINGS,
                connect_timeout=3.0,
                query_timeout=30.0,
            ),
        ),
        (
            SQLite(path="hub.db", table="t"),
            SQLiteSettings(path="hub.db", directory=Path("/databases")),
        ),
    ],
)
def test_settings_combine_the_block_with_resolved_values(
    block: MySQL | PostgreSQL | SQLite, expected: Settings
) -> None:
    assert ENGINES[expected.engine].settings(block, VALUES) == expected


@pytest.mark.parametrize(
    "added",
    [
        {},
        {"sendPasswordTo": "AnyServer"},
        {"tls": {"mode": "disable", "serverPublicKeyRef": {"name": "key", "key": "pem"}}},
    ],
)
def test_fields_of_a_later_version_leave_the_identity_of_a_source(added: dict[str, Any]) -> None:
    """Another identity would hold the deletions of every hub after an upgrade."""
    server = {"host": "db.example.com", "username": "lynq", "database": "shop", "table": "tenants"}
    block = msgspec.convert(server | added, MySQL)
    identity = Identity(
        endpoint=ENGINES[SourceType.MYSQL].settings(block, VALUES).endpoint,
        table=block.table,
        columns=(("id", "varchar"), ("active", "tinyint")),
    )
    # The literal is stored in the status of hubs.
    assert identity.digest == "d663008b6ddddf53"


def test_fields_of_a_later_version_are_absent_from_hubs_without_them() -> None:
    server = {"host": "db", "username": "lynq", "database": "shop", "table": "tenants", "tls": {}}
    assert msgspec.to_builtins(msgspec.convert(server, MySQL)) == server


@pytest.mark.parametrize(
    ("settings", "endpoint"),
    [
        (MySQLSettings(host="db", username="u", database="d"), "mysql db:3306, database d"),
        (
            PostgreSQLSettings(host="db", username="u", database="d"),
            "postgresql db:5432, database d",
        ),
        (SQLiteSettings(path="hub.db", directory=None), "sqlite, database hub.db"),
    ],
)
def test_endpoint_names_engine_address_and_database(settings: Settings, endpoint: str) -> None:
    assert str(settings.endpoint) == endpoint

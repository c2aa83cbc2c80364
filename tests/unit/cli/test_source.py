"""`lynq source sql-grants`."""

import pytest
from click.testing import CliRunner

from lynq.cli.exit_codes import ExitCode
from lynq.cli.root import lynq


def grants(*options: str) -> str:
    result = CliRunner().invoke(lynq, ["source", "sql-grants", *options])
    assert result.exit_code == ExitCode.OK, result.output
    return result.stdout


def test_mysql_grants() -> None:
    assert grants("--engine", "mysql", "--table", "shop.tenants", "--push") == (
        "GRANT SELECT ON `shop`.`tenants` TO 'lynq'@'%';\n"
        "-- For changes: Push. The server needs log_bin, binlog_format=ROW and a server_id.\n"
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'lynq'@'%';\n"
    )


def test_postgresql_grants_of_columns() -> None:
    options = ("--database", "shop", "--column", "id", "--column", "active", "--push")
    assert grants("--engine", "postgresql", "--table", "tenants", *options) == (
        'GRANT CONNECT ON DATABASE "shop" TO "lynq";\n'
        'GRANT USAGE ON SCHEMA "public" TO "lynq";\n'
        'GRANT SELECT ("id", "active") ON "public"."tenants" TO "lynq";\n'
        "-- For changes: Push. LISTEN needs no grant; the table needs a trigger, see:\n"
        "--   lynq source sql-trigger --table public.tenants\n"
    )


@pytest.mark.parametrize(
    "options",
    [
        ("--table", "tenants"),
        ("--table", "shop.tenants", "--user", "a'b"),
        ("--table", "shop.ten`ants"),
        ("--table", "shop.tenants", "--column", "a`b"),
    ],
)
def test_unusable_names_are_refused(options: tuple[str, ...]) -> None:
    result = CliRunner().invoke(lynq, ["source", "sql-grants", "--engine", "mysql", *options])
    assert result.exit_code == ExitCode.ERROR
    assert "Traceback" not in result.output
    assert "GRANT" not in result.stdout

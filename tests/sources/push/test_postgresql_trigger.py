"""The SQL of the trigger, and the command that prints it."""

import pytest
from click.testing import CliRunner

from lynq.cli.exit_codes import ExitCode
from lynq.cli.root import lynq
from lynq.sources.errors import InvalidSettings
from lynq.sources.postgresql.trigger import channel_of, trigger_sql
from lynq.sources.query import Table


def test_channel_is_named_after_its_table() -> None:
    assert channel_of("public", "tenants") == "lynq_public.tenants"


@pytest.mark.parametrize("name", ["x" * 63, "ü" * 31, "租户" * 10])
def test_channel_of_a_long_name_is_short_and_stable(name: str) -> None:
    channel = channel_of("sales", name)
    assert len(channel.encode()) <= 63
    assert channel == channel_of("sales", name)
    assert channel != channel_of("sales", name[:-1])


def test_channel_of_a_long_name_is_the_same_in_every_release() -> None:
    assert channel_of("s", "t" * 63) == f"lynq_s.{'t' * 39}_a578484bc0e147a6"


def test_sql_quotes_names() -> None:
    sql = trigger_sql(Table("Sales Dept", "select"))
    assert 'ON "Sales Dept"."select"' in sql
    assert "('lynq_Sales Dept.select')" in sql


def test_table_without_schema_is_in_public() -> None:
    assert trigger_sql(Table("", "tenants")) == trigger_sql(Table("public", "tenants"))


@pytest.mark.parametrize("table", ["a;b", 'a"b', "a'b", "a--b", "a.b.c", "", "a\nb", "a\\b"])
def test_unsafe_table_name_is_rejected(table: str) -> None:
    with pytest.raises(InvalidSettings, match="table"):
        Table.named(table)
    answer = CliRunner().invoke(lynq, ["source", "sql-trigger", "--table", table])
    assert answer.exit_code == ExitCode.ERROR
    assert answer.output.startswith("Error: table: ")


def test_command_prints_the_sql() -> None:
    answer = CliRunner().invoke(lynq, ["source", "sql-trigger", "--table", "sales.tenants"])
    assert answer.exit_code == 0
    assert answer.output == trigger_sql(Table("sales", "tenants"))


def test_uids_are_notified_on_request_only_and_the_sql_says_to_whom() -> None:
    command = ["source", "sql-trigger", "--table", "sales.tenants"]
    plain = CliRunner().invoke(lynq, command).output
    assert "LISTEN needs no privilege" in plain
    assert "pg_notify(TG_ARGV[0], '')" in plain
    assert "uid" not in plain.partition("CREATE")[2]
    with_uids = CliRunner().invoke(lynq, [*command, "--uid", "id"]).output
    assert "each role of the database can learn the uids" in with_uids


def test_command_prints_the_sql_for_a_view() -> None:
    arguments = ["source", "sql-trigger", "--table", "sales.tenants", "--for", "shop.active"]
    answer = CliRunner().invoke(lynq, arguments)
    assert answer.output == trigger_sql(Table("sales", "tenants"), Table("shop", "active"))
    assert "('lynq_shop.active')" in answer.output

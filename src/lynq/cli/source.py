"""`lynq source`: checks and prepares the databases of hubs."""

import click

from lynq.api import SourceType
from lynq.cli.output import print_document
from lynq.cli.source_check import check
from lynq.sources.grants import grants_sql
from lynq.sources.postgresql.trigger import DEFAULT_SCHEMA, trigger_sql
from lynq.sources.query import Table


@click.group()
def source() -> None:
    """Check and prepare the databases of hubs."""


source.add_command(check)


@source.command("sql-trigger", short_help="Print a trigger that notifies of changes.")
@click.option(
    "--table",
    required=True,
    metavar="[SCHEMA.]TABLE",
    help=f"Table of the trigger. The default schema is {DEFAULT_SCHEMA}.",
)
@click.option(
    "--for",
    "view",
    metavar="[SCHEMA.]VIEW",
    help="View that the hub reads, if the table is one of its base tables.",
)
@click.option(
    "--uid",
    default="",
    metavar="COLUMN",
    help=(
        "Column of the table with the hub's uid (valueMappings.uid). With it, a notification names "
        "the changed rows, and the hub reads only these. Each role of the database can learn the "
        "uids: LISTEN needs no privilege."
    ),
)
@click.option(
    "--engine",
    type=click.Choice(["postgresql"]),
    default="postgresql",
    show_default=True,
    help="Database engine. MySQL and SQLite need no trigger.",
)
def sql_trigger(table: str, view: str | None, uid: str, engine: str) -> None:  # noqa: ARG001 - only one engine so far
    """Print the SQL of a trigger that notifies Lynq of changes, for hubs with `changes: Push`.

    The SQL is only printed. Review it, and run it with psql as the owner of the table. PostgreSQL
    has no privilege for LISTEN, so each role that can connect to the database receives the
    notifications. Without --uid they have no uid, and the hub reads all rows after a change.
    """
    read = Table.named(view) if view else None
    print_document(trigger_sql(Table.named(table), read, uid))


@source.command("sql-grants")
@click.option(
    "--table", required=True, metavar="[SCHEMA.]TABLE", help="Table or view that the hub reads."
)
@click.option(
    "--engine",
    type=click.Choice([SourceType.MYSQL.value, SourceType.POSTGRESQL.value]),
    required=True,
    help="Database engine. A SQLite file has no grants.",
)
@click.option("--user", default="lynq", show_default=True, help="User of the hub.")
@click.option("--database", default="", help="Database of the table.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    help="Grant only this column. Can be repeated: all columns that the hub maps are needed.",
)
@click.option("--push", is_flag=True, help="Also grant what `changes: Push` needs.")
def sql_grants(
    *, table: str, engine: str, user: str, database: str, columns: tuple[str, ...], push: bool
) -> None:
    """Print the least grants of the user of a hub.

    The SQL is only printed. Review it, and run it as an administrator of the database. Writes are
    never granted: Lynq only reads.

    \b
    Examples:
      lynq source sql-grants --engine mysql --table shop.tenants
      lynq source sql-grants --engine postgresql --database shop --table tenants --push
    """
    sql = grants_sql(
        SourceType(engine),
        Table.named(table),
        user=user,
        database=database,
        columns=columns,
        push=push,
    )
    print_document(sql)

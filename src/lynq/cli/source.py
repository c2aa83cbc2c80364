"""`lynq source`: prepares databases for push."""

import click

from lynq.sources.postgresql.trigger import DEFAULT_SCHEMA, trigger_sql
from lynq.sources.query import Table


@click.group()
def source() -> None:
    """Prepare the databases of hubs."""


@source.command("sql-trigger")
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
    "--engine",
    type=click.Choice(["postgresql"]),
    default="postgresql",
    show_default=True,
    help="Database engine. MySQL and SQLite need no trigger.",
)
def sql_trigger(table: str, view: str | None, engine: str) -> None:  # noqa: ARG001 - only one engine so far
    """Print the SQL of a trigger that notifies Lynq of changes, for hubs with `changes: Push`.

    The SQL is only printed. Review it, and run it with psql as the owner of the table.
    """
    click.echo(trigger_sql(Table.named(table), Table.named(view) if view else None), nl=False)

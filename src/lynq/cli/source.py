"""`lynq source`: what a database needs before a hub can read it by push."""

import click

from lynq.sources.postgresql.trigger import DEFAULT_SCHEMA, trigger_sql
from lynq.sources.query import Table


@click.group()
def source() -> None:
    """Prepare the databases that hubs read."""


@source.command("sql-trigger")
@click.option(
    "--table",
    required=True,
    metavar="[SCHEMA.]TABLE",
    help=f"The table to put the trigger on. Without a schema it is in {DEFAULT_SCHEMA}.",
)
@click.option(
    "--for",
    "view",
    metavar="[SCHEMA.]VIEW",
    help="The view that the hub reads, if the table is one of those behind it.",
)
@click.option(
    "--engine",
    type=click.Choice(["postgresql"]),
    default="postgresql",
    show_default=True,
    help="The database engine. MySQL and SQLite need no trigger.",
)
def sql_trigger(table: str, view: str | None, engine: str) -> None:  # noqa: ARG001 - one so far
    """Print the SQL that makes a table tell Lynq of its changes, for hubs with `changes: Push`.

    Nothing is run: read it, then give it to psql as the table's owner.
    """
    click.echo(trigger_sql(Table.named(table), Table.named(view) if view else None), nl=False)

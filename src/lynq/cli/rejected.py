"""`lynq rejected`: the rows that a hub rejected."""

from typing import Final

import click
import msgspec

from lynq.api import RejectedRow, RejectedRows
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.lookup import find_hub
from lynq.cli.output import (
    REPORT_FORMATS,
    Column,
    OutputFormat,
    output_option,
    print_data,
    print_note,
    print_table,
)

_COLUMNS: Final[tuple[Column[RejectedRow], ...]] = (
    Column("UID", lambda row: row.uid),
    Column("REASON", lambda row: row.reason),
    Column("MESSAGE", lambda row: row.message),
)


@click.command()
@click.argument("hub")
@output_option(REPORT_FORMATS)
@cluster_command
async def rejected(cluster: Cluster, hub: str, output: OutputFormat) -> None:
    """List the rows that a hub rejected.

    A rejected row has no node, or keeps the one that it has. The status of the hub lists the first
    20; every rejected row has an event.

    \b
    Examples:
      lynq rejected tenants
      lynq rejected tenants -o json
    """
    found = await find_hub(cluster, hub)
    rows = found.status.rejected_rows or RejectedRows()
    if not output.is_table:
        print_data(msgspec.to_builtins(rows), output)
        return
    if not rows.count:
        print_note(f"Hub {found.metadata.name} has rejected no row.")
        return
    print_table(_COLUMNS, rows.rows)
    listed = len(rows.rows)
    if rows.count > listed:
        print_note(
            f"{rows.count} rows are rejected; the status lists {listed} of them. "
            f"More: lynq events --for hub/{found.metadata.name}"
        )

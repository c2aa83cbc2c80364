"""`lynq diff`: the live objects of a node against the desired ones."""

from typing import Any

import click

from lynq.api.resource import all_resources
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.exit_codes import CommandError, ExitCode
from lynq.cli.installation_key import installation_key, key_option
from lynq.cli.lookup import find_node
from lynq.cli.output import (
    REPORT_FORMATS,
    OutputFormat,
    output_option,
    print_data,
    print_line,
    print_note,
    styled,
)
from lynq.core.node.variables import VariablesError
from lynq.inspection.comparison import Comparison, NodeComparison, deleting
from lynq.inspection.evidence import EvidenceReader


@click.command()
@click.argument("node")
@key_option
@output_option(REPORT_FORMATS)
@cluster_command
async def diff(cluster: Cluster, node: str, operator_namespace: str, output: OutputFormat) -> None:
    """Compare the live objects of a node with the desired ones.

    The manifests are rendered as the operator renders them, and the API server says by a dry run
    what a write would change. Each live value is shown with the field managers that own it. Values
    of Secrets are not shown. The dry run needs the right to patch the objects.

    Exit code 0: no difference; 1: differences; 2: an object could not be compared.

    \b
    Examples:
      lynq diff acme-web
      lynq diff acme -n shop
      lynq diff acme -o json
    """
    found = await find_node(cluster, node)
    key = await installation_key(cluster, operator_namespace)
    try:
        differ = await NodeComparison.of(EvidenceReader.of(cluster.client), found, key)
    except VariablesError as error:
        raise CommandError(f"{error}.") from None
    results = [await differ.compare(resource) for resource in all_resources(found.spec)]
    results += deleting(found)
    if output.is_table:
        for result in results:
            _print(result)
    else:
        print_data([_data(result) for result in results], output)
    if any(result.error for result in results):
        raise click.exceptions.Exit(ExitCode.ERROR)
    if any(result.differs for result in results):
        raise click.exceptions.Exit(ExitCode.DIFFERENT)


def _print(result: Comparison) -> None:
    if result.error:
        print_note(f"{result.title}: {result.error}")
        return
    if result.is_deleting:
        print_line(styled("-", "red"), f" {result.title}: {result.note}")
        return
    if not result.differs:
        return
    print_line(f"{result.title}{': does not exist' if result.is_missing else ''}")
    if result.note:
        print_line(f"  {result.note}")
    for drift in result.drifts:
        change = drift.change
        if change.before is not None:
            owner = f"   (by {', '.join(drift.managers)})" if drift.managers else ""
            print_line("  ", styled("-", "red"), f" {change.path}: {_value(change.before)}{owner}")
        if change.after is not None:
            print_line("  ", styled("+", "green"), f" {change.path}: {_value(change.after)}")


def _data(result: Comparison) -> dict[str, Any]:
    return {
        "object": result.title,
        "missing": result.is_missing,
        "deleting": result.is_deleting,
        "error": result.error,
        "note": result.note,
        "fields": [
            {
                "path": drift.change.path,
                "live": drift.change.before,
                "desired": drift.change.after,
                "managers": list(drift.managers),
            }
            for drift in result.drifts
        ],
    }


def _value(value: object) -> str:
    return value if isinstance(value, str) else repr(value)

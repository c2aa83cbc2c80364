"""`lynq plan`: shows what a form, a statement or a table would change, before it does."""

from pathlib import Path
from typing import Any

import click

from lynq.cli.connection import ClusterOptions, connection_options, namespace_option, run_connected
from lynq.cli.exit_codes import CommandError, ExitCode
from lynq.cli.installation_key import key_option
from lynq.cli.output import OutputFormat, output_option, print_data, print_document, print_line
from lynq.cli.plan_output import plan_lines, plan_markdown
from lynq.cli.planning import PlanRequest, plan_offline, plan_on_cluster
from lynq.core.plan.changes import Plan, document

_FORMATS = (
    OutputFormat.TABLE,
    OutputFormat.JSON,
    OutputFormat.YAML,
    OutputFormat.MARKDOWN,
)


@click.command()
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    type=click.Path(exists=True, allow_dash=True, path_type=Path),
    metavar="PATH",
    help="File or directory with LynqForms that would be applied; - is stdin. Can be repeated.",
)
@click.option("--hub", "hub_name", metavar="NAME", help="Hub. Default: that of the form.")
@click.option(
    "--sql",
    "statement",
    metavar="STATEMENT",
    help="INSERT, UPDATE or DELETE whose effect is planned. It runs in the hub's database, in a "
    "transaction that is always rolled back. Its locks are held until the rows are read, and "
    "triggers fire.",
)
@click.option(
    "--sql-user",
    metavar="NAME",
    help="Database user of --sql, with the password in $LYNQ_SQL_PASSWORD. Default: that of the "
    "hub, which can usually only read.",
)
@click.option(
    "--rows",
    "rows_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="CSV or JSON lines to read instead of the hub's table. With -f and without --hub, no "
    "cluster is needed: everything is created.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Plan only N of the nodes that change, chosen evenly.",
)
@click.option("--all", "show_all", is_flag=True, help="Show every change, also equal ones.")
@click.option(
    "--show-values",
    is_flag=True,
    help="Show values that come from rows in -o markdown, too, which shows those of the form.",
)
@click.option(
    "--sqlite-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of SQLite databases, as the operator has it.",
)
@key_option
@output_option(_FORMATS)
@namespace_option
@connection_options
def plan(
    *,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
    show_all: bool,
    show_values: bool,
    output: OutputFormat,
    **inputs: Any,  # noqa: ANN401 - the fields of PlanRequest
) -> None:
    """Show what a form, a statement or a table would change.

    The operator's own code plans, and the API server validates every object by a dry run with
    strict field validation. Nothing is changed. Written objects are assumed to become ready. A
    rollout is shown as a whole, and under maxSkew with the order of its nodes.

    The exit code is 0 if nothing changes, 1 if something changes, 5 if the deletion guard would
    hold deletions, and 2 for an error.

    \b
    Examples:
      lynq plan -f form.yaml             a changed form, over all of its nodes
      lynq plan --hub tenants            the table against the cluster now
      lynq plan --hub tenants --sql "UPDATE tenants SET plan = 'pro' WHERE id = 7"
      lynq plan --hub tenants --rows rows.csv
      lynq plan -f hub.yaml -f form.yaml --rows rows.csv        without a cluster
    """
    request = PlanRequest(**inputs)
    if request.statement and request.rows_file:
        raise CommandError("--sql and --rows exclude each other.")
    if not request.files and not request.hub_name:
        raise CommandError("Name the hub, or a file with forms: --hub NAME or -f FILE.")
    if request.is_offline:
        _finish(plan_offline(request), output, show_all=show_all, show_values=show_values)
        return

    async def run(cluster: Any) -> None:  # noqa: ANN401 - of `run_connected`
        plan = await plan_on_cluster(cluster, request)
        _finish(plan, output, show_all=show_all, show_values=show_values)

    run_connected(run, ClusterOptions(kubeconfig, context, namespace))


def _finish(plan: Plan, output: OutputFormat, *, show_all: bool, show_values: bool) -> None:
    """Print a plan, and exit with its code."""
    if output is OutputFormat.MARKDOWN:
        print_document(plan_markdown(plan, show_values=show_values))
    elif output is OutputFormat.TABLE:
        for line in plan_lines(plan, show_all=show_all):
            print_line(line)
    else:
        print_data(document(plan), output)
    if plan.guard.is_held:
        raise click.exceptions.Exit(ExitCode.HELD)
    if not plan.is_empty or plan.failed:
        raise click.exceptions.Exit(ExitCode.DIFFERENT)

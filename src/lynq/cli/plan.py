"""`lynq plan`: shows what a form, a statement or a table would change, before it does."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from lynq.api import LynqHub
from lynq.api.installation_key import KeyState, MissingKey
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.exit_codes import CommandError, ExitCode
from lynq.cli.lookup import find_hub
from lynq.cli.output import OutputFormat, output_option, print_data
from lynq.cli.plan_output import plan_markdown, plan_text
from lynq.cli.row_file import read_rows
from lynq.controllers.hub.source_config import SourceConfigLoader
from lynq.controllers.installation_key import KEY_SECRET, read_key
from lynq.controllers.options import Options
from lynq.core.plan.changes import Plan, document
from lynq.kube import Client
from lynq.kube.errors import KubeError
from lynq.plan.simulation import Progress, Rows, Simulation
from lynq.sources import Settings, open_source
from lynq.sources.settings import ServerSettings

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
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="File of a LynqForm that would be applied. Can be repeated.",
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
    help="CSV or JSON lines to read instead of the hub's table.",
)
@click.option("--all", "show_all", is_flag=True, help="Show every change, also equal ones.")
@click.option(
    "--sqlite-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of SQLite databases, as the operator has it.",
)
@click.option(
    "--operator-namespace",
    default="lynq-system",
    show_default=True,
    help="Namespace of the operator, for the key of random values.",
)
@output_option(_FORMATS)
@cluster_command
async def plan(
    cluster: Cluster,
    *,
    files: tuple[Path, ...],
    hub_name: str | None,
    statement: str | None,
    sql_user: str | None,
    rows_file: Path | None,
    show_all: bool,
    sqlite_dir: Path | None,
    operator_namespace: str,
    output: OutputFormat,
) -> None:
    r"""Show what a form, a statement or a table would change.

    The operator's own code plans, and the API server validates every object by a dry run. Nothing
    is changed.

    The exit code is 0 if nothing changes, 1 if something changes, 5 if the deletion guard would
    hold deletions, and 2 for an error.

    \b
    Examples:
      lynq plan -f form.yaml             a changed form, over all of its nodes
      lynq plan --hub tenants            the table against the cluster now
      lynq plan --hub tenants --sql "UPDATE tenants SET plan = 'pro' WHERE id = 7"
      lynq plan --hub tenants --rows rows.csv
    """
    if statement and rows_file:
        raise CommandError("--sql and --rows exclude each other.")
    manifests = [manifest for file in files for manifest in _forms(file, cluster.namespace)]
    hub = await find_hub(cluster, _hub_name(hub_name, manifests))
    key = await _key(cluster, operator_namespace)
    simulation = Simulation(cluster.client, key, Options(sqlite_directory=sqlite_dir))
    async with simulation.running():
        for manifest in manifests:
            await simulation.write_form(manifest)
        if rows_file:
            rows = Rows(rows=read_rows(rows_file, hub.spec))
        elif manifests and not hub_name and not statement:
            rows = simulation.rows_of_nodes(hub)
        else:
            database = _Database(cluster.client, sqlite_dir, sql_user)
            rows = await database.read(hub, statement, simulation.uids(hub))
        result = await simulation.plan(hub, rows, _progress())
    _print(result, output, show_all=show_all)
    if result.guard.is_held:
        raise click.exceptions.Exit(ExitCode.HELD)
    if not result.is_empty or result.failed:
        raise click.exceptions.Exit(ExitCode.DIFFERENT)


def _forms(file: Path, namespace: str) -> list[dict[str, Any]]:
    import yaml  # noqa: PLC0415 - slow to import

    text = sys.stdin.read() if str(file) == "-" else file.read_text()
    try:
        documents = [each for each in yaml.safe_load_all(text) if each]
    except yaml.YAMLError as error:
        raise CommandError(f"{file} is not YAML: {' '.join(str(error).split())}") from error
    forms = []
    for document_ in documents:
        if not isinstance(document_, dict) or document_.get("kind") != "LynqForm":
            raise CommandError(f"{file} has an object that is not a LynqForm.")
        metadata = document_.setdefault("metadata", {})
        if not metadata.get("name"):
            raise CommandError(f"{file}: metadata.name is missing.")
        metadata.setdefault("namespace", namespace)
        forms.append(document_)
    return forms


def _hub_name(hub_name: str | None, manifests: list[dict[str, Any]]) -> str:
    names = {str((form.get("spec") or {}).get("hubId", "")) for form in manifests}
    if hub_name:
        return hub_name
    if len(names) != 1:
        raise CommandError("Name the hub: --hub NAME, or -f FILE with forms of one hub.")
    return names.pop()


async def _key(cluster: Cluster, namespace: str) -> KeyState:
    try:
        return await read_key(cluster.client, namespace, KEY_SECRET)
    except KubeError as error:
        return MissingKey(f"the installation key cannot be read: {error}")


@dataclass(frozen=True, slots=True)
class _Database:
    """The database of a hub, with the rights of the caller."""

    client: Client
    sqlite_dir: Path | None
    user: str | None

    async def read(self, hub: LynqHub, statement: str | None, uids: frozenset[str]) -> Rows:
        """Read all rows, as a statement would leave them if there is one."""
        loader = SourceConfigLoader(self.client, self.sqlite_dir)
        config = await loader.load(hub.spec, hub.metadata.namespace)
        source = open_source(self._settings(config.settings))
        try:
            reading = (
                source.read_after(statement, config.query, tracked=uids)
                if statement
                else source.read(config.query, tracked=uids)
            )
            async with reading:
                rows = [row async for page in reading for row in page]
        finally:
            await source.close()
        summary = reading.summary
        return Rows(rows=rows, identity=summary.identity.digest, inactive=summary.inactive)

    def _settings(self, settings: Settings) -> Settings:
        if not self.user:
            return settings
        if not isinstance(settings, ServerSettings):
            raise CommandError("--sql-user is for MySQL and PostgreSQL.")
        return replace(
            settings, username=self.user, password=os.environ.get("LYNQ_SQL_PASSWORD", "")
        )


def _progress() -> Progress:
    """Return a callback that prints the progress on a terminal."""
    if not sys.stderr.isatty():
        return lambda *_: None

    def show(done: int, total: int) -> None:
        end = "\n" if done == total else ""
        click.echo(f"\rplanned {done} of {total} nodes{end}", err=True, nl=False)

    return show


def _print(result: Plan, output: OutputFormat, *, show_all: bool) -> None:
    if output is OutputFormat.MARKDOWN:
        click.echo(plan_markdown(result))
    elif output is OutputFormat.TABLE:
        click.echo(plan_text(result, show_all=show_all))
    else:
        print_data(document(result), output)

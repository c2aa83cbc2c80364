"""`lynq import`: shows what the swap from the Go operator writes, before it is made."""

import secrets
from collections.abc import AsyncIterator, Iterator, Sequence

import click

from lynq.api import HubSpec, LynqHub, MySQL
from lynq.api.installation_key import KEY_SIZE, InstallationKey
from lynq.api.problems import errors
from lynq.cli.connection import Cluster, listing_command
from lynq.cli.exit_codes import CommandError, ExitCode
from lynq.cli.lookup import HUBS, find_hub
from lynq.cli.output import print_line, print_note
from lynq.controllers.context import BY_HUB
from lynq.controllers.form_validation import FormValidator
from lynq.controllers.options import Options
from lynq.core.plan.changes import PlannedChange
from lynq.core.plan.takeover import Takeover, takeover_of
from lynq.plan.simulation import Simulation

_SHOWN = 10
"""How many objects are named per line of the report."""


@click.command("import")
@click.option("--dry-run", is_flag=True, help="Show what would be written. Required.")
@click.option("--hub", "hub_name", metavar="NAME", help="Only this hub. Default: all hubs.")
@listing_command
async def import_(cluster: Cluster, *, dry_run: bool, hub_name: str | None) -> None:
    """Show what the swap from the Go operator would write.

    The operator's own code reconciles the existing hubs, forms and nodes by server-side dry runs,
    with the rows that the nodes have; no database is read and nothing is changed. Expected is that
    nodes are signed and objects get labels and annotations of Lynq, and nothing else: every other
    change is listed, and every form that would be refused. The swap itself is an apply of the
    manifests, see docs/how-to/swap-from-go.md.

    A hub whose MySQL server is not verified has a line that says which accounts cannot log in.

    The exit code is 0 if nothing but labels and annotations of Lynq changes, and 1 otherwise.

    \b
    Examples:
      lynq import --dry-run -A
      lynq import --dry-run --hub tenants -n shop
    """
    if not dry_run:
        raise CommandError(
            "There is nothing to import: hubs, forms and nodes stay as they are. See what the swap "
            "writes with --dry-run, then install this operator over the other one."
        )
    hubs = await _hubs(cluster, hub_name)
    if not hubs:
        namespace = cluster.listed_namespace
        where = f" in namespace {namespace}; -A looks in all" if namespace else " in any namespace"
        raise CommandError(f"No hub was found{where}.")
    unnoticed = True
    for hub in hubs:
        unnoticed = await _report(cluster, hub) and unnoticed
    if unnoticed:
        print_line("Nothing is recreated, no pod restarts, no form is refused.")
        return
    raise click.exceptions.Exit(ExitCode.DIFFERENT)


async def _hubs(cluster: Cluster, name: str | None) -> list[LynqHub]:
    if name:
        return [await find_hub(cluster, name)]
    return (await cluster.client.list(HUBS, cluster.listed_namespace, into=LynqHub)).items


async def _report(cluster: Cluster, hub: LynqHub) -> bool:
    """Print the takeover of one hub; return whether only marks of Lynq change."""
    # The operator makes its own key when it starts; which one does not matter here.
    key = InstallationKey(secrets.token_bytes(KEY_SIZE))
    namespaces = (hub.metadata.namespace,)
    simulation = Simulation(cluster.client, key, Options(namespaces=namespaces))
    print_note(f"hub {hub.metadata.key}: planning by dry runs")
    async with simulation.running():
        refused = [line async for line in _refused(simulation, hub)]
        takeover = takeover_of(await simulation.plan(hub, simulation.rows_of_nodes(hub)))
    print_line(f"hub {hub.metadata.key}")
    for line in (*_lines(takeover), *refused, *login_lines(hub.spec)):
        print_line(f"  {line}")
    return takeover.is_unnoticed and not refused


async def _refused(simulation: Simulation, hub: LynqHub) -> AsyncIterator[str]:
    """Yield a line for every error of a form."""
    validator = FormValidator(simulation.context)
    for form in simulation.context.forms.by(BY_HUB, hub.metadata.key):
        for problem in errors(await validator.problems(form)):
            yield f"refused    form {form.metadata.name}: {problem.message}"


def login_lines(spec: HubSpec) -> Iterator[str]:
    """Yield a line if the hub may not be able to log in; only the server knows its plugin."""
    block = spec.source.block
    if isinstance(block, MySQL) and block.logs_in_by_challenge_only:
        yield (
            f"login      {block.host} is not verified and gets no password: an account with "
            "caching_sha2_password, the default of MySQL 8, cannot log in after a restart of its "
            "server; see docs/how-to/tls.md"
        )


def _lines(takeover: Takeover) -> Iterator[str]:
    yield f"signed     {takeover.nodes} nodes"
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(takeover.marked.items()))
    yield f"marked     {sum(takeover.marked.values())} objects{f': {kinds}' if kinds else ''}"
    if takeover.marks:
        yield f"marks      {', '.join(takeover.marks)}"
    yield from _objects("changed", takeover.changed)
    yield from _objects("restarted", takeover.restarted)
    yield from _objects("recreated", takeover.recreated)
    yield from _objects("created", takeover.created)
    yield from _objects("deleted", takeover.deleted)
    for failure in takeover.failed:
        resource = f"/{failure.id}" if failure.id else ""
        yield f"fails      {failure.node}{resource}: {failure.reason}"


def _objects(verb: str, changes: Sequence[PlannedChange]) -> Iterator[str]:
    """Yield a line with the number, and the first objects with the fields that change."""
    yield f"{verb:<11}{len(changes)} objects"
    for change in changes[:_SHOWN]:
        place = f"{change.namespace}/{change.name}" if change.namespace else change.name
        fields = ", ".join(field.path for field in change.reviewed_fields)
        shown = f": {fields}" if verb == "changed" and fields else ""
        yield f"           {change.kind} {place}{shown}"
    if len(changes) > _SHOWN:
        yield f"           and {len(changes) - _SHOWN} more"

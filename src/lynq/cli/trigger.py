"""`lynq sync` and `lynq reconcile`: make the operator read rows or apply resources now."""

from datetime import UTC, datetime

import click

from lynq.api.names import ANNOTATION_FORCE_RECONCILE, ANNOTATION_FORCE_SYNC
from lynq.api.node_metadata import is_paused
from lynq.cli.confirmation import confirm, yes_option
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.exit_codes import CommandError
from lynq.cli.lookup import find_hub, find_node
from lynq.cli.target import annotate, print_done, reference, refuse_deleting, trigger_value


@click.command()
@click.argument("hub")
@yes_option
@cluster_command
async def sync(cluster: Cluster, *, hub: str, yes: bool) -> None:
    """Read the rows of a hub now.

    The operator reads all rows at once instead of at the next syncInterval, and creates, updates
    and deletes LynqNodes as it does after every read: the deletion guard applies. The value of the
    annotation lynq.sh/force-sync is set.

    \b
    Examples:
      lynq sync tenants
      lynq sync tenants --yes && lynq wait hub/tenants --for settled
    """
    found = await find_hub(cluster, hub)
    refuse_deleting(found)
    if found.spec.paused:
        raise CommandError(
            f"{reference(found)} is paused, so its rows are not read. "
            f"Resume it first: lynq resume {reference(found)}"
        )
    confirm(
        f"Read the rows of {reference(found)} now ({found.status.desired} nodes are desired)",
        yes=yes,
    )
    await annotate(cluster, found, ANNOTATION_FORCE_SYNC, trigger_value(datetime.now(UTC)))
    print_done(found, "sync requested")


@click.command()
@click.argument("node")
@yes_option
@cluster_command
async def reconcile(cluster: Cluster, *, node: str, yes: bool) -> None:
    """Apply all resources of a node now, changed or not.

    NODE is the name of a LynqNode, or the uid of its row. The operator applies every resource of
    the node once, also those that failed and wait for their back-off. Pods restart only if their
    template differs. The value of the annotation lynq.sh/force-reconcile is set.

    \b
    Examples:
      lynq reconcile acme-web
      lynq reconcile acme --yes && lynq wait node/acme-web --for ready
    """
    found = await find_node(cluster, node)
    refuse_deleting(found)
    if is_paused(found):
        raise CommandError(
            f"{reference(found)} is paused, so its resources are not applied. "
            f"Resume it first: lynq resume {reference(found)}"
        )
    count = found.status.desired_resources
    confirm(f"Apply all {count} resources of {reference(found)} now", yes=yes)
    await annotate(cluster, found, ANNOTATION_FORCE_RECONCILE, trigger_value(datetime.now(UTC)))
    print_done(found, "reconcile requested")

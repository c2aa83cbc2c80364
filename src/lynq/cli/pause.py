"""`lynq pause` and `lynq resume`: stop and continue the reconciles of a hub, form or node."""

import click

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.names import ANNOTATION_PAUSED, TRUE
from lynq.api.node_metadata import is_paused
from lynq.cli.confirmation import confirm, yes_option
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.target import (
    Target,
    find_target,
    patch,
    print_done,
    reference,
    refuse_deleting,
)


@click.command()
@click.argument("target", metavar="HUB|FORM|NODE")
@yes_option
@cluster_command
async def pause(cluster: Cluster, *, target: str, yes: bool) -> None:
    """Pause a hub, a form or a node.

    The target is hub/NAME, form/NAME or node/NAME, or a name that only one of them has. A paused
    hub reads no rows. The nodes of a paused form are not created, updated or deleted. The
    resources of a paused node are not changed. Everything that exists keeps running. The field
    spec.paused of a hub or form, or the annotation lynq.sh/paused of a node is set.

    \b
    Examples:
      lynq pause hub/tenants
      lynq pause form/web --yes
      lynq pause acme-web
    """
    found = await find_target(cluster, target)
    refuse_deleting(found)
    if _is_paused(found):
        print_done(found, "is paused already")
        return
    confirm(f"Pause {reference(found)}: {_effect(found)}", yes=yes)
    await _set_paused(cluster, found, paused=True)
    print_done(found, "paused")


@click.command()
@click.argument("target", metavar="HUB|FORM|NODE")
@yes_option
@cluster_command
async def resume(cluster: Cluster, *, target: str, yes: bool) -> None:
    """Resume a paused hub, form or node.

    What has changed during the pause is carried out at once: the rows of a hub are read, the nodes
    of a form are written within its maxSkew, the resources of a node are applied.

    \b
    Examples:
      lynq resume hub/tenants
      lynq resume acme-web --yes
    """
    found = await find_target(cluster, target)
    refuse_deleting(found)
    if not _is_paused(found):
        print_done(found, "is not paused")
        return
    confirm(f"Resume {reference(found)}: {_catch_up(found)}", yes=yes)
    await _set_paused(cluster, found, paused=False)
    print_done(found, "resumed")


def _is_paused(target: Target) -> bool:
    return is_paused(target) if isinstance(target, LynqNode) else target.spec.paused


async def _set_paused(cluster: Cluster, target: Target, *, paused: bool) -> None:
    if isinstance(target, LynqNode):
        value = TRUE if paused else None
        await patch(cluster, target, {"metadata": {"annotations": {ANNOTATION_PAUSED: value}}})
    else:
        await patch(cluster, target, {"spec": {"paused": paused}})


def _effect(target: Target) -> str:
    match target:
        case LynqHub():
            return (
                "its rows are not read, and nodes are neither created, updated nor deleted; "
                f"the resources of its {target.status.desired} nodes are still reconciled"
            )
        case LynqForm():
            return f"its {target.status.total_nodes} nodes are not created, updated or deleted"
        case _:
            return f"its {target.status.desired_resources} resources are not changed"


def _catch_up(target: Target) -> str:
    match target:
        case LynqHub():
            return "its rows are read now, and the deletion guard applies"
        case LynqForm():
            return f"its {target.status.total_nodes} nodes are brought up to date"
        case _:
            return f"its {target.status.desired_resources} resources are applied now"

"""`lynq approve`: releases exactly the deletions that a hub holds and that were shown."""

from typing import BinaryIO

import click

from lynq.api import HeldDeletions, LynqHub
from lynq.api.names import ANNOTATION_APPROVE_DELETION
from lynq.api.text import and_more
from lynq.cli.confirmation import confirm, yes_option
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.exit_codes import CommandError
from lynq.cli.lookup import find_hub
from lynq.cli.output import print_note
from lynq.cli.target import annotate, print_done, reference, refuse_deleting
from lynq.core.guard.approval import requested_approval
from lynq.core.guard.approval_request import (
    NotApprovable,
    PlannedDeletions,
    check_digest,
    held_now,
    planned_deletions,
)

_SHOWN = 10
"""How many nodes are named before the question."""


@click.command()
@click.argument("hub")
@click.option(
    "--digest", metavar="DIGEST", help="Approve only if the held deletions have this digest."
)
@click.option(
    "--plan",
    type=click.File("rb"),
    metavar="FILE",
    help="Approve only what this plan shows; made by `lynq plan -o json`.",
)
@yes_option
@cluster_command
async def approve(
    cluster: Cluster, *, hub: str, digest: str | None, plan: BinaryIO | None, yes: bool
) -> None:
    """Approve the deletions that the deletion guard of a hub holds.

    The nodes and their number are shown first. The approval is of exactly this set: if a row comes
    back or another one vanishes before the operator has read the approval, nothing is deleted and
    the new set has another digest. The annotation lynq.sh/approve-deletion is set.

    \b
    Examples:
      lynq approve tenants
      lynq approve tenants --digest 4f0c6a1be2d97735 --yes
      lynq approve tenants --plan plan.json
    """
    found = await find_hub(cluster, hub)
    refuse_deleting(found)
    try:
        planned = planned_deletions(plan.read(), found.metadata.name) if plan else None
        held = _verified(found, digest, planned)
    except NotApprovable as error:
        raise CommandError(f"{reference(found)}: {error}.") from None
    if requested_approval(found.metadata) == held.digest:
        print_done(found, f"deletion of {_nodes(held.count)} is approved already")
        return
    _show(found, held, planned.nodes if planned else held.nodes)
    confirm(f"Approve the deletion of {_nodes(held.count)} and of their objects", yes=yes)
    await annotate(cluster, found, ANNOTATION_APPROVE_DELETION, held.digest)
    print_done(found, f"deletion of {_nodes(held.count)} approved")


def _verified(hub: LynqHub, digest: str | None, planned: PlannedDeletions | None) -> HeldDeletions:
    held = held_now(hub)
    if digest:
        check_digest(held, digest, origin="--digest")
    if planned:
        check_digest(held, planned.digest, origin="the plan")
    return held


def _show(hub: LynqHub, held: HeldDeletions, names: tuple[str, ...]) -> None:
    print_note(
        f"{reference(hub)} holds the deletion of {_nodes(held.count)}, digest {held.digest}:"
    )
    # The status lists only the first names.
    padded = [*names, *[""] * (held.count - len(names))]
    print_note(f"  {and_more(padded, shown=_SHOWN)}")
    print_note("Objects with deletionPolicy Retain and adopted objects are kept.")
    if hub.spec.paused:
        print_note(f"The hub is paused: nothing is deleted until lynq resume {reference(hub)}.")


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"

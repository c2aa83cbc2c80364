"""`lynq orphans`: objects that were retained, and what to do with them."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import click
import msgspec

from lynq.api import LynqNode
from lynq.api.names import (
    ANNOTATION_FORCE_RECONCILE,
    ANNOTATION_ORPHANED_AT,
    ANNOTATION_ORPHANED_FROM,
    ANNOTATION_ORPHANED_REASON,
)
from lynq.api.wire import parse_rfc3339
from lynq.cli.confirmation import confirm, yes_option
from lynq.cli.connection import Cluster, listing_command
from lynq.cli.exit_codes import CommandError, ExitCode
from lynq.cli.kinds import is_named, is_stored, served_kinds
from lynq.cli.lookup import NODES
from lynq.cli.output import (
    Column,
    OutputFormat,
    format_age,
    output_option,
    print_data,
    print_line,
    print_note,
    print_table,
)
from lynq.cli.target import annotate, trigger_value
from lynq.core.explain.orphans import deletion_blocker, desiring_node
from lynq.inspection.orphans import Orphan, find_orphans
from lynq.kube.errors import Conflict, KubeError, NotFound

_COLUMNS: Final[tuple[Column[Orphan], ...]] = (
    Column("NAMESPACE", lambda orphan: orphan.metadata.namespace),
    Column("OBJECT", lambda orphan: orphan.name),
    Column("REASON", lambda orphan: orphan.annotation(ANNOTATION_ORPHANED_REASON)),
    Column(
        "RETAINED",
        lambda orphan: format_age(parse_rfc3339(orphan.annotation(ANNOTATION_ORPHANED_AT))),
    ),
    Column("AGE", lambda orphan: format_age(orphan.metadata.creation_timestamp)),
    Column("NODE", lambda orphan: orphan.annotation(ANNOTATION_ORPHANED_FROM), is_wide=True),
    Column("UID", lambda orphan: orphan.metadata.uid, is_wide=True),
)


@click.command()
@click.argument("names", nargs=-1, metavar="[KIND/NAME]...")
@click.option(
    "--adopt", "adopts", is_flag=True, help="Reconcile the nodes that desire the orphans again."
)
@click.option(
    "--node",
    metavar="[NAMESPACE/]NAME",
    help="Only objects that were retained from this LynqNode, which need not exist any more.",
)
@click.option("--delete", "deletes", is_flag=True, help="Delete the orphans.")
@yes_option
@output_option()
@listing_command
async def orphans(
    cluster: Cluster,
    *,
    names: tuple[str, ...],
    adopts: bool,
    deletes: bool,
    node: str | None,
    yes: bool,
    output: OutputFormat,
) -> None:
    """List objects that were retained, or adopt or delete them.

    An object with deletionPolicy Retain stays when its row or its entry goes, with the label
    lynq.sh/orphaned. The operator adopts it when a node desires it again: --adopt reconciles these
    nodes now. --delete deletes orphans, with all of their data, after a confirmation; an object
    that changed meanwhile, or that a node has, is not touched. Cluster-scoped objects are listed
    with -A.

    \b
    Examples:
      lynq orphans -A
      lynq orphans --node acme-web -o wide
      lynq orphans pvc/acme-data --delete
      lynq orphans --adopt --yes
    """
    if adopts and deletes:
        raise CommandError("Use either --adopt or --delete.")
    found = _selected(_of_node(await _find(cluster), node), names)
    if deletes:
        await _delete(cluster, found, yes=yes)
    elif adopts:
        await _adopt(cluster, found, yes=yes)
    elif output in {OutputFormat.JSON, OutputFormat.YAML}:
        print_data([_data(orphan) for orphan in found], output)
    elif output is OutputFormat.NAME:
        for orphan in found:
            print_line(orphan.name)
    elif found:
        print_table(_COLUMNS, found, output)
    else:
        print_note("No orphans found.")


async def _find(cluster: Cluster) -> list[Orphan]:
    kinds = [
        kind
        for kind in await served_kinds(cluster.client)
        if (kind.namespaced or cluster.all_namespaces) and is_stored(kind)
    ]
    if sys.stderr.isatty():
        print_note(f"Reading {len(kinds)} kinds …")
    found, denied = await find_orphans(cluster.client, kinds, cluster.listed_namespace)
    if denied:
        print_note(f"Not listed, grant the verb list on: {', '.join(denied)}")
    return found


def _of_node(orphans: list[Orphan], node: str | None) -> list[Orphan]:
    """Return the orphans of a node; objects that an earlier version retained name none."""
    if node is None:
        return orphans
    suffix = node if "/" in node else f"/{node}"
    return [each for each in orphans if each.annotation(ANNOTATION_ORPHANED_FROM).endswith(suffix)]


def _selected(orphans: list[Orphan], names: Sequence[str]) -> list[Orphan]:
    if not names:
        return orphans
    selected = []
    for name in names:
        kind, _, bare = name.partition("/")
        matches = [
            orphan
            for orphan in orphans
            if orphan.metadata.name == bare and is_named(orphan.resource, kind)
        ]
        if not matches:
            raise CommandError(f'"{name}" is not an orphan. List them: lynq orphans')
        selected += matches
    return selected


async def _delete(cluster: Cluster, found: list[Orphan], *, yes: bool) -> None:
    deletable = []
    for orphan in found:
        if blocker := deletion_blocker(orphan.metadata):
            print_note(f"{orphan.ref} is not deleted: {blocker}.")
        else:
            deletable.append(orphan)
    if not deletable:
        print_note("No orphan to delete.")
        return
    print_table(_COLUMNS, deletable)
    namespaces = [orphan for orphan in deletable if orphan.ref.is_namespace]
    inside = ", and all objects in the Namespaces" if namespaces else ""
    confirm(f"Delete {_count(deletable)} with all data{inside}", yes=yes)
    failed = False
    for orphan in deletable:
        metadata = orphan.metadata
        try:
            # The version is a precondition: what was adopted or edited meanwhile stays.
            await cluster.client.delete(
                orphan.resource,
                metadata.name,
                metadata.namespace or None,
                uid=metadata.uid,
                resource_version=metadata.resource_version,
            )
        except NotFound:
            print_note(f"{orphan.ref} does not exist any more.")
        except Conflict:
            failed = True
            print_note(f"{orphan.ref} changed meanwhile and is not deleted.")
        except KubeError as error:
            failed = True
            print_note(str(error))
        else:
            print_line(f"{orphan.name} deleted")
    if failed:
        raise click.exceptions.Exit(ExitCode.ERROR)


async def _adopt(cluster: Cluster, found: list[Orphan], *, yes: bool) -> None:
    listed = await cluster.client.list(NODES, cluster.listed_namespace, into=LynqNode)
    nodes: dict[str, LynqNode] = {}
    for orphan in found:
        node = desiring_node(orphan.ref, listed.items)
        if node is None:
            print_note(f"{orphan.ref}: no node desires it; add its row or its entry again.")
        else:
            print_note(f"{orphan.ref}: desired by node {node.metadata.key}")
            nodes[node.metadata.uid] = node
    if not nodes:
        print_note("No orphan to adopt.")
        return
    count = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
    confirm(f"Reconcile {count}, so that the operator adopts these objects", yes=yes)
    for node in nodes.values():
        value = trigger_value(datetime.now(UTC))
        await annotate(cluster, node, ANNOTATION_FORCE_RECONCILE, value)
        print_line(f"node/{node.metadata.name} reconcile requested")


def _count(orphans: Sequence[Orphan]) -> str:
    return "1 orphan" if len(orphans) == 1 else f"{len(orphans)} orphans"


def _data(orphan: Orphan) -> dict[str, str]:
    ref: dict[str, str] = msgspec.to_builtins(orphan.ref._asdict())
    return {
        "apiVersion": ref["api_version"],
        "kind": ref["kind"],
        "namespace": ref["namespace"],
        "name": ref["name"],
        "uid": orphan.metadata.uid,
        "node": orphan.annotation(ANNOTATION_ORPHANED_FROM),
        "reason": orphan.annotation(ANNOTATION_ORPHANED_REASON),
        "orphanedAt": orphan.annotation(ANNOTATION_ORPHANED_AT),
    }

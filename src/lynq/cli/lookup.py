"""Finds hubs, forms and nodes by the names that people type."""

from typing import Final, TypeVar

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.cli.connection import Cluster
from lynq.cli.exit_codes import CommandError
from lynq.cli.output import print_note
from lynq.kube import Resource
from lynq.kube.errors import Forbidden, NotFound
from lynq.kube.resource import resource_of

HUBS: Final = resource_of(LynqHub.definition)
FORMS: Final = resource_of(LynqForm.definition)
NODES: Final = resource_of(LynqNode.definition)

K = TypeVar("K", LynqHub, LynqForm, LynqNode)


async def find_hub(cluster: Cluster, name: str) -> LynqHub:
    """Return a hub by `NAME` or `hub/NAME`; raises CommandError."""
    return await _get(cluster, HUBS, LynqHub, without_kind(name, "hub", "lynqhub"))


async def find_form(cluster: Cluster, name: str) -> LynqForm:
    """Return a form by `NAME` or `form/NAME`; raises CommandError."""
    return await _get(cluster, FORMS, LynqForm, without_kind(name, "form", "lynqform"))


async def find_node(cluster: Cluster, name: str) -> LynqNode:
    """Return a node by `NAME`, `node/NAME` or the uid of its row; raises CommandError."""
    name = without_kind(name, "node", "lynqnode")
    try:
        return await cluster.client.get(NODES, name, cluster.namespace, into=LynqNode)
    except NotFound:
        nodes = await _nodes_of_row(cluster, name)
    if len(nodes) > 1:
        names = ", ".join(sorted(node.metadata.name for node in nodes))
        raise CommandError(f'The row "{name}" has {len(nodes)} nodes. Name one of them: {names}.')
    if not nodes:
        raise _not_found(cluster, "LynqNode", name, "lynq get nodes -A")
    return nodes[0]


async def _nodes_of_row(cluster: Cluster, uid: str) -> list[LynqNode]:
    listed = await cluster.client.list(NODES, cluster.namespace, into=LynqNode)
    return [node for node in listed.items if node.spec.uid == uid]


async def _get(cluster: Cluster, resource: Resource, into: type[K], name: str) -> K:
    try:
        return await cluster.client.get(resource, name, cluster.namespace, into=into)
    except NotFound:
        command = f"lynq get {resource.kind.removeprefix('Lynq').lower()}s -A"
        raise _not_found(cluster, resource.kind, name, command) from None


async def list_allowed(
    cluster: Cluster,
    resource: Resource,
    into: type[K],
    namespace: str | None,
    *,
    labels: str | None = None,
) -> list[K] | None:
    """List objects; None after a note on stderr if the viewer may not."""
    try:
        return (await cluster.client.list(resource, namespace, into=into, labels=labels)).items
    except Forbidden as error:
        print_note(denial_of(resource, error))
        return None


def denial_of(resource: Resource, error: Forbidden) -> str:
    """Return which objects are not listed, and the right to grant."""
    return f"{resource.kind}s are not listed: {error.missing_right or error}"


def _not_found(cluster: Cluster, kind: str, name: str, command: str) -> CommandError:
    return CommandError(
        f'No {kind} "{name}" in the namespace "{cluster.namespace}". Look in all: {command}'
    )


def without_kind(name: str, *kinds: str) -> str:
    """Return the name of `NAME` or `kind/NAME`; raises CommandError for another kind."""
    kind, separator, rest = name.partition("/")
    if not separator:
        return name
    if kind.lower().removesuffix("s") not in kinds:
        raise CommandError(f'"{name}" is not a {kinds[0]}. Write NAME or {kinds[0]}/NAME.')
    return rest

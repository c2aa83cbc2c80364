"""What an API server says it serves: its discovery documents, as resources.

Newer servers answer with one document for all groups ("aggregated"), older ones with a list of
groups and a document for each version of each. Both are read here to the same thing: for every
group version its resources, or None when whoever serves it is out of reach: one broken extension
server must not hide all other kinds.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from lynq.api import Metadata
from lynq.api.wire import Wire
from lynq.kube.client import Client
from lynq.kube.codec import decode
from lynq.kube.errors import KubeError
from lynq.kube.resource import Resource

Served: TypeAlias = Mapping[str, tuple[Resource, ...] | None]
"""Group version → its resources; None: known to exist, but nobody answers for it now."""

_AGGREGATED: Final = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)


class _Kind(Wire, frozen=True):
    group: str = ""
    version: str = ""
    kind: str = ""


class _AggregatedResource(Wire, frozen=True):
    resource: str
    response_kind: _Kind | None = None
    scope: str = ""


class _AggregatedVersion(Wire, frozen=True):
    version: str
    resources: tuple[_AggregatedResource, ...] = ()
    freshness: str = "Current"


class _AggregatedGroup(Wire, frozen=True):
    metadata: Metadata = Metadata()
    versions: tuple[_AggregatedVersion, ...] = ()


class _GroupVersion(Wire, frozen=True):
    group_version: str


class _Group(Wire, frozen=True):
    versions: tuple[_GroupVersion, ...] = ()


class _Root(Wire, frozen=True):
    """All that `/api` and `/apis` can answer: exactly one of the three is filled."""

    items: tuple[_AggregatedGroup, ...] = ()
    versions: tuple[str, ...] = ()
    groups: tuple[_Group, ...] = ()


class _ListedResource(Wire, frozen=True):
    name: str
    kind: str
    namespaced: bool = False


class _ResourceList(Wire, frozen=True):
    # Go writes an empty list as null where nobody took care.
    resources: tuple[_ListedResource, ...] | None = None


async def read_served(client: Client) -> Served:
    """Ask for everything, in two requests where the API server can."""
    served: dict[str, tuple[Resource, ...] | None] = {}
    for path in ("/api", "/apis"):
        body = await client.raw(path, headers={"Accept": _AGGREGATED})
        root = decode(body, _Root, what=f"get {path}")
        served |= _aggregated(root)
        served |= await _one_by_one(client, _listed_versions(root))
    return served


def _aggregated(root: _Root) -> Served:
    return {
        _group_version(group.metadata.name, version.version): (
            _resources(group.metadata.name, version)
            # Stale and empty: the server behind it has never answered.
            if version.resources or version.freshness == "Current"
            else None
        )
        for group in root.items
        for version in group.versions
    }


def _resources(group: str, version: _AggregatedVersion) -> tuple[Resource, ...]:
    return tuple(
        Resource(
            group,
            version.version,
            each.response_kind.kind,
            each.resource,
            namespaced=each.scope == "Namespaced",
        )
        for each in version.resources
        if each.response_kind and each.response_kind.kind
    )


def _listed_versions(root: _Root) -> Iterator[str]:
    yield from root.versions
    for group in root.groups:
        for version in group.versions:
            yield version.group_version


async def _one_by_one(client: Client, versions: Iterator[str]) -> Served:
    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(_read(client, name)) for name in versions}
    return {name: task.result() for name, task in tasks.items()}


async def _read(client: Client, group_version: str) -> tuple[Resource, ...] | None:
    group, _, version = group_version.rpartition("/")
    path = f"/apis/{group_version}" if group else f"/api/{version}"
    try:
        found = decode(await client.raw(path), _ResourceList, what=f"get {path}")
    except KubeError:
        return None
    return tuple(
        Resource(group, version, each.kind, each.name, namespaced=each.namespaced)
        for each in found.resources or ()
        if "/" not in each.name  # a subresource
    )


def _group_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version

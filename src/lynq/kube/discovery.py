"""Discovery: maps kinds to resources, from the cached discovery documents of the API server.

Newer API servers return one document for all groups ("aggregated"), older ones a list of groups and
one document per group version. Both are read into the same mapping: group version to resources, or
to None if the extension server of the group is unavailable. One broken extension server must not
hide all other kinds.

A lookup of an unknown kind refreshes the cache, because a CRD may have been installed. A form with
a kind that does not exist repeats that lookup at every reconcile, so refreshes are rate limited.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from lynq.api import Metadata
from lynq.api.text import and_more
from lynq.api.wire import Wire
from lynq.kube.client import Client
from lynq.kube.codec import decode
from lynq.kube.errors import GroupUnavailable, KubeError, UnknownKind
from lynq.kube.resource import Resource

Served: TypeAlias = Mapping[str, tuple[Resource, ...] | None]
"""Group version → its resources; None if the group exists and its server is unavailable."""

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
    """The possible responses of `/api` and `/apis`: exactly one of the fields is set."""

    items: tuple[_AggregatedGroup, ...] = ()
    versions: tuple[str, ...] = ()
    groups: tuple[_Group, ...] = ()


class _ListedResource(Wire, frozen=True):
    name: str
    kind: str
    namespaced: bool = False


class _ResourceList(Wire, frozen=True):
    # Go encodes a nil slice as null.
    resources: tuple[_ListedResource, ...] | None = None


async def read_served(client: Client) -> Served:
    """Read all discovery documents; two requests if the API server supports aggregation."""
    served: dict[str, tuple[Resource, ...] | None] = {}
    for path in ("/api", "/apis"):
        body = await client.raw(path, headers={"Accept": _AGGREGATED})
        root = decode(body, _Root, what=f"get {path}")
        served |= _aggregated(root)
        served |= await _unaggregated(client, _listed_versions(root))
    return served


def _aggregated(root: _Root) -> Served:
    return {
        _group_version(group.metadata.name, version.version): (
            _resources(group.metadata.name, version)
            # Stale and empty: the extension server has never responded.
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
            entry.response_kind.kind,
            entry.resource,
            namespaced=entry.scope == "Namespaced",
        )
        for entry in version.resources
        if entry.response_kind and entry.response_kind.kind
    )


def _listed_versions(root: _Root) -> Iterator[str]:
    yield from root.versions
    for group in root.groups:
        for version in group.versions:
            yield version.group_version


async def _unaggregated(client: Client, versions: Iterator[str]) -> Served:
    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(_read_group_version(client, name)) for name in versions}
    return {name: task.result() for name, task in tasks.items()}


async def _read_group_version(client: Client, group_version: str) -> tuple[Resource, ...] | None:
    group, _, version = group_version.rpartition("/")
    path = f"/apis/{group_version}" if group else f"/api/{version}"
    try:
        document = decode(await client.raw(path), _ResourceList, what=f"get {path}")
    except KubeError:
        return None
    return tuple(
        Resource(group, version, entry.kind, entry.name, namespaced=entry.namespaced)
        for entry in document.resources or ()
        if "/" not in entry.name  # a subresource
    )


def _group_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


_MAX_NAMED = 20


class Discovery:
    """The resources that the API server serves, cached.

    `min_refresh_interval` limits the refreshes for unknown kinds. The API server serves a new CRD
    after a moment; until then its kind is unknown.
    """

    def __init__(
        self,
        client: Client,
        *,
        min_refresh_interval: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._min_refresh_interval = min_refresh_interval
        self._clock = clock
        self._served: Served = {}
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._read_at: float | None = None
        self.complete_at: float | None = None
        """The monotonic time of the last refresh, if all groups have responded to it."""
        self._refreshing = asyncio.Lock()

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind; raises UnknownKind."""
        if self._read_at is None or (api_version, kind) not in self._kinds:
            await self._refresh()
        try:
            return self._kinds[api_version, kind]
        except KeyError:
            raise self._unknown(api_version, kind) from None

    async def of_kind(self, kind: str, group: str | None = None) -> list[Resource]:
        """Return one resource of a kind per group; raises GroupUnavailable.

        For objects whose version is unknown or not served any more.
        """
        if not self._groups_of(kind, group):
            await self._refresh()
        resources = self._groups_of(kind, group)
        unavailable = [version for version, served in self._served.items() if served is None]
        candidates = [version for version in unavailable if group in (None, _group_of(version))]
        if not resources and candidates:
            raise GroupUnavailable(f"{candidates[0]}, which may serve {kind}, is unavailable")
        return resources

    def _groups_of(self, kind: str, group: str | None) -> list[Resource]:
        first: dict[str, Resource] = {}
        for resource in self._kinds.values():
            if resource.kind == kind and group in (None, resource.group):
                first.setdefault(resource.group, resource)
        return list(first.values())

    def invalidate(self) -> None:
        """Refresh at the next lookup: a CRD was created, changed or deleted."""
        self._read_at = None

    async def _refresh(self) -> None:
        async with self._refreshing:
            # A concurrent lookup may have refreshed the cache meanwhile.
            if (
                self._read_at is not None
                and self._clock() - self._read_at < self._min_refresh_interval
            ):
                return
            # Set first, so that an `invalidate` during the request is not lost.
            self._read_at = began = self._clock()
            try:
                served = await read_served(self._client)
            except BaseException:
                self._read_at = None
                raise
            self._update(served)
            self.complete_at = None if None in served.values() else began

    def _update(self, served: Served) -> None:
        """Replace the cache; of an unavailable group, the previous resources stay."""
        self._served = {
            version: self._served.get(version) if resources is None else resources
            for version, resources in served.items()
        }
        # Reversed: of two resources with one kind, the first one wins.
        self._kinds = {
            (resource.api_version, resource.kind): resource
            for resources in self._served.values()
            for resource in reversed(resources or ())
        }

    def _unknown(self, api_version: str, kind: str) -> UnknownKind:
        what = f"the API server serves no {api_version} {kind}"
        if api_version in self._served and self._served[api_version] is None:
            return GroupUnavailable(f"{what}: {api_version} is unavailable at the moment")
        return UnknownKind(self._explain(what, api_version, kind))

    def _explain(self, what: str, api_version: str, kind: str) -> str:
        group = _group_of(api_version)
        others = [resource for resource in self._kinds.values() if resource.group == group]
        if versions := [other.api_version for other in others if other.kind == kind]:
            return f"{what}; it is served as {', '.join(versions)}"
        if not others:
            return f"{what}, nor any other kind of its group; is the CRD installed?"
        names = sorted({other.kind for other in others})
        return f"{what}; its group has {and_more(names, shown=_MAX_NAMED)}"


def _group_of(api_version: str) -> str:
    return api_version.rpartition("/")[0]

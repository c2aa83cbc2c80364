"""Kind to resource, cached: which path an object of a kind lives under, and whether in a namespace.

The cache is read again when someone asks for a kind that is not in it, because a CRD may have
been installed, but not more often than every few seconds: a form that names a kind that does not
exist asks on every pass.

What an API server says it serves: its discovery documents, as resources.

Newer servers answer with one document for all groups ("aggregated"), older ones with a list of
groups and a document for each version of each. Both are read here to the same thing: for every
group version its resources, or None when whoever serves it is out of reach: one broken extension
server must not hide all other kinds.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from lynq.api import Metadata
from lynq.api.wire import Wire
from lynq.kube.client import Client
from lynq.kube.codec import decode
from lynq.kube.errors import GroupUnavailable, KubeError, UnknownKind
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


_SHOWN = 20


class Discovery:
    """What the API server serves.

    `pause` is the least time between two readings that an unknown kind can cause. A CRD that was
    just installed takes the API server a moment to serve: until then its kind is unknown.
    """

    def __init__(
        self, client: Client, *, pause: float = 2.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._pause = pause
        self._clock = clock
        self._served: Served = {}
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._read_at: float | None = None
        self._reading = asyncio.Lock()

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind; raises UnknownKind when there is none."""
        if self._read_at is None or (api_version, kind) not in self._kinds:
            await self._read()
        try:
            return self._kinds[api_version, kind]
        except KeyError:
            raise self._unknown(api_version, kind) from None

    async def of_kind(self, kind: str, group: str | None = None) -> list[Resource]:
        """Return where a kind is served, once per group; raises GroupUnavailable.

        For objects of which the version is not known, or not served any more.
        """
        if not self._groups_of(kind, group):
            await self._read()
        found = self._groups_of(kind, group)
        silent = [version for version, known in self._served.items() if known is None]
        missing = [each for each in silent if group in (None, _group_of(each))]
        if not found and missing:
            raise GroupUnavailable(f"nobody answers for {missing[0]}, which may serve {kind}")
        return found

    def _groups_of(self, kind: str, group: str | None) -> list[Resource]:
        first: dict[str, Resource] = {}
        for each in self._kinds.values():
            if each.kind == kind and group in (None, each.group):
                first.setdefault(each.group, each)
        return list(first.values())

    def invalidate(self) -> None:
        """Read again at the next question: a CRD came, changed or went."""
        self._read_at = None

    async def _read(self) -> None:
        async with self._reading:
            # Whoever waited for the lock finds the work done.
            if self._read_at is not None and self._clock() - self._read_at < self._pause:
                return
            # Set first: an `invalidate` while the answer is under way is not lost.
            self._read_at = self._clock()
            try:
                found = await read_served(self._client)
            except BaseException:
                self._read_at = None
                raise
            self._remember(found)

    def _remember(self, found: Served) -> None:
        """Take over what was read; of a group that does not answer, keep what was known."""
        self._served = {
            version: self._served.get(version) if resources is None else resources
            for version, resources in found.items()
        }
        # Reversed: where two resources have one kind, the first one counts.
        self._kinds = {
            (resource.api_version, resource.kind): resource
            for resources in self._served.values()
            for resource in reversed(resources or ())
        }

    def _unknown(self, api_version: str, kind: str) -> UnknownKind:
        what = f"the API server serves no {api_version} {kind}"
        if api_version in self._served and self._served[api_version] is None:
            return GroupUnavailable(f"{what}: nobody answers for {api_version} at the moment")
        return UnknownKind(self._explain(what, api_version, kind))

    def _explain(self, what: str, api_version: str, kind: str) -> str:
        group = _group_of(api_version)
        others = [each for each in self._kinds.values() if each.group == group]
        if elsewhere := [each.api_version for each in others if each.kind == kind]:
            return f"{what}, but it does as {', '.join(elsewhere)}"
        if not others:
            return f"{what}, nor anything of its group; is the CRD installed?"
        names = sorted({each.kind for each in others})
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"{what}; that group has {', '.join(names[:_SHOWN])}{more}"


def _group_of(api_version: str) -> str:
    return api_version.rpartition("/")[0]

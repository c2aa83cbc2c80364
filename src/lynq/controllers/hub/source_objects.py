"""Watches the Secrets and ConfigMaps that hubs reference, one by one and by name.

A hub resolves its references before each read of its rows. The watch answers, so that an idle hub
sends no request; a change is announced to the hubs that use the object, so that a new password or
a deleted Secret has its effect at once. The object is selected by its name in the request: the
right to list and watch that one name suffices, and the operator holds no other Secret.

While the watch does not work (denied, not synced, API server not available), the object is read by
a GET each time: nothing is decided by a copy that may be outdated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

import msgspec
import structlog

from lynq.api import KeyHolder, Metadata
from lynq.api.metadata import ObjectKey
from lynq.controllers.concurrency import BackgroundJob, BackgroundJobs
from lynq.kube import Backoff, Client, Informer, InformerPhase, ObjectChange
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS, SECRETS

Data: TypeAlias = Mapping[str, str | bytes]
"""The data of a Secret or ConfigMap by key."""

_RETRY: Final = Backoff(base=0.4, cap=300.0, jitter=1.0)
"""Delay between two attempts to watch an object: a GET per read replaces the watch until then."""

_log = structlog.get_logger(__name__)


class _Secret(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, bytes] = {}


class _ConfigMap(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] = {}


class SourceObject(NamedTuple):
    """A Secret or ConfigMap."""

    kind: KeyHolder
    key: ObjectKey


async def fetch_data(client: Client, reference: SourceObject) -> Data | None:
    """Return the data from the API server; None if the object does not exist. Raises KubeError."""
    namespace, name = reference.key
    try:
        if reference.kind is KeyHolder.CONFIG_MAP:
            return (await client.get(CONFIG_MAPS, name, namespace, into=_ConfigMap)).data
        return (await client.get(SECRETS, name, namespace, into=_Secret)).data
    except NotFound:
        return None


class WatchedObjects:
    """The watched objects of all hubs."""

    def __init__(self, client: Client, jobs: BackgroundJobs) -> None:
        self._client = client
        self._jobs = jobs
        self._watches: dict[SourceObject, _ObjectWatch] = {}

    async def data(
        self, reference: SourceObject, hub: ObjectKey, changed: Callable[[], None]
    ) -> Data | None:
        """Return the data of an object; None if it does not exist. Raises KubeError.

        From now on `changed` is called when the object has other data than the hub was given.
        """
        watch = self._watches.get(reference)
        if watch is None:
            watch = self._watches[reference] = _ObjectWatch.start(
                self._client, self._jobs, reference
            )
        # Registered before the request: a canceled read must not leave a watch without user.
        watch.users.setdefault(hub, None)
        data = watch.current if watch.is_current else await watch.fetch()
        watch.users[hub] = _User(data, changed)
        return data

    def release(self, hub: ObjectKey, *, except_for: frozenset[SourceObject]) -> None:
        """Close the watches that only this hub has used, except for these."""
        for reference in self._watches.keys() - except_for:
            watch = self._watches[reference]
            watch.users.pop(hub, None)
            if not watch.users:
                watch.job.cancel()
                del self._watches[reference]


@dataclass(frozen=True, slots=True)
class _User:
    """A hub that uses an object."""

    data: Data | None
    """What the hub was given."""
    changed: Callable[[], None]


@dataclass(slots=True)
class _ObjectWatch:
    client: Client
    reference: SourceObject
    informer: Informer[_Secret, Data] | Informer[_ConfigMap, Data]
    job: BackgroundJob
    users: dict[ObjectKey, _User | None] = field(default_factory=dict)
    """None for a hub that was not given the data yet."""
    is_reported: bool = False

    @classmethod
    def start(cls, client: Client, jobs: BackgroundJobs, reference: SourceObject) -> "_ObjectWatch":
        informer = _informer(client, reference)
        job = jobs.start(informer.run, name=f"watch of {reference.kind} {reference.key}")
        watch = cls(client, reference, informer, job)
        informer.on_change(watch.handle)
        return watch

    @property
    def is_current(self) -> bool:
        return self.informer.is_current

    @property
    def current(self) -> Data | None:
        return self.informer.store.get(self.reference.key)

    async def fetch(self) -> Data | None:
        self._report_denial()
        data = await fetch_data(self.client, self.reference)
        # A change that was announced during the request is in the store only.
        return self.current if self.is_current else data

    def handle(self, change: ObjectChange[Data]) -> None:
        for user in list(self.users.values()):
            if user and user.data != change.new:
                user.changed()

    def _report_denial(self) -> None:
        is_denied = self.informer.health.phase is InformerPhase.FORBIDDEN
        if is_denied and not self.is_reported:
            _log.warning(
                "watch denied, the object is read before each read of rows; grant list and watch",
                kind=str(self.reference.kind),
                object=str(self.reference.key),
            )
        self.is_reported = is_denied


def _informer(
    client: Client, reference: SourceObject
) -> Informer[_Secret, Data] | Informer[_ConfigMap, Data]:
    namespace, name = reference.key
    fields = f"metadata.name={name}"
    if reference.kind is KeyHolder.CONFIG_MAP:
        return Informer(
            client,
            CONFIG_MAPS,
            into=_ConfigMap,
            project=_config_map_data,
            namespace=namespace,
            fields=fields,
            backoff=_RETRY,
        )
    return Informer(
        client,
        SECRETS,
        into=_Secret,
        project=_secret_data,
        namespace=namespace,
        fields=fields,
        backoff=_RETRY,
    )


def _secret_data(secret: _Secret) -> Data:
    return secret.data


def _config_map_data(config_map: _ConfigMap) -> Data:
    return config_map.data

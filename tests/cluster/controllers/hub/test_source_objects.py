"""Secrets and ConfigMaps of hubs are watched by name, and fetched only while the watch fails."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from structlog.testing import capture_logs

from background_tasks import run_in_background
from lynq.api import KeyHolder
from lynq.api.metadata import ObjectKey
from lynq.controllers.concurrency import BackgroundJobs
from lynq.controllers.hub.source_objects import Data, SourceObject, WatchedObjects
from lynq.kube import Client, Request, Resource, Response, Send
from lynq.kube.errors import Forbidden
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.environment import RequestRecorder
from waiting import eventually, stays

ROLES = Resource("rbac.authorization.k8s.io", "v1", "Role", "roles", namespaced=True)
BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", namespaced=True
)


@dataclass
class Watcher:
    """Reads one Secret as a hub does."""

    client: Client
    namespace: str
    jobs: BackgroundJobs = field(default_factory=BackgroundJobs)
    requests: RequestRecorder = field(default_factory=RequestRecorder)
    changes: dict[str, int] = field(default_factory=dict)
    streams: list[Request] = field(default_factory=list)
    objects: WatchedObjects = field(init=False)

    def __post_init__(self) -> None:
        self.act_as(self.client)

    def act_as(self, client: Client) -> None:
        observed = client.intercepted(self._record_stream, self.requests)
        self.objects = WatchedObjects(observed, self.jobs)

    async def _record_stream(self, request: Request, send: Send) -> Response:
        if request.stream:
            self.streams.append(request)
        return await send(request)

    @property
    def reference(self) -> SourceObject:
        return SourceObject(KeyHolder.SECRET, ObjectKey(self.namespace, "login"))

    async def data(self, hub: str = "hub") -> Data | None:
        def changed() -> None:
            self.changes[hub] = self.changes.get(hub, 0) + 1

        return await self.objects.data(self.reference, ObjectKey(self.namespace, hub), changed)

    async def text(self, hub: str = "hub") -> str | bytes | None:
        data = await self.data(hub)
        return data["password"] if data is not None else None

    async def has_watch(self) -> bool:
        self.requests.sent.clear()
        await self.data()
        return self.requests.sent == []

    def release(self, hub: str = "hub") -> None:
        self.objects.release(ObjectKey(self.namespace, hub), except_for=frozenset())

    async def write(self, password: str) -> None:
        await self.client.apply(SECRETS, self._secret(password), manager="test", force=True)

    async def delete(self) -> None:
        await self.client.delete(SECRETS, "login", self.namespace)

    def _secret(self, password: str) -> dict[str, Any]:
        data = {"password": base64.b64encode(password.encode()).decode()}
        return {"metadata": {"name": "login", "namespace": self.namespace}, "data": data}

    async def grant(self, *verbs: str) -> Client:
        """Return a client that may use these verbs on this Secret only."""
        metadata = {"name": "reader", "namespace": self.namespace}
        user = f"{self.namespace}-reader"
        rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["login"]}
        await self.client.create(ROLES, {"metadata": metadata, "rules": [rule | {"verbs": verbs}]})
        group = "rbac.authorization.k8s.io"
        await self.client.create(
            BINDINGS,
            {
                "metadata": metadata,
                "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
                "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
            },
        )
        return self.client.acting_as(user)


@pytest.fixture
async def watcher(client: Client, namespace: str) -> AsyncIterator[Watcher]:
    watcher = Watcher(client, namespace)
    await watcher.write("first")
    async with run_in_background(watcher.jobs.run()):
        yield watcher


async def test_watched_secret_is_not_fetched_again(watcher: Watcher) -> None:
    assert await watcher.text() == b"first"
    await eventually(watcher.has_watch)
    assert await watcher.text() == b"first"
    assert watcher.requests.sent == []
    assert watcher.changes == {}


async def test_change_is_announced_to_every_hub_that_uses_the_secret(watcher: Watcher) -> None:
    await watcher.data("one")
    await watcher.data("two")
    await eventually(watcher.has_watch)
    watcher.release("hub")
    await watcher.write("second")
    await eventually(lambda: watcher.changes == {"one": 1, "two": 1})
    assert await watcher.text("one") == await watcher.text("two") == b"second"
    assert len(watcher.streams) == 1


async def test_deleted_and_recreated_secret_is_announced(watcher: Watcher) -> None:
    await watcher.data()
    await eventually(watcher.has_watch)
    await watcher.delete()
    await eventually(lambda: watcher.changes == {"hub": 1})
    assert await watcher.data() is None
    await watcher.write("again")
    await eventually(lambda: watcher.changes == {"hub": 2})
    assert await watcher.text() == b"again"


async def test_secret_with_unchanged_data_is_not_announced(watcher: Watcher) -> None:
    await watcher.data()
    await eventually(watcher.has_watch)
    labels = {"metadata": {"labels": {"touched": "yes"}}}
    await watcher.client.patch(SECRETS, "login", labels, watcher.namespace)
    await stays(lambda: watcher.changes == {}, seconds=0.5)


async def test_released_secret_is_watched_no_longer(watcher: Watcher) -> None:
    await watcher.data("one")
    await watcher.data("two")
    await eventually(watcher.has_watch)
    watcher.release("hub")
    watcher.release("one")
    await watcher.write("second")
    await eventually(lambda: watcher.changes == {"two": 1})
    watcher.release("two")
    await watcher.write("third")
    await stays(lambda: watcher.changes == {"two": 1}, seconds=0.5)


async def test_rights_on_the_one_name_suffice(watcher: Watcher) -> None:
    watcher.act_as(await watcher.grant("get", "list", "watch"))

    async def is_readable() -> bool:
        try:
            return await watcher.text() == b"first"
        except Forbidden:
            return False

    await eventually(is_readable)
    await eventually(watcher.has_watch)
    assert watcher.streams[0].query["fieldSelector"] == "metadata.name=login"


async def test_denied_watch_is_reported_and_replaced_by_a_get(watcher: Watcher) -> None:
    watcher.act_as(await watcher.grant("get"))

    async def is_reported() -> bool:
        try:
            await watcher.data()
        except Forbidden:
            return False
        return [line["object"] for line in logs if "watch denied" in line["event"]] == [
            f"{watcher.namespace}/login"
        ]

    with capture_logs() as logs:
        await eventually(is_reported)
    await watcher.write("second")
    assert await watcher.text() == b"second"
    assert watcher.requests.sent[-1].verb == "get"


async def test_config_map_is_watched_too(watcher: Watcher) -> None:
    metadata = {"name": "trust", "namespace": watcher.namespace}
    await watcher.client.create(CONFIG_MAPS, {"metadata": metadata, "data": {"ca": "A"}})
    reference = SourceObject(KeyHolder.CONFIG_MAP, ObjectKey(watcher.namespace, "trust"))
    changes: list[str] = []
    hub = ObjectKey(watcher.namespace, "hub")

    async def is_watched() -> bool:
        watcher.requests.sent.clear()
        data = await watcher.objects.data(reference, hub, lambda: changes.append("changed"))
        assert data == {"ca": "A"}
        return watcher.requests.sent == []

    await eventually(is_watched)
    await watcher.client.patch(CONFIG_MAPS, "trust", {"data": {"ca": "B"}}, watcher.namespace)
    await eventually(lambda: changes == ["changed"])

"""Reads a Secret as a hub does, and counts what its watch announces."""

import base64
from dataclasses import dataclass, field
from typing import Any

from lynq.api import KeyHolder
from lynq.api.metadata import ObjectKey
from lynq.controllers.concurrency import BackgroundJobs
from lynq.controllers.hub.source_objects import Data, SourceObject, WatchedObjects
from lynq.kube import Client, Request, Response, Send
from lynq.kube.resource import SECRETS
from operated.environment import RequestRecorder


@dataclass
class SecretWatcher:
    """Reads the Secret `login`."""

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

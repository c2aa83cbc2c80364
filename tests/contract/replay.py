"""Sends the requests of a recording to an API server, and compares its answers.

Answers are compared one by one. What controllers do meanwhile is compared when all has settled: the
state of all objects, and the events of the watches by object.
"""

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from contract.recording import (
    CURRENT,
    STALE,
    ObjectPath,
    Placeholders,
    Recording,
    Step,
    comparable,
    is_of_test,
    split,
)
from lynq.kube import Client, Request, Response
from lynq.kube.errors import ApiError, NotFound
from lynq.kube.resource import NAMESPACES
from waiting import DeadlineError, eventually

_WATCH_SECONDS: Final = 600.0

Objects = dict[str, Any]


def _new_name() -> str:
    return f"test-{uuid.uuid4().hex[:10]}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Where an answer differs from the recorded one."""

    step: int
    request: str
    field: str
    recorded: Any
    answered: Any

    def __str__(self) -> str:
        """Return where and how the answers differ."""
        return (
            f"step {self.step}, {self.request}: {self.field}: "
            f"recorded {self.recorded!r}, answered {self.answered!r}"
        )


@dataclass(slots=True)
class OpenWatch:
    """The events of one watch of the replay."""

    path: ObjectPath
    placeholders: Placeholders
    events: list[tuple[str, Any]] = field(default_factory=list)

    async def read(self, response: Response) -> None:
        """Read events until the watch is cancelled."""
        assert response.chunks is not None
        line = b""
        try:
            async for chunk in response.chunks:
                *lines, line = (line + chunk).split(b"\n")
                for complete in filter(None, lines):
                    event = msgspec.json.decode(complete)
                    if event["type"] != "BOOKMARK":
                        self.events.append((event["type"], event["object"]))
        finally:
            response.close()

    def by_object(self) -> dict[str, list[str]]:
        """Return the events of each object of the test, in order."""
        result: dict[str, list[str]] = {}
        for kind, obj in self.events:
            if is_of_test(self.placeholders, obj):
                metadata = obj["metadata"]
                name = self.placeholders.shown(self.path.key(metadata))
                events = result.setdefault(name, [])
                summary = _summary(kind, metadata)
                # The namespace controller reports its progress in as many writes as it takes.
                if self.path.plural != "namespaces" or summary not in events[-1:]:
                    events.append(summary)
        return result


def _summary(kind: str, metadata: Objects) -> str:
    deleting = " deleting" if "deletionTimestamp" in metadata else ""
    finalizers = "".join(f" {name}" for name in metadata.get("finalizers", ()))
    return f"{kind}{deleting}{finalizers}"


class Replay:
    """One run of a recording on one server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        # The verbs of the client would build other requests than the recorded ones.
        self._send = client._transport.send
        self.placeholders = Placeholders()
        self.watches: list[OpenWatch] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._collections: dict[str, set[str]] = {}

    async def start(self) -> None:
        """Create the namespace of the test."""
        name = _new_name()
        self.placeholders.add_namespace(name)
        await self._client.create(NAMESPACES, {"metadata": {"name": name}})

    async def stop(self) -> None:
        """End the watches, and delete the namespaces."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for name in self.placeholders.namespaces.values():
            with suppress(NotFound):
                await self._client.delete(NAMESPACES, name)
            await self._release(name)

    async def _release(self, namespace: str) -> None:
        """Remove the finalizers of what is left: no operator does."""
        for root, plurals in self._collections.items():
            for plural in plurals - {"namespaces"}:
                path = f"{root}/namespaces/{namespace}/{plural}"
                with suppress(ApiError):
                    for item in msgspec.json.decode(await self._client.raw(path))["items"]:
                        if item["metadata"].get("finalizers"):
                            body = msgspec.json.encode({"metadata": {"finalizers": None}})
                            headers = {"Content-Type": "application/merge-patch+json"}
                            name = f"{path}/{item['metadata']['name']}"
                            await self._send(
                                Request("patch", "PATCH", name, headers=headers, body=body)
                            )

    async def answer(self, step: Step) -> tuple[int, Any]:
        """Send a request; return the status and the comparable response."""
        text = msgspec.json.encode(step).decode()
        for placeholder in sorted(self.placeholders.new_namespaces(text)):
            self.placeholders.add_namespace(_new_name(), placeholder)
        path = split(self.placeholders.actual(step.path))
        self._collections.setdefault(path.root, set()).add(path.plural)
        if step.is_watch:
            return await self._watch(step, path)
        body = await self._body(step)
        request = Request(
            step.method.lower(),
            step.method,
            self.placeholders.actual(step.path),
            {key: self.placeholders.actual(value) for key, value in step.query.items()},
            step.headers,
            body,
        )
        status, response = await self._attempt(request)
        return status, comparable(self.placeholders, path, response)

    async def _attempt(self, request: Request) -> tuple[int, Any]:
        try:
            response = await self._send(request)
        except ApiError as error:
            details = error.status.details
            causes = [msgspec.to_builtins(cause) for cause in error.causes]
            status = {
                "kind": "Status",
                "code": error.code,
                "reason": error.status.reason,
                "message": error.status.message,
                "details": {
                    "name": details.name,
                    "group": details.group,
                    "kind": details.kind,
                    "causes": causes,
                },
            }
            return error.code, status
        return response.status, msgspec.json.decode(response.body) if response.body else None

    async def _body(self, step: Step) -> bytes | None:
        if step.body is None:
            return None
        text = self.placeholders.actual(msgspec.json.encode(step.body).decode())
        if CURRENT in text:
            path = self.placeholders.actual(step.path).removesuffix("/status")
            with suppress(NotFound):
                current = msgspec.json.decode(await self._client.raw(path))
                text = text.replace(CURRENT, current["metadata"]["resourceVersion"])
        # Any number but that of the object.
        return text.replace(STALE, "2").encode()

    async def _watch(self, step: Step, path: ObjectPath) -> tuple[int, None]:
        query = {key: self.placeholders.actual(value) for key, value in step.query.items()}
        query["timeoutSeconds"] = str(round(_WATCH_SECONDS))
        collection = self.placeholders.actual(step.path)
        if query.get("resourceVersion"):
            listing = msgspec.json.decode(await self._client.raw(collection))
            query["resourceVersion"] = listing["metadata"]["resourceVersion"]
        request = Request(
            "watch", "GET", collection, query, step.headers, timeout=_WATCH_SECONDS, stream=True
        )
        watch = OpenWatch(path, self.placeholders)
        response = await self._send(request)
        self.watches.append(watch)
        self._tasks.append(asyncio.create_task(watch.read(response)))
        return response.status, None

    async def state(self, *, is_complete: bool) -> Objects:
        """Return all objects of the test; only what controllers change unless it is complete."""
        result: Objects = {}
        for root, plurals in sorted(self._collections.items()):
            for plural in sorted(plurals):
                for item in await self._items(root, plural):
                    path = ObjectPath(root, "", plural, "", "")
                    name = self.placeholders.shown(path.key(item["metadata"]))
                    self.placeholders.add_object(path, item["metadata"])
                    result[name] = self._state_of(path, item, is_complete=is_complete)
        return result

    async def _items(self, root: str, plural: str) -> list[Objects]:
        namespaces = self.placeholders.namespaces.values()
        if plural == "namespaces":
            listing = msgspec.json.decode(await self._client.raw(f"{root}/{plural}"))
            return [item for item in listing["items"] if item["metadata"]["name"] in namespaces]
        items: list[Objects] = []
        for namespace in namespaces:
            with suppress(NotFound):
                body = await self._client.raw(f"{root}/namespaces/{namespace}/{plural}")
                items += msgspec.json.decode(body)["items"]
        return [item for item in items if is_of_test(self.placeholders, item)]

    def _state_of(self, path: ObjectPath, item: Objects, *, is_complete: bool) -> Any:
        if is_complete:
            return comparable(self.placeholders, path, item, with_version=False)
        metadata = item["metadata"]
        owners = [owner["uid"] for owner in metadata.get("ownerReferences", [])]
        return self.placeholders.shown(f"{_summary('', metadata)} {' '.join(owners)}".strip())


async def differences(client: Client, recording: Recording, *, within: float) -> list[Difference]:
    """Replay a recording and return where the server differs; wait so long for controllers."""
    replay = Replay(client)
    found: list[Difference] = []
    last = max(index for index, step in enumerate(recording.steps) if step.state is not None)
    await replay.start()
    try:
        for index, step in enumerate(recording.steps):
            if step.state is not None:
                answered: Any = await _settled(replay, step, is_last=index == last, within=within)
                found += _compared(index, step, step.state, answered)
                continue
            status, response = await replay.answer(step)
            found += _compared(index, step, step.status, status, "status")
            if status == step.status and not step.is_watch:
                found += _compared(index, step, step.response, response)
        watched = [
            (index, step) for index, step in enumerate(recording.steps) if step.events is not None
        ]
        for (index, step), watch in zip(watched, replay.watches, strict=True):
            await _eventually_equal(watch.by_object, step.events, within)
            found += _compared(index, step, step.events, watch.by_object(), "events")
    finally:
        await replay.stop()
    return found


async def _settled(replay: Replay, step: Step, *, is_last: bool, within: float) -> Objects:
    async def equals() -> bool:
        return await replay.state(is_complete=is_last) == step.state

    with suppress(DeadlineError):
        await eventually(equals, within=within, every=0.05)
    return await replay.state(is_complete=is_last)


async def _eventually_equal(value: Any, expected: Any, within: float) -> None:
    with suppress(DeadlineError):
        await eventually(lambda: value() == expected, within=min(within, 5.0))


def _compared(
    index: int, step: Step, recorded: Any, answered: Any, name: str = ""
) -> list[Difference]:
    return [
        Difference(index, str(step), path, old, new)
        for path, old, new in different_fields(recorded, answered, name)
    ]


def different_fields(recorded: Any, answered: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield each path at which two JSON values differ, with both values."""
    if isinstance(recorded, dict) and isinstance(answered, dict):
        for key in sorted(recorded.keys() | answered.keys()):
            below = f"{path}.{key}" if path else key
            yield from different_fields(recorded.get(key), answered.get(key), below)
    elif (
        isinstance(recorded, list) and isinstance(answered, list) and len(recorded) == len(answered)
    ):
        for number, (old, new) in enumerate(zip(recorded, answered, strict=True)):
            yield from different_fields(old, new, f"{path}[{number}]")
    elif recorded != answered:
        yield path, recorded, answered

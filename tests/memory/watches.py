"""Watches: one line of JSON per change, bookmarks, and streamed lists.

An event follows in the turn of the event loop after its write. The API server compacts its history
after minutes; here `Store.compact` does. Bookmarks come once a minute.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.json import encode

from lynq.kube.errors import ConnectionFailed
from lynq.kube.watch import INITIAL_EVENTS_END
from memory.kinds import ServedKind
from memory.selectors import Selector
from memory.statuses import expired
from memory.store import Change, Expired, Key, Store

Body = dict[str, Any]

_BOOKMARK_SECONDS: Final = 60.0


@dataclass(slots=True, eq=False)
class Watch:
    """One open watch."""

    kind: ServedKind
    namespace: str
    selects: Selector
    shown: Callable[[Body], Body]
    """Returns an object as the watch sends it: whole, or its metadata."""
    store: Store
    _queue: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    _is_broken: bool = False

    def start(self, since: str, *, initial_events: bool) -> None:
        """Queue what the watch sends first; raises Refused with 410."""
        if not initial_events and since not in ("", "0"):
            try:
                for change in self.store.since(int(since)):
                    self.offer(change)
            except Expired:
                status = expired(int(since), self.store.oldest).status
                self._queue.put_nowait(_line("ERROR", status))
                self.end()
            return
        for key in self.store.keys(self.kind.resource.name, self.namespace):
            obj = self.store.get(key)
            if obj is not None and self.selects(obj):
                self._queue.put_nowait(_line("ADDED", self.shown(obj)))
        if initial_events:
            self._bookmark({INITIAL_EVENTS_END: "true"})

    def offer(self, change: Change) -> None:
        """Send a change if the watch selects it."""
        if not self._covers(change.key):
            return
        before = change.before is not None and self.selects(change.before)
        after = change.after is not None and self.selects(change.after)
        if after and change.after is not None:
            self._queue.put_nowait(
                _line("MODIFIED" if before else "ADDED", self.shown(change.after))
            )
        elif before and change.before is not None:
            metadata = {**change.before["metadata"], "resourceVersion": str(change.version)}
            last = {**change.before, "metadata": metadata}
            self._queue.put_nowait(_line("DELETED", self.shown(last)))

    def end(self) -> None:
        """End the watch, as the API server does after some minutes."""
        self._queue.put_nowait(None)

    def lose(self) -> None:
        """End the watch as a lost connection does."""
        self._is_broken = True
        self.end()

    async def chunks(self, timeout: float) -> AsyncIterator[bytes]:  # noqa: ASYNC109 - of the watch
        """Yield the lines until the timeout or the end."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while (left := deadline - loop.time()) > 0:
            line = await self._next(min(left, _BOOKMARK_SECONDS))
            if line is None:
                break
            yield line
        if self._is_broken:
            raise ConnectionFailed(f"watch {self.kind.resource}: the connection was lost")

    async def _next(self, seconds: float) -> bytes | None:
        try:
            async with asyncio.timeout(seconds):
                return await self._queue.get()
        except TimeoutError:
            self._bookmark({})
            return self._queue.get_nowait()

    def _covers(self, key: Key) -> bool:
        return key.resource == self.kind.resource.name and self.namespace in ("", key.namespace)

    def _bookmark(self, annotations: dict[str, str]) -> None:
        metadata: Body = {"resourceVersion": str(self.store.version)}
        if annotations:
            metadata["annotations"] = annotations
        resource = self.kind.resource
        bookmark = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        self._queue.put_nowait(_line("BOOKMARK", self.shown(bookmark)))


def _line(event: str, obj: Body) -> bytes:
    return encode({"type": event, "object": obj}) + b"\n"


class Watches:
    """The open watches of an API server."""

    def __init__(self, store: Store) -> None:
        self._open: dict[Watch, None] = {}
        store.on_change(self._changed)

    def open(self, watch: Watch) -> None:
        """Send changes to a watch."""
        self._open[watch] = None

    def close(self, watch: Watch) -> None:
        """Send no more changes to a watch."""
        if self._open.pop(watch, self) is not self:
            watch.lose()

    def of(self, plural: str) -> Iterator[Watch]:
        """Iterate over the open watches of a kind, or of all kinds for ""."""
        return (watch for watch in list(self._open) if plural in ("", watch.kind.resource.plural))

    def _changed(self, change: Change) -> None:
        for watch in list(self._open):
            watch.offer(change)

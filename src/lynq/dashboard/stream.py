"""The live stream: server-sent events with what changed, at most four messages a second.

A message has an id. A browser that reconnects sends the last one, and gets what changed since; if
that is no longer in the log, or too much, it loads its page again.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

from lynq.api.metadata import ObjectKey
from lynq.dashboard.guards import RequestRefused, abort, encode_shown
from lynq.dashboard.options import (
    MAX_CHANGED,
    MAX_STREAMS,
    MAX_VIEWER_STREAMS,
    DashboardTiming,
)
from lynq.dashboard.projection import Projection
from lynq.dashboard.types.common import SummaryView
from lynq.dashboard.types.lists import ChangeMessage
from lynq.dashboard.viewers import Unauthenticated, Viewer
from lynq.dashboard.visible import Visible, count, form_line, hub_line, node_line
from lynq.kube.errors import KubeError

GetVisible = Callable[[], Awaitable[Visible]]
"""Returns what the viewer sees now; raises if the session has ended."""


@dataclass(slots=True)
class Streams:
    """The open streams, and their limits."""

    projection: Projection
    timing: DashboardTiming
    _open: Counter[str] = field(default_factory=Counter)

    async def serve(
        self,
        request: web.Request,
        viewer: Viewer,
        visible: GetVisible,
        seconds: float | None = None,
    ) -> web.StreamResponse:
        """Send changes until the client goes, is too slow, or loses its rights.

        At most for `seconds`: the client then connects again.
        """
        if self._open.total() >= MAX_STREAMS or self._open[viewer.user] >= MAX_VIEWER_STREAMS:
            raise RequestRefused(429, "Too many pages are open: close some of them.")
        # Counted before anything is awaited: streams may open at once.
        self._open[viewer.user] += 1
        try:
            await visible()
            return await self._send_changes(request, visible, seconds)
        finally:
            self._open[viewer.user] -= 1
            self._open += Counter()

    async def _send_changes(
        self, request: web.Request, visible: GetVisible, seconds: float | None
    ) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_type = "text/event-stream"
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Accel-Buffering"] = "no"
        await response.prepare(request)
        log = self.projection.changes
        # A page that replaces a lost connection cannot send the header.
        last_id = request.headers.get("Last-Event-ID") or request.query.get("after", "")
        revision = log.resume(last_id[:40]) if last_id else log.revision
        await self._write(response, "retry: 1000\n\n")
        ends = time.monotonic() + seconds if seconds else math.inf
        try:
            if revision is None:
                revision = await self._send(response, None, await visible())
            while time.monotonic() < ends:
                if await self._has_changed(revision):
                    revision = await self._send(response, revision, await visible())
                    await asyncio.sleep(self.timing.coalesce)
                else:
                    await visible()
                    await self._write(response, ": alive\n\n")
        except (KubeError, Unauthenticated, ConnectionError, TimeoutError):
            # The client is gone or too slow, or its token has expired: it connects again.
            abort(request)
        return response

    async def _has_changed(self, revision: int) -> bool:
        """Wait for a change; return False after a quiet time."""
        try:
            async with asyncio.timeout(self.timing.heartbeat):
                await self.projection.changes.wait(revision)
        except TimeoutError:
            return False
        return True

    async def _send(
        self, response: web.StreamResponse, revision: int | None, visible: Visible
    ) -> int:
        """Send what changed after a revision, None for all; return the revision of the message."""
        log = self.projection.changes
        sent = log.revision
        message = change_message(visible, sent, None if revision is None else log.since(revision))
        if message is not None:
            data = encode_shown(message).decode()
            await self._write(response, f"id: {log.event_id()}\nevent: change\ndata: {data}\n\n")
        return sent

    async def _write(self, response: web.StreamResponse, text: str) -> None:
        async with asyncio.timeout(self.timing.slow_client):
            await response.write(text.encode())


def change_message(
    visible: Visible, revision: int, changes: list[tuple[str, ObjectKey]] | None
) -> ChangeMessage | None:
    """Return the message about changes, None for an unknown number; None if none is visible."""
    nodes = count(visible.nodes())
    shown = [(kind, key) for kind, key in changes or () if visible.has(kind, key.namespace)]
    if changes is None or len(shown) > MAX_CHANGED:
        return ChangeMessage(revision=revision, nodes=nodes, reload=True)
    if not shown:
        return None
    lines = [(kind, key, line_of(visible.projection, kind, key)) for kind, key in shown]
    return ChangeMessage(
        revision=revision,
        nodes=nodes,
        changed=tuple(line for _, _, line in lines if line),
        deleted=tuple(f"{kind}/{key}" for kind, key, line in lines if line is None),
    )


def line_of(projection: Projection, kind: str, key: ObjectKey) -> SummaryView | None:
    """Return a hub, form or node in one line; None if it does not exist."""
    match kind:
        case "Hub":
            hub = projection.hub(key)
            return hub_line(hub) if hub else None
        case "Form":
            form = projection.form(key)
            return form_line(form) if form else None
    node = projection.node(key)
    return node_line(node) if node else None

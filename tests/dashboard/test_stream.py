"""The live stream: changes in the rights of the viewer, resume, and reload."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest

from dashboard.conftest import Browser
from lynq.dashboard.options import MAX_VIEWER_STREAMS
from operated.environment import NODES, Environment


class Stream:
    """Reads server-sent events."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.last_id = ""

    async def message(self, seconds: float = 10.0) -> dict[str, Any]:
        """Return the data of the next event."""
        async with asyncio.timeout(seconds):
            while True:
                line = (await self._response.content.readline()).decode().rstrip("\n")
                name, _, value = line.partition(": ")
                if name == "id":
                    self.last_id = value
                elif name == "data":
                    data: dict[str, Any] = json.loads(value)
                    return data

    async def until_changed(self, name: str) -> dict[str, Any]:
        """Return the first message about an object."""
        while True:
            message = await self.message()
            if any(each["name"] == name for each in message["changed"]):
                return message


@asynccontextmanager
async def opened(browser: Browser, **headers: str) -> AsyncIterator[Stream]:
    url = f"{browser.url}/api/v2/stream"
    async with browser.http.get(url, headers=headers) as response:
        assert response.status == 200
        assert response.headers["Content-Type"] == "text/event-stream"
        yield Stream(response)
        response.close()


async def annotate(env: Environment, value: str) -> None:
    # A pause shows in the summary, so that it is a change.
    patch = {"metadata": {"annotations": {"lynq.sh/paused": value or None}}}
    await env.patch(NODES, "acme-web", patch)


async def test_stream_sends_changes_and_resumes_after_the_last_message(
    viewer: Browser, env: Environment
) -> None:
    async with opened(viewer) as stream:
        await annotate(env, "true")
        message = await stream.until_changed("acme-web")
        assert message["nodes"]["total"] == 2
        assert {each["namespace"] for each in message["changed"]} == {env.namespace}
    # What changes while the browser is not connected is sent when it is again.
    await annotate(env, "")
    async with opened(viewer, **{"Last-Event-ID": stream.last_id}) as resumed:
        await resumed.until_changed("acme-web")
        assert resumed.last_id.partition("-")[0] == stream.last_id.partition("-")[0]


async def test_unknown_last_message_reloads_the_page(viewer: Browser) -> None:
    async with opened(viewer, **{"Last-Event-ID": "another-1"}) as stream:
        assert (await stream.message())["reload"] is True


async def test_stream_of_a_stranger_has_no_foreign_change(
    stranger: Browser, viewer: Browser, env: Environment
) -> None:
    async with opened(stranger) as quiet, opened(viewer) as loud:
        for value in ("true", ""):
            await annotate(env, value)
            await loud.until_changed("acme-web")
        with pytest.raises(TimeoutError):
            await quiet.message(seconds=1.0)


async def test_number_of_streams_of_a_viewer_is_limited(viewer: Browser) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(MAX_VIEWER_STREAMS):
            await stack.enter_async_context(opened(viewer))
        assert (await viewer.get("/api/v2/stream")).status == 429

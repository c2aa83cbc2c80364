"""The door between one process of the operator and the API server: what passes is written down."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web

from http_server import serve_http
from lynq.kube import load_config
from lynq.kube.session import ssl_context_for

_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_HOPS = frozenset({"connection", "host", "keep-alive", "transfer-encoding", "content-length"})


@dataclass(frozen=True, slots=True)
class RecordedWrite:
    """A write that the API server was asked for."""

    at: float
    method: str
    path: str
    status: int

    @property
    def is_about_leases(self) -> bool:
        return "/leases" in self.path


@dataclass(slots=True)
class RecordingProxy:
    """Forwards everything, and remembers the writes."""

    target: str
    session: aiohttp.ClientSession
    address: str = ""
    writes: list[RecordedWrite] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    """Paths."""
    waiting: int = 0
    """How many requests stand before the shut door."""
    _open: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._open.set()

    def shut(self) -> None:
        """Let nothing through from now on, and say nothing."""
        self._open.clear()

    def kubeconfig(self, folder: Path) -> Path:
        """Write what a client needs to come in by this door."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "door", "cluster": {"server": self.address}}],
            "users": [{"name": "door", "user": {}}],
            "contexts": [{"name": "door", "context": {"cluster": "door", "user": "door"}}],
            "current-context": "door",
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def work(self) -> list[RecordedWrite]:
        """Return the writes that changed anything but leases and events."""
        return [
            write
            for write in self.writes
            if not write.is_about_leases and "/events" not in write.path
        ]

    def asked(self, end: str) -> bool:
        """Return whether anything was read whose path ends so."""
        return any(path.endswith(end) for path in self.reads)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        self.waiting += 1
        await self._open.wait()
        self.waiting -= 1
        headers = {key: to for key, to in request.headers.items() if key.lower() not in _HOPS}
        async with self.session.request(
            request.method, self.target + str(request.rel_url), data=body or None, headers=headers
        ) as answer:
            if request.method in _WRITES:
                moment = time.monotonic()
                self.writes.append(
                    RecordedWrite(moment, request.method, request.path, answer.status)
                )
            else:
                self.reads.add(request.path)
            passed = {key: to for key, to in answer.headers.items() if key.lower() not in _HOPS}
            response = web.StreamResponse(status=answer.status, headers=passed)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            return response

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self.handle(request)
        except (aiohttp.ClientError, ConnectionError):
            # Who stood on either side is gone.
            return web.Response(status=502)


@asynccontextmanager
async def recording_proxy(kubeconfig: Path) -> AsyncIterator[RecordingProxy]:
    """Open a door to the API server of a kubeconfig."""
    config = load_config(kubeconfig=kubeconfig)
    credential = await config.credentials.current()
    connector = aiohttp.TCPConnector(ssl=ssl_context_for(config, credential.certificate), limit=0)
    patience = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=connector, timeout=patience, auto_decompress=False
    ) as session:
        door = RecordingProxy(config.server.rstrip("/"), session)
        async with serve_http(door) as door.address:
            yield door
        # Connections close in a callback of the loop.
        await asyncio.sleep(0)

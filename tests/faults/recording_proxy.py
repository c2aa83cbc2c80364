"""An HTTP proxy between an operator process and the API server that records requests."""

import asyncio
import json
import ssl
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
_HOP_BY_HOP = frozenset({"connection", "host", "keep-alive", "transfer-encoding", "content-length"})


@dataclass(frozen=True, slots=True)
class RecordedWrite:
    """A write request and the status of its response."""

    at: float
    method: str
    path: str
    status: int

    @property
    def is_lease(self) -> bool:
        return "/leases" in self.path


@dataclass(slots=True)
class RecordingProxy:
    """Forwards all requests and records them."""

    target: str
    session: aiohttp.ClientSession
    address: str = ""
    writes: list[RecordedWrite] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    """Paths of all read requests."""
    waiting: int = 0
    """The number of requests held back while blocked."""
    _unblocked: asyncio.Event = field(default_factory=asyncio.Event)
    _silence: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the watches that are open now are silenced."""
    _connections: set[asyncio.Transport] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._unblocked.set()

    def block(self) -> None:
        """Hold back all further requests without a response."""
        self._unblocked.clear()

    def unblock(self) -> None:
        """Forward all requests again."""
        self._unblocked.set()

    def silence_watches(self) -> None:
        """Swallow all further bytes of the open watches; their connections stay open."""
        self._silence.set()
        self._silence = asyncio.Event()

    def disconnect(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.abort()
        self._connections.clear()

    def kubeconfig(self, folder: Path, authority: Path | None = None) -> Path:
        """Write a kubeconfig that points to this proxy, and to the file of its CA."""
        cluster = {"server": self.address}
        if authority:
            cluster["certificate-authority"] = str(authority)
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "proxy", "cluster": cluster}],
            "users": [{"name": "proxy", "user": {}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
            "current-context": "proxy",
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def resource_writes(self) -> list[RecordedWrite]:
        """Return all writes except those of leases and events."""
        return [
            write for write in self.writes if not write.is_lease and "/events" not in write.path
        ]

    def has_read(self, suffix: str) -> bool:
        """Return whether a path with this suffix was read."""
        return any(path.endswith(suffix) for path in self.reads)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.transport:
            self._connections.add(request.transport)
        silence, is_watch = self._silence, "watch" in request.query
        body = await request.read()
        self.waiting += 1
        await self._unblocked.wait()
        self.waiting -= 1
        sent_at = time.monotonic()
        headers = {
            key: value for key, value in request.headers.items() if key.lower() not in _HOP_BY_HOP
        }
        async with self.session.request(
            request.method, self.target + str(request.rel_url), data=body or None, headers=headers
        ) as upstream:
            if request.method in _WRITES:
                self.writes.append(
                    RecordedWrite(sent_at, request.method, request.path, upstream.status)
                )
            else:
                self.reads.add(request.path)
            passed = {
                key: value
                for key, value in upstream.headers.items()
                if key.lower() not in _HOP_BY_HOP
            }
            response = web.StreamResponse(status=upstream.status, headers=passed)
            await response.prepare(request)
            async for chunk in upstream.content.iter_any():
                if not (is_watch and silence.is_set()):
                    await response.write(chunk)
            return response

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self.handle(request)
        except (aiohttp.ClientError, ConnectionError):
            # The client or the API server closed the connection.
            return web.Response(status=502)


@asynccontextmanager
async def recording_proxy(
    kubeconfig: Path, tls: ssl.SSLContext | None = None
) -> AsyncIterator[RecordingProxy]:
    """Run a proxy to the API server of a kubeconfig, over HTTPS if it has a context for it."""
    config = load_config(kubeconfig=kubeconfig)
    credential = await config.credentials.current()
    connector = aiohttp.TCPConnector(ssl=ssl_context_for(config, credential.certificate), limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, auto_decompress=False
    ) as session:
        proxy = RecordingProxy(config.server.rstrip("/"), session)
        async with serve_http(proxy, tls) as proxy.address:
            yield proxy
        # Connections are closed in a callback of the event loop.
        await asyncio.sleep(0)

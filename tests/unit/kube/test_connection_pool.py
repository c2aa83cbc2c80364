import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from lynq.kube import Client, ClientOptions, ClusterConfig, Impersonation, errors
from lynq.kube.connection import Connection, ConnectionLost, Exchange
from lynq.kube.connection_pool import CannotConnect, ConnectionPool
from lynq.kube.credentials import Credential, StaticCredentials
from waiting import eventually

CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
GET = Exchange(b"GET / HTTP/1.1\r\nHost: k8s\r\n\r\n", max_body=1000)
Respond = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


def response(body: bytes, *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", body]
    return b"\r\n".join(lines)


@dataclass
class Server:
    """A server on loopback that records requests and connections."""

    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def targets(self) -> list[bytes]:
        return [head.split(b" ")[1] for head in self.heads]


@asynccontextmanager
async def serving(respond: Respond) -> AsyncIterator[Server]:
    server = Server()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.writers.append(writer)
        try:
            while True:
                server.heads.append(await reader.readuntil(b"\r\n\r\n"))
                await respond(server.heads[-1], writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield server


async def echo(head: bytes, writer: asyncio.StreamWriter) -> None:
    """Respond with the path of the request."""
    writer.write(response(head.split(b" ")[1]))


@asynccontextmanager
async def pool_of(url: str, *, idle_seconds: float = 15.0) -> AsyncIterator[ConnectionPool]:
    pool = ConnectionPool(url, connect_timeout=2, idle_seconds=idle_seconds)
    try:
        yield pool
    finally:
        await pool.close()


async def fetch(pool: ConnectionPool) -> Connection:
    connection = await pool.acquire(CONTEXT)
    await connection.send(GET)
    pool.release(connection)
    return connection


async def test_idle_connection_is_used_again() -> None:
    async with serving(echo) as server, pool_of(server.url) as pool:
        assert await fetch(pool) is await fetch(pool)
        assert len(server.writers) == 1


async def test_connection_of_another_tls_context_is_not_used_again() -> None:
    async with serving(echo) as server, pool_of(server.url) as pool:
        await fetch(pool)
        rotated = await pool.acquire(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        assert len(server.writers) == 2
        rotated.abort()


async def test_connection_that_the_server_ends_is_not_used_again() -> None:
    async def respond(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(response(b"", b"Connection: close"))

    async with serving(respond) as server, pool_of(server.url) as pool:
        assert await fetch(pool) is not await fetch(pool)


async def test_connection_is_closed_after_idle_seconds() -> None:
    async with serving(echo) as server, pool_of(server.url, idle_seconds=0.05) as pool:
        first = await fetch(pool)
        await eventually(lambda: first.is_closed and not pool.open_sockets)
        await fetch(pool)
        assert len(server.writers) == 2


async def test_idle_connection_with_unexpected_bytes_is_closed() -> None:
    async with serving(echo) as server, pool_of(server.url) as pool:
        first = await fetch(pool)
        server.writers[0].write(response(b"of no request"))
        await eventually(lambda: first.is_closed)
        assert await fetch(pool) is not first


async def test_timeout_of_a_request_ends_with_its_response() -> None:
    """The next request on the same connection has a timeout of its own, and both are slow."""

    async def respond(head: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(1 if b"GET /slow " in head else 0)
        await echo(head, writer)

    options = ClientOptions(timeout=1.8, attempts=1)
    async with (
        serving(respond) as server,
        Client.connect(ClusterConfig(server.url), options=options) as client,
    ):
        await client.raw("/quick")
        for _ in range(2):
            assert await client.raw("/slow") == b"/slow"
        assert len(server.writers) == 1


async def test_response_that_is_slow_beside_the_quickest_makes_the_client_busy() -> None:
    delay = 0.0

    async def respond(head: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(delay)
        await echo(head, writer)

    async with (
        serving(respond) as server,
        Client.connect(ClusterConfig(server.url)) as client,
    ):
        started = asyncio.get_running_loop().time()
        await client.raw("/quick")
        assert not client.is_busy
        # On a loaded machine, the quickest takes long, too.
        delay = 0.1 + 4 * (asyncio.get_running_loop().time() - started)
        await client.raw("/slow")
        assert client.is_busy


async def test_token_of_one_request_is_not_sent_with_another() -> None:
    async with (
        serving(echo) as server,
        Client.connect(ClusterConfig(server.url)) as client,
    ):
        for token in ("first", "second"):
            await client.authenticated_by(token).raw("/")
        await client.raw("/")
        tokens = [b"first" in head for head in server.heads]
        assert (tokens, b"Authorization" in server.heads[-1]) == ([True, False, False], False)


async def test_response_of_a_cancelled_request_is_given_to_no_other() -> None:
    release = asyncio.Event()

    async def respond(head: bytes, writer: asyncio.StreamWriter) -> None:
        if b"GET /slow " in head:
            await release.wait()
        await echo(head, writer)

    async with (
        serving(respond) as server,
        Client.connect(ClusterConfig(server.url)) as client,
    ):
        await client.raw("/first")
        slow = asyncio.create_task(client.raw("/slow"))
        await eventually(lambda: b"/slow" in server.targets)
        slow.cancel()
        await asyncio.wait([slow])
        release.set()
        assert await client.raw("/next") == b"/next"
        assert len(server.writers) == 2


async def test_connection_that_ends_inside_a_response_fails_the_request() -> None:
    async def respond(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        writer.close()

    async with serving(respond) as server, pool_of(server.url) as pool:
        connection = await pool.acquire(CONTEXT)
        with pytest.raises(ConnectionLost, match="closed"):
            await connection.send(GET)


async def test_unread_stream_stops_the_server() -> None:
    sent = 0

    async def respond(_: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"x" * 65536
        while sent < 1000 * len(chunk):
            writer.write(b"10000\r\n" + chunk + b"\r\n")
            await writer.drain()
            sent += len(chunk)
        writer.write(b"0\r\n\r\n")

    async with serving(respond) as server, pool_of(server.url) as pool:
        connection = await pool.acquire(CONTEXT)
        await connection.send(Exchange(GET.request, stream=True))
        await eventually(lambda: sent > 0)
        stalled = -1
        while stalled != sent:
            stalled = sent
            await asyncio.sleep(0.2)
        assert sent < 32 * 1024 * 1024
        received = 0
        while data := await connection.read():
            received += len(data)
        assert received == sent == 1000 * 65536


async def test_next_address_is_tried_if_one_refuses() -> None:
    # The name has an IPv6 address on most machines; the server listens on IPv4 only.
    async with serving(echo) as server, pool_of(f"http://localhost:{server.port}") as pool:
        await fetch(pool)


async def test_address_that_refuses_is_named() -> None:
    async with serving(echo) as server:
        url = server.url
    async with pool_of(url) as pool:
        with pytest.raises(CannotConnect, match=f"cannot connect to 127.0.0.1:{server.port}: "):
            await pool.acquire(CONTEXT)


async def test_proxy_forwards_plain_requests() -> None:
    async with serving(echo) as server:
        config = ClusterConfig(
            "http://k8s.invalid", proxy=f"http://me:p%40ss@127.0.0.1:{server.port}"
        )
        async with Client.connect(config) as client:
            await client.raw("/version")
    assert server.targets == [b"http://k8s.invalid/version"]
    assert b"\r\nHost: k8s.invalid\r\n" in server.heads[0]
    assert b"\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n" in server.heads[0]


async def test_proxy_that_rejects_with_a_page_is_named() -> None:
    async def respond(_: bytes, writer: asyncio.StreamWriter) -> None:
        page = b"<html>who are you?</html>"
        writer.write(b"HTTP/1.1 407 No\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page))

    async with serving(respond) as server:
        config = ClusterConfig("https://k8s.invalid", proxy=server.url)
        async with Client.connect(config, options=ClientOptions(attempts=1)) as client:
            with pytest.raises(errors.ConnectionFailed, match="the proxy responded 407") as caught:
                await client.raw("/version")
    assert not caught.value.sent


async def test_user_of_the_server_url_is_sent_unless_there_is_a_token() -> None:
    async with serving(echo) as server:
        url = server.url.replace("http://", "http://jane:pass@")
        token = StaticCredentials(Credential("abc"))
        for config in (ClusterConfig(url), ClusterConfig(url, credentials=token)):
            async with Client.connect(config) as client:
                await client.raw("/version")
    host = server.url.removeprefix("http://").encode()
    assert all(b"\r\nHost: " + host + b"\r\n" in head for head in server.heads)
    assert b"\r\nAuthorization: Basic amFuZTpwYXNz\r\n" in server.heads[0]
    assert b"\r\nAuthorization: Bearer abc\r\n" in server.heads[1]
    assert b"Basic" not in server.heads[1]


async def test_connection_is_not_used_again_before_its_request_is_sent() -> None:
    async def respond(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(response(b"too long"))
        await asyncio.sleep(60)  # the rest of the request is not read

    async with serving(respond) as server, pool_of(server.url) as pool:
        connection = await pool.acquire(CONTEXT)
        request = b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 99_999_999
        await connection.send(Exchange(request, max_body=1000))
        pool.release(connection)
        assert connection.is_closed


async def test_path_of_the_server_precedes_that_of_the_request() -> None:
    async with (
        serving(echo) as server,
        Client.connect(ClusterConfig(f"{server.url}/k8s/clusters/c-1/")) as client,
    ):
        assert await client.raw("/version") == b"/k8s/clusters/c-1/version"


@pytest.mark.parametrize("user", ["jane\r\nX-Remote-User: admin", "jane\nx: y", "jane\r"])
async def test_header_value_cannot_begin_another_line(user: str) -> None:
    async with serving(echo) as server:
        config = ClusterConfig(server.url, impersonate=Impersonation(user))
        async with Client.connect(config, options=ClientOptions(attempts=1)) as client:
            with pytest.raises(errors.InvalidObject):
                await client.raw("/version")
    assert server.heads == []


async def test_impersonation_replaces_that_of_the_kubeconfig() -> None:
    admin = Impersonation("admin", uid="7", groups=("system:masters",), extra=(("scopes", "all"),))
    async with serving(echo) as server:
        config = ClusterConfig(server.url, impersonate=admin)
        async with Client.connect(config) as client:
            await client.acting_as("bob", ()).raw("/version")
            await client.acting_as("eve", ("team",)).raw("/version")
            await client.raw("/version")
    impersonations = [
        sorted(line for line in head.split(b"\r\n") if line.lower().startswith(b"impersonate-"))
        for head in server.heads
    ]
    assert impersonations == [
        [b"Impersonate-User: bob"],
        [b"Impersonate-Group: team", b"Impersonate-User: eve"],
        [
            b"Impersonate-Extra-scopes: all",
            b"Impersonate-Group: system:masters",
            b"Impersonate-Uid: 7",
            b"Impersonate-User: admin",
        ],
    ]


@pytest.mark.parametrize("path", ["/version HTTP/1.1\r\nX: y", "/a b"])
async def test_path_cannot_end_the_request_line(path: str) -> None:
    async with serving(echo) as server, Client.connect(ClusterConfig(server.url)) as client:
        with pytest.raises(errors.InvalidObject):
            await client.raw(path)
    assert server.heads == []

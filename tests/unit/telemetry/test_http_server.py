"""The HTTP server: what its log has, and the bodies that it takes."""

import asyncio
import gzip
import logging

import aiohttp
import pytest
from aiohttp import web

from lynq.telemetry import Address
from lynq.telemetry.http_server import Listener, app_runner


async def send(listener: Listener, request: bytes) -> bytes:
    address = listener.address
    reader, writer = await asyncio.open_connection(address.host, address.port)
    writer.write(request)
    await writer.drain()
    answer = await reader.read()
    writer.close()
    return answer


async def fail(_: web.Request) -> web.Response:
    raise ValueError("a bug")


LONG = b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"
MALFORMED = b"GET / HTTP/1.1\r\nno header\r\n\r\n"
VALID = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status", "lines"), [(LONG, b"400", 0), (MALFORMED, b"400", 0), (VALID, b"500", 1)]
)
async def test_only_errors_of_the_server_are_logged(
    sent: bytes, status: bytes, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    listener = Listener("test", Address("127.0.0.1", 0), {"/": fail})
    await listener.start()
    try:
        answer = await send(listener, sent)
    finally:
        await listener.stop()
    assert status in answer.split(b"\r\n")[0]
    assert len(caplog.records) == lines


async def test_compressed_body_is_not_expanded() -> None:
    """A few bytes of a stranger would else cost the event loop a thousand times as many."""
    bodies = []

    async def receive(request: web.Request) -> web.Response:
        bodies.append(await request.read())
        return web.Response()

    app = web.Application(client_max_size=1000)
    app.router.add_post("/", receive)
    runner = app_runner(app)
    await runner.setup()
    sent = gzip.compress(b"0" * 100_000)
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        async with (
            aiohttp.ClientSession() as http,
            http.post(
                f"http://{host}:{port}/", data=sent, headers={"Content-Encoding": "gzip"}
            ) as response,
        ):
            assert response.status == 200
    finally:
        await runner.cleanup()
    assert bodies == [sent]

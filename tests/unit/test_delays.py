"""The proxies of `make races`."""

import asyncio

import pytest

from delays import SEED, delayed


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.readline())
    writer.close()


async def test_without_a_seed_the_server_is_reached_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(SEED, raising=False)
    with delayed("127.0.0.1", 12345) as port:
        assert port == 12345


async def test_proxy_forwards_both_directions_and_their_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SEED, "1")
    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        address = server.sockets[0].getsockname()
        with delayed(*address) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello\n")
            assert await reader.read() == b"hello\n"
            writer.close()
            await writer.wait_closed()


async def test_connection_to_a_stopped_server_ends(
    monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv(SEED, "1")
    with delayed("127.0.0.1", unused_tcp_port) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()

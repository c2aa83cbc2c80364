"""PostgreSQL servers that ask for the password without a verified certificate get none."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.sources import PostgreSQLSettings, errors
from lynq.sources.postgresql.login import LoginFilter
from lynq.sources.postgresql.source import connect

CLEAR_TEXT = b"R\0\0\0\x08\0\0\0\x03"
MD5 = b"R\0\0\0\x0c\0\0\0\x05salt"
OK = b"R\0\0\0\x08\0\0\0\0"
READY = b"Z\0\0\0\x05I"
NOTICE = b"N\0\0\0\x05\0"
LONG = b"N\x7f\xff\xff\xff" + b"x" * 100
SHORT = b"R\0\0\0\x04"
PASSWORD = "hunter2"


@asynccontextmanager
async def fake_server(*answers: bytes) -> AsyncIterator[tuple[int, bytearray]]:
    """Yield the port of a server that answers the startup message, and what it is told then."""
    received = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(4), "big")
        await reader.readexactly(size - 4)
        for answer in answers:
            writer.write(answer)
            await writer.drain()
        received.extend(await reader.read(-1))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], received


@pytest.mark.parametrize(
    "answers",
    [
        (CLEAR_TEXT,),
        (MD5,),
        (CLEAR_TEXT[:3], CLEAR_TEXT[3:]),
        (NOTICE + CLEAR_TEXT,),
        (OK + CLEAR_TEXT,),
        (SHORT + CLEAR_TEXT,),
        (LONG + READY + CLEAR_TEXT,),
    ],
)
async def test_server_that_asks_for_the_password_gets_none(answers: tuple[bytes, ...]) -> None:
    async with fake_server(*answers) as (port, received):
        settings = PostgreSQLSettings(
            host="127.0.0.1", port=port, username="u", password=PASSWORD, database="d"
        )
        with pytest.raises(errors.LoginFailed, match="verify-full"):
            await connect(settings)
    assert PASSWORD.encode() not in received
    assert b"p" not in received


@given(st.lists(st.sampled_from([OK, NOTICE]), max_size=4), st.data())
def test_messages_pass_unchanged_in_any_pieces(messages: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(messages) + READY + b"anything" + CLEAR_TEXT
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    login = LoginFilter()
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert b"".join(map(login.feed, pieces)) == stream


@given(st.binary(max_size=40), st.lists(st.integers(0, 60), max_size=5))
def test_no_request_for_the_password_passes(noise: bytes, cuts: list[int]) -> None:
    stream = NOTICE + CLEAR_TEXT + noise
    login = LoginFilter()
    edges = sorted(min(cut, len(stream)) for cut in cuts)
    pieces = [stream[a:b] for a, b in zip([0, *edges], [*edges, len(stream)], strict=True)]
    passed = b"".join(map(login.feed, pieces))
    assert passed.startswith(NOTICE + b"E")
    assert CLEAR_TEXT not in passed

"""The connection pool: bounded, reusing connections, never one on which anything failed."""

import asyncio

import pytest

from lynq.sources import Endpoint
from lynq.sources.errors import Interrupted, SourceConnectionFailed, TooManyConnections
from lynq.sources.pool import Pool

ENDPOINT = Endpoint(engine="test", database="d")


class FakeConnection:
    """A connection that answers until it is dead."""

    def __init__(self) -> None:
        self.dead = False
        self.closed = 0

    async def begin(self) -> None:
        if self.dead:
            raise Interrupted("dead", endpoint=ENDPOINT)

    def close(self) -> None:
        self.closed += 1


class FakeServer:
    """Opens connections and records them."""

    def __init__(self) -> None:
        self.connections: list[FakeConnection] = []
        self.refusing = False

    async def connect(self) -> FakeConnection:
        if self.refusing:
            raise SourceConnectionFailed("refused", endpoint=ENDPOINT)
        self.connections.append(FakeConnection())
        return self.connections[-1]

    def pool(self, *, size: int = 2, lifetime: float = 60.0) -> Pool[FakeConnection]:
        return Pool(ENDPOINT, self.connect, size=size, lifetime=lifetime, acquire_timeout=0.05)

    @property
    def closed(self) -> list[int]:
        return [connection.closed for connection in self.connections]


async def test_connection_is_reused() -> None:
    server = FakeServer()
    pool = server.pool()
    for _ in range(3):
        async with pool.acquire():
            pass
    assert len(server.connections) == 1
    assert server.closed == [0]


async def test_pool_never_exceeds_its_size() -> None:
    server = FakeServer()
    pool = server.pool(size=2)
    async with pool.acquire() as one, pool.acquire() as other:
        assert one is not other
        with pytest.raises(TooManyConnections, match="all 2 connections"):
            async with pool.acquire():
                pass
    async with pool.acquire():
        pass
    assert len(server.connections) == 2


@pytest.mark.parametrize("failure", [ValueError, asyncio.CancelledError, GeneratorExit])
async def test_connection_with_any_failure_is_not_reused(failure: type[BaseException]) -> None:
    server = FakeServer()
    pool = server.pool(size=1)
    with pytest.raises(failure):
        async with pool.acquire():
            raise failure
    async with pool.acquire():
        pass
    assert server.closed == [1, 0]


async def test_dead_idle_connection_is_replaced() -> None:
    server = FakeServer()
    pool = server.pool()
    async with pool.acquire(), pool.acquire():
        pass
    for connection in server.connections:
        connection.dead = True
    async with pool.acquire() as connection:
        assert not connection.dead
    assert server.closed == [1, 1, 0]


async def test_expired_connection_is_replaced() -> None:
    server = FakeServer()
    pool = server.pool(lifetime=-1.0)
    for _ in range(2):
        async with pool.acquire():
            pass
    assert server.closed == [1, 1]


async def test_failed_connect_releases_its_slot() -> None:
    server = FakeServer()
    pool = server.pool(size=1)
    server.refusing = True
    for _ in range(3):
        with pytest.raises(SourceConnectionFailed):
            async with pool.acquire():
                pass
    server.refusing = False
    async with pool.acquire():
        pass


async def test_close_closes_connections_in_use_and_each_once() -> None:
    server = FakeServer()
    pool = server.pool()
    async with pool.acquire(), pool.acquire():
        pass
    async with pool.acquire():
        pool.close()
        assert server.closed == [1, 1]
    with pytest.raises(SourceConnectionFailed, match="closed"):
        async with pool.acquire():
            pass
    assert server.closed == [1, 1]

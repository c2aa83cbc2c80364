"""The pool: bounded, kept, and never with a connection in it that has seen trouble."""

import asyncio

import pytest

from lynq.sources import Endpoint
from lynq.sources.errors import Interrupted, SourceConnectionFailed, TooManyConnections
from lynq.sources.pool import Pool

PLACE = Endpoint(engine="test", database="d")


class Line:
    """A connection that answers until it is cut."""

    def __init__(self) -> None:
        self.cut = False
        self.discarded = 0


class Exchange:
    """Makes lines, and remembers them."""

    def __init__(self) -> None:
        self.made: list[Line] = []
        self.refusing = False

    async def connect(self) -> Line:
        if self.refusing:
            raise SourceConnectionFailed("no", place=PLACE)
        self.made.append(Line())
        return self.made[-1]

    async def greet(self, line: Line) -> None:
        if line.cut:
            raise Interrupted("cut", place=PLACE)

    def discard(self, line: Line) -> None:
        line.discarded += 1

    def pool(self, *, size: int = 2, lifetime: float = 60.0) -> Pool[Line]:
        return Pool(
            PLACE,
            connect=self.connect,
            greet=self.greet,
            discard=self.discard,
            size=size,
            lifetime=lifetime,
            patience=0.05,
        )


async def test_a_connection_is_lent_again() -> None:
    exchange = Exchange()
    pool = exchange.pool()
    for _ in range(3):
        async with pool.lend():
            pass
    assert len(exchange.made) == 1
    assert exchange.made[0].discarded == 0


async def test_there_are_never_more_than_the_size() -> None:
    exchange = Exchange()
    pool = exchange.pool(size=2)
    async with pool.lend() as one, pool.lend() as other:
        assert one is not other
        with pytest.raises(TooManyConnections, match="all 2 connections"):
            async with pool.lend():
                pass
    async with pool.lend():
        pass
    assert len(exchange.made) == 2


@pytest.mark.parametrize("trouble", [ValueError, asyncio.CancelledError, GeneratorExit])
async def test_trouble_of_any_kind_ends_a_connection(trouble: type[BaseException]) -> None:
    exchange = Exchange()
    pool = exchange.pool(size=1)
    with pytest.raises(trouble):
        async with pool.lend():
            raise trouble
    async with pool.lend():
        pass
    assert [line.discarded for line in exchange.made] == [1, 0]


async def test_a_connection_that_died_while_idle_is_replaced() -> None:
    exchange = Exchange()
    pool = exchange.pool()
    async with pool.lend(), pool.lend():
        pass
    for line in exchange.made:
        line.cut = True
    async with pool.lend() as line:
        assert not line.cut
    assert [line.discarded for line in exchange.made] == [1, 1, 0]


async def test_a_connection_that_lived_long_enough_is_replaced() -> None:
    exchange = Exchange()
    pool = exchange.pool(lifetime=-1.0)
    for _ in range(2):
        async with pool.lend():
            pass
    assert [line.discarded for line in exchange.made] == [1, 1]


async def test_a_failed_connection_takes_no_place() -> None:
    exchange = Exchange()
    pool = exchange.pool(size=1)
    exchange.refusing = True
    for _ in range(3):
        with pytest.raises(SourceConnectionFailed):
            async with pool.lend():
                pass
    exchange.refusing = False
    async with pool.lend():
        pass


async def test_closing_ends_lent_connections_too_and_each_once() -> None:
    exchange = Exchange()
    pool = exchange.pool()
    async with pool.lend(), pool.lend():
        pass
    async with pool.lend():
        pool.close()
        assert [line.discarded for line in exchange.made] == [1, 1]
    with pytest.raises(SourceConnectionFailed, match="closed"):
        async with pool.lend():
            pass
    assert [line.discarded for line in exchange.made] == [1, 1]

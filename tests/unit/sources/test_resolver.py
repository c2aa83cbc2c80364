"""Lookups of host names: one thread per host, bounded, and never waited for."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lynq.sources.resolver import Resolver, TooManyLookups


class SilentNameServer:
    """A `getaddrinfo` that blocks for names of the zone `silent` until it is released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.lookups: list[str] = []

    def getaddrinfo(self, host: str, _: object, **options: Any) -> list[Any]:
        if options["flags"] & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "a name")
        self.lookups.append(host)
        if host.endswith(".silent"):
            self.released.wait()
        if host == "unknown":
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2001:db8::1", 0, 0, 0)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 0)),
        ]


@pytest.fixture
def name_server() -> Iterator[SilentNameServer]:
    name_server = SilentNameServer()
    yield name_server
    name_server.released.set()


async def lookups_given_up(resolver: Resolver, *hosts: str) -> None:
    async def give_up(host: str) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await resolver.resolve(host, 1)

    await asyncio.gather(*map(give_up, hosts))


async def test_addresses_have_the_port_and_the_order_of_the_system(
    name_server: SilentNameServer,
) -> None:
    addresses = await Resolver(name_server.getaddrinfo).resolve("db", 3306)
    assert [(each.ip, each.socket_address) for each in addresses] == [
        ("2001:db8::1", ("2001:db8::1", 3306, 0, 0)),
        ("192.0.2.7", ("192.0.2.7", 3306)),
    ]


async def test_silent_lookups_hold_up_no_other_host(name_server: SilentNameServer) -> None:
    resolver = Resolver(name_server.getaddrinfo)
    await lookups_given_up(resolver, *(f"db{n}.silent" for n in range(20)))
    async with asyncio.timeout(1):
        assert await resolver.resolve("db", 1)


async def test_host_has_one_lookup_at_a_time(name_server: SilentNameServer) -> None:
    resolver = Resolver(name_server.getaddrinfo)
    await lookups_given_up(resolver, *["db.silent"] * 10)
    assert name_server.lookups == ["db.silent"]
    name_server.released.set()
    assert await resolver.resolve("db.silent", 1)


async def test_lookups_are_bounded_over_all_hosts(name_server: SilentNameServer) -> None:
    resolver = Resolver(name_server.getaddrinfo, max_lookups=2)
    await lookups_given_up(resolver, "a.silent", "b.silent")
    with pytest.raises(TooManyLookups):
        await resolver.resolve("c.silent", 1)


async def test_unknown_host_raises_and_frees_its_place(name_server: SilentNameServer) -> None:
    resolver = Resolver(name_server.getaddrinfo, max_lookups=1)
    for _ in range(2):
        with pytest.raises(socket.gaierror):
            await resolver.resolve("unknown", 1)


@pytest.mark.parametrize("host", ["a" * 64, "a..b", "", "\0"])
async def test_invalid_name_is_unknown(host: str) -> None:
    with pytest.raises(OSError, match=r".*"):
        await Resolver().resolve(host, 1)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_address_needs_no_lookup(host: str) -> None:
    (address,) = await Resolver(max_lookups=0).resolve(host, 5432)
    assert address.ip == host
    assert address.socket_address[:2] == (host, 5432)

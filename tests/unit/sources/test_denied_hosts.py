"""Connections of reads and of push channels to denied hosts fail before a socket is opened."""

import socket
from typing import Any

import pytest

from lynq.api.denied_hosts import NONE_DENIED, DeniedHosts
from lynq.sources import MySQLSettings, network
from lynq.sources.errors import DeniedHost
from lynq.sources.network import connect_within, server_addresses
from lynq.sources.push.thread import open_sockets
from lynq.sources.resolver import Resolver

LINK_LOCAL = ("169.254.169.254", 0)


def settings(host: str, denied: DeniedHosts = NONE_DENIED) -> MySQLSettings:
    return MySQLSettings(host=host, port=3306, username="u", database="d", denied_hosts=denied)


@pytest.fixture
def rebound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that resolves every name to a public and to a link-local address."""

    def getaddrinfo(_host: str, _: object, **options: Any) -> list[Any]:
        if options["flags"] & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "a name")
        addresses = (("192.0.2.7", 0), LINK_LOCAL)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in addresses]

    monkeypatch.setattr(network, "resolve", Resolver(getaddrinfo).resolve)


@pytest.mark.parametrize("host", ["169.254.169.254", "0xa9fea9fe", "2852039166", "::ffff:a9fe:1"])
async def test_link_local_address_is_denied_in_every_notation(host: str) -> None:
    with pytest.raises(DeniedHost, match=r"169\.254\.|::ffff:.*--deny-source-hosts"):
        await server_addresses(settings(host))


@pytest.mark.usefixtures("rebound")
async def test_name_that_resolves_to_a_denied_address_is_denied() -> None:
    with pytest.raises(DeniedHost, match=r"db\.example.*169\.254\.169\.254 is link-local"):
        await server_addresses(settings("db.example"))
    denied = DeniedHosts.parse("192.0.2.0/24")
    with pytest.raises(DeniedHost, match=r"192\.0\.2\.7 is denied .* --deny-source-hosts"):
        await server_addresses(settings("db.example", denied))


@pytest.mark.usefixtures("rebound")
async def test_neither_reads_nor_push_connect_to_a_denied_address() -> None:
    async def connect(*_: object) -> None:
        pytest.fail("connected")

    with pytest.raises(DeniedHost):
        await connect_within(settings("db.example"), connect)
    with pytest.raises(DeniedHost):
        async with open_sockets(settings("db.example"), 1):
            pytest.fail("connected")


async def test_denied_name_is_not_looked_up() -> None:
    with pytest.raises(DeniedHost, match=r"the host db\.internal is denied"):
        await server_addresses(settings("db.internal", DeniedHosts.parse("*.internal")))


async def test_other_addresses_are_connected_to() -> None:
    (address,) = await server_addresses(settings("127.0.0.1"))
    assert address.ip == "127.0.0.1"

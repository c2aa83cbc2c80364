"""The contents of certificates, read from the arguments of template functions."""

import ipaddress
from dataclasses import dataclass
from typing import TypeAlias

from lynq.template.errors import FunctionError
from lynq.template.gofmt.printf import show
from lynq.template.netip import parse_address
from lynq.template.values import byte_view

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The contents of a certificate."""

    name: str
    days: int
    addresses: tuple[Address, ...] = ()
    hosts: tuple[str, ...] = ()
    authority: bool = False


def server_request(name: str, addresses: list[object], hosts: list[object], days: int) -> Request:
    """Return the contents of a server's certificate; raises FunctionError."""
    return Request(
        name=name,
        days=days,
        addresses=tuple(_address(address) for address in addresses),
        hosts=tuple(_host(host) for host in hosts),
    )


def _address(value: object) -> Address:
    if not isinstance(value, str):
        raise FunctionError(f"error parsing ip: {show(value)} is not a string")
    failure = FunctionError(f"error parsing ip: {value}")
    try:
        address = parse_address(byte_view(value))
    except FunctionError:
        raise failure from None
    if address.zone:
        raise failure
    parsed = ipaddress.ip_address(address.packed)
    # Go encodes an IPv4-mapped IPv6 address in four bytes.
    return getattr(parsed, "ipv4_mapped", None) or parsed


def _host(value: object) -> str:
    if not isinstance(value, str):
        raise FunctionError(f"error processing alternate dns name: {show(value)} is not a string")
    return value

"""The hosts that no source may connect to: addresses, networks and host names.

Link-local addresses and the other addresses of metadata services are always denied: no database
answers there. A host name says nothing about its addresses, so the reader of a source checks every
address that the name resolves to, after the lookup. An IPv6 address that leads to an IPv4 address
is denied with it.

Loopback is allowed by default. A proxy of a managed database, such as the Cloud SQL Auth Proxy, is
a sidecar that listens there, as databases for tests do. What else listens there in the operator's
pod, the profiler, speaks HTTP, which no driver understands.
"""

from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

FLAG: Final = "--deny-source-hosts"
"""The flag of `lynq run` that denies hosts."""

_LINK_LOCAL: Final = (ip_network("169.254.0.0/16"), ip_network("fe80::/10"))
_METADATA: Final = (
    ip_network("fd00:ec2::/32"),  # AWS
    ip_network("fd20:ce::254/128"),  # Google Cloud
    ip_network("fd00:c1::a9fe:a9fe/128"),  # Oracle Cloud
    ip_network("100.100.100.200/32"),  # Alibaba Cloud
    ip_network("168.63.129.16/32"),  # Azure
)
"""Metadata services of clouds at addresses that are not link-local."""
_NAT64: Final = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
"""Networks of translators, whose last four bytes are the IPv4 address."""
_SAME_MACHINE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not to listen on
"""Addresses that a connection reaches loopback by."""


@dataclass(frozen=True, slots=True)
class DeniedHosts:
    """Denied networks and host names, besides those that are always denied."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    names: tuple[str, ...] = ()
    """Host names in lower case; `*.suffix` is every name below the suffix."""

    @classmethod
    def parse(cls, text: str) -> "DeniedHosts":
        """Parse a comma-separated list; raises ValueError."""
        networks, names = [], []
        for part in filter(None, map(str.strip, text.split(","))):
            try:
                networks.append(ip_network(part, strict=False))
            except ValueError:
                names.append(_parse_name(part))
        return cls(tuple(networks), tuple(names))

    def problem(self, host: str) -> str:
        """Return why a host name or address is denied; "" if it is not."""
        addresses = _addresses(host)
        if not addresses:
            name = _normalize(host)
            is_denied = any(_matches(name, pattern) for pattern in self.names)
            return f"the host {host} is denied by the operator's {FLAG}" if is_denied else ""
        if _is_in(addresses, _LINK_LOCAL):
            return f"the address {host} is link-local, which {FLAG} always denies"
        if _is_in(addresses, _METADATA):
            return f"the address {host} is of a metadata service, which {FLAG} always denies"
        if _is_in(addresses, self.networks):
            return f"the address {host} is denied by the operator's {FLAG}"
        return ""


NONE_DENIED: Final = DeniedHosts()
"""Denies link-local addresses and metadata services only."""


def _addresses(host: str) -> tuple[IPv4Address | IPv6Address, ...]:
    """Return the address and those that it leads to; none for a host name."""
    text = host.strip("[]").partition("%")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return ()
    embedded = _embedded(address) if isinstance(address, IPv6Address) else None
    addresses = (address, embedded) if embedded else (address,)
    return (
        *addresses,
        *(ip_address(_SAME_MACHINE[str(each)]) for each in addresses if str(each) in _SAME_MACHINE),
    )


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that packets to an IPv6 address reach."""
    if mapped := address.ipv4_mapped or address.sixtofour:
        return mapped
    is_translated = any(address in network for network in _NAT64)
    return IPv4Address(address.packed[-4:]) if is_translated else None


def _is_in(
    addresses: tuple[IPv4Address | IPv6Address, ...],
    networks: tuple[IPv4Network | IPv6Network, ...],
) -> bool:
    return any(address in network for address in addresses for network in networks)


def _parse_name(text: str) -> str:
    name = _normalize(text)
    if not name or "*" in name.removeprefix("*.") or "/" in name or ":" in name:
        raise ValueError(f"{text!r} is no network, address, host name or *.suffix")
    return name


def _normalize(name: str) -> str:
    return name.strip().rstrip(".").lower()


def _matches(name: str, pattern: str) -> bool:
    return name.endswith(pattern[1:]) if pattern.startswith("*.") else name == pattern

"""The hosts that no source may connect to: addresses, networks and host names.

Link-local addresses are always denied: the metadata services of clouds answer there, and no
database does. A host name says nothing about its addresses, so the reader of a source checks every
address that the name resolves to, after the lookup.
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


@dataclass(frozen=True, slots=True)
class DeniedHosts:
    """Denied networks and host names, besides link-local addresses."""

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
        address = _address(host)
        if address is None:
            name = _normalize(host)
            is_denied = any(_matches(name, pattern) for pattern in self.names)
            return f"the host {host} is denied by the operator's {FLAG}" if is_denied else ""
        if any(address in network for network in _LINK_LOCAL):
            return f"the address {host} is link-local, which {FLAG} always denies"
        if any(address in network for network in self.networks):
            return f"the address {host} is denied by the operator's {FLAG}"
        return ""


NONE_DENIED: Final = DeniedHosts()
"""Denies link-local addresses only."""


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address; the IPv4 address if it is mapped into IPv6."""
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _parse_name(text: str) -> str:
    name = _normalize(text)
    if not name or "*" in name.removeprefix("*.") or "/" in name or ":" in name:
        raise ValueError(f"{text!r} is no network, address, host name or *.suffix")
    return name


def _normalize(name: str) -> str:
    return name.strip().rstrip(".").lower()


def _matches(name: str, pattern: str) -> bool:
    return name.endswith(pattern[1:]) if pattern.startswith("*.") else name == pattern

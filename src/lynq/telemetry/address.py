"""Addresses to listen on, written as Go operators write them."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

_HIGHEST_PORT: Final = 65535
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens; the host "" is every interface, the port 0 any that is free."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address | None":
        """Read `:8081`, `127.0.0.1:8081` or `[::]:8443`; None for `0`, which is off.

        Raises ValueError.
        """
        if text in ("", "0"):
            return None
        host, colon, port = text.rpartition(":")
        if not colon:
            raise ValueError(f"{text!r} is no address: write :8081, 127.0.0.1:8081, or 0 for off")
        if not (port.isascii() and port.isdecimal() and int(port) <= _HIGHEST_PORT):
            raise ValueError(f"{text!r} is no address: its port is no number up to 65535")
        return cls(_host(text, host), int(port))

    def __str__(self) -> str:
        """Write it as it is read."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _host(text: str, host: str) -> str:
    if host.startswith("[") and host.endswith("]"):
        return str(_version_6(text, host[1:-1]))
    if ":" in host:
        raise ValueError(f"{text!r} is no address: an IPv6 address is written as [::1]:8081")
    if host and not _NAME.fullmatch(host):
        raise ValueError(f"{text!r} is no address: {host!r} is no host")
    return host


def _version_6(text: str, host: str) -> ipaddress.IPv6Address:
    try:
        return ipaddress.IPv6Address(host)
    except ValueError as error:
        raise ValueError(f"{text!r} is no address: {error}") from None

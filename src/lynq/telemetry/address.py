"""The addresses to listen on, in Go's notation."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

_HIGHEST_PORT: Final = 65535
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens; the host "" is all interfaces, the port 0 any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address | None":
        """Parse `:8081`, `127.0.0.1:8081` or `[::]:8443`; return None for `0`, which means off.

        Raises ValueError.
        """
        if text in ("", "0"):
            return None
        host, colon, port = text.rpartition(":")
        if not colon:
            raise ValueError(f"{text!r} is not an address: use :8081, 127.0.0.1:8081, or 0 for off")
        if not (port.isascii() and port.isdecimal() and int(port) <= _HIGHEST_PORT):
            raise ValueError(f"{text!r} is not an address: the port must be a number up to 65535")
        return cls(_host(text, host), int(port))

    def __str__(self) -> str:
        """Return the notation that `parse` accepts."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _host(text: str, host: str) -> str:
    if host.startswith("[") and host.endswith("]"):
        return str(_ipv6(text, host[1:-1]))
    if ":" in host:
        raise ValueError(f"{text!r} is not an address: an IPv6 address is written as [::1]:8081")
    if host and not _NAME.fullmatch(host):
        raise ValueError(f"{text!r} is not an address: {host!r} is not a host")
    return host


def _ipv6(text: str, host: str) -> ipaddress.IPv6Address:
    try:
        return ipaddress.IPv6Address(host)
    except ValueError as error:
        raise ValueError(f"{text!r} is not an address: {error}") from None


def is_loopback(host: str) -> bool:
    """Return whether a server on this host can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class ListenError(OSError):
    """An address cannot be listened on."""

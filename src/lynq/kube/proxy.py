"""The proxy of the environment, by the rules of Go programs.

Python's own rules do not support networks in NO_PROXY (`10.96.0.0/12`); without them, the requests
of a pod to its own API server would be sent to the proxy.
"""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from lynq.kube.errors import ConfigError

_DEFAULT_PORTS = {"https": 443, "http": 80}


def environment_proxy(server: str, environment: Mapping[str, str]) -> str | None:
    """Return the proxy for requests to this server, or None."""
    url = urlsplit(server)
    name = "HTTPS_PROXY" if url.scheme == "https" else "HTTP_PROXY"
    proxy = environment.get(name) or environment.get(name.lower())
    if not proxy:
        return None
    exceptions = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    host = url.hostname or ""
    port = url.port or _DEFAULT_PORTS.get(url.scheme, 0)
    return None if _bypasses(host, port, exceptions) else validated_proxy(proxy, f"${name}")


def validated_proxy(proxy: str, source: str) -> str:
    """Return the full URL of a proxy; raises ConfigError for unsupported schemes."""
    url = proxy if "://" in proxy else f"http://{proxy}"
    if urlsplit(url).scheme not in _DEFAULT_PORTS:
        raise ConfigError(f"{source}: only http:// and https:// proxies are supported")
    return url


def _bypasses(host: str, port: int, exceptions: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    entries = (entry.strip().lower() for entry in exceptions.split(","))
    return any(_matches(entry, host, address, port) for entry in entries if entry)


def _matches(entry: str, host: str, address: IPv4Address | IPv6Address | None, port: int) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return address is not None and _in_network(address, entry)
    if (named := _address(entry.strip("[]"))) is not None:
        return named == address
    entry, _, entry_port = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
    if entry_port and entry_port != str(port):
        return False
    if (named := _address(entry)) is not None:
        return named == address
    # "example.com" includes its subdomains, ".example.com" is only its subdomains.
    entry = entry.removeprefix("*")
    return host == entry or host.endswith(entry if entry.startswith(".") else f".{entry}")


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _in_network(address: IPv4Address | IPv6Address, network: str) -> bool:
    try:
        return address in ip_network(network, strict=False)
    except ValueError:
        return False

"""Decide which Secrets the author of a hub has to be allowed to get.

The operator sends the values of these Secrets to the host of the hub. The author of a connection is
therefore asked for the right to get them. An update that changes neither the connection nor a
reference sends no value to another place, so its author needs no right.
"""

from typing import Final

from msgspec.structs import replace

from lynq.api import HubSpec, KeyHolder, SourceType, Tls
from lynq.api.source import DatabaseServer

_DEFAULTS: Final = {"table": "", "connect_timeout": "5s", "query_timeout": "60s"}
"""Fields that change neither the receiver of a value nor its protection on the way."""


def secrets_to_authorize(spec: HubSpec, old: HubSpec | None) -> tuple[str, ...]:
    """Return the names of the Secrets; `old` is None if the hub is created."""
    if old and _connection(old) == _connection(spec):
        return ()
    server = _server(spec)
    return tuple(sorted(referenced_secrets(server))) if server else ()


def referenced_secrets(server: DatabaseServer) -> frozenset[str]:
    """Return the names of the Secrets that a connection references."""
    tls = server.tls or Tls()
    certificates = (
        ref.name for ref in (tls.ca_ref, tls.cert_ref) if ref and ref.kind is KeyHolder.SECRET
    )
    keys = (ref.name for ref in (server.password_ref, tls.key_ref) if ref)
    return frozenset((*certificates, *keys))


def _connection(spec: HubSpec) -> tuple[SourceType, DatabaseServer | None]:
    server = _server(spec)
    return spec.source.type, replace(server, **_DEFAULTS) if server else None


def _server(spec: HubSpec) -> DatabaseServer | None:
    block = spec.source.block
    return block if isinstance(block, DatabaseServer) else None

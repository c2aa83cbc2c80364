"""Decide which Secrets the author of a hub has to be allowed to get.

The operator sends the values of these Secrets to the host of the hub, and what it reads with them
becomes part of LynqNodes. So the author of a connection, of a table or of a column is asked for the
right to get them: the rights of a database user are for those who may read its password. An update
that changes none of these sends no value to another place and reads nothing more, so its author
needs no right.
"""

from typing import Final

from msgspec.structs import replace

from lynq.api import HubSpec, KeyHolder, ObjectKeyRef, SourceType
from lynq.api.source import DatabaseServer

_DEFAULTS: Final = {"connect_timeout": "5s", "query_timeout": "60s"}
"""Fields that change neither what is read, nor the receiver of a value or its protection on the
way."""


def secrets_to_authorize(spec: HubSpec, old: HubSpec | None) -> tuple[str, ...]:
    """Return the names of the Secrets; `old` is None if the hub is created."""
    if old and _connection(old) == _connection(spec) and _columns(spec) <= _columns(old):
        return ()
    server = _server(spec)
    return tuple(sorted(referenced_secrets(server))) if server else ()


def referenced_secrets(server: DatabaseServer) -> frozenset[str]:
    """Return the names of the Secrets that a connection references."""
    return frozenset(
        ref.name
        for ref in server.references
        if not isinstance(ref, ObjectKeyRef) or ref.kind is KeyHolder.SECRET
    )


def _connection(spec: HubSpec) -> tuple[SourceType, DatabaseServer | None]:
    """Return the connection and the table; a field of either that is added later counts too."""
    server = _server(spec)
    return spec.source.type, replace(server, **_DEFAULTS) if server else None


def _columns(spec: HubSpec) -> frozenset[str]:
    """Return the columns that are read."""
    mappings = spec.value_mappings
    named = (mappings.uid, mappings.activate, mappings.host_or_url)
    return frozenset(filter(None, (*named, *spec.extra_value_mappings.values())))


def _server(spec: HubSpec) -> DatabaseServer | None:
    block = spec.source.block
    return block if isinstance(block, DatabaseServer) else None

"""What is filled in before an object is stored: the defaults that the Go operator's webhook set.

The CRDs have the same defaults, for what is absent. These are for what is there and says nothing,
`syncInterval: ""` or `port: 0`, which the schema would refuse.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec.structs import fields

from lynq.api import HubSource, MySQL, PostgreSQL, ResourceLists, TResource
from lynq.api.wire import Wire

Operation: TypeAlias = dict[str, Any]
"""One step of a JSON patch."""
Defaults: TypeAlias = Callable[[Mapping[str, Any]], Iterator[Operation]]
"""Yields what to add to an object's spec."""

_LISTS: Final = tuple(each.encode_name for each in fields(ResourceLists))


def _defaults_of(kind: type[Wire], *names: str) -> dict[str, Any]:
    known = {each.encode_name: each.default for each in fields(kind)}
    return {name: known[name] for name in names}


# Taken from the types, which the CRDs are made from: a default is written once.
_SOURCE: Final = _defaults_of(HubSource, "syncInterval")
_SERVERS: Final = {
    "mysql": _defaults_of(MySQL, "port"),
    "postgresql": _defaults_of(PostgreSQL, "port"),
}
_RESOURCE: Final = _defaults_of(
    TResource,
    "creationPolicy",
    "deletionPolicy",
    "conflictPolicy",
    "waitForReady",
    "timeoutSeconds",
    "patchStrategy",
)


def hub_defaults(spec: Mapping[str, Any]) -> Iterator[Operation]:
    """Yield what a hub lacks."""
    source = spec.get("source")
    if not isinstance(source, Mapping):
        return
    yield from _filled(source, "/spec/source", _SOURCE)
    for engine, defaults in _SERVERS.items():
        yield from _filled(source.get(engine), f"/spec/source/{engine}", defaults)


def form_defaults(spec: Mapping[str, Any]) -> Iterator[Operation]:
    """Yield what the resources of a form lack."""
    for name in _LISTS:
        resources = spec.get(name)
        for position, resource in enumerate(resources if isinstance(resources, list) else ()):
            yield from _filled(resource, f"/spec/{name}/{position}", _RESOURCE)


def _filled(block: object, path: str, defaults: Mapping[str, Any]) -> Iterator[Operation]:
    if not isinstance(block, Mapping):
        return
    for name, value in defaults.items():
        if _says_nothing(block.get(name)):
            yield {"op": "add", "path": f"{path}/{name}", "value": value}


def _says_nothing(value: object) -> bool:
    # False is something: waitForReady may well be that.
    return value is None or value == "" or (value == 0 and not isinstance(value, bool))

"""The defaults of the mutating webhooks, the same as those of the Go operator.

The CRDs have the same defaults for absent fields. The webhooks apply them to empty fields too,
`syncInterval: ""` or `port: 0`, which the schema rejects.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec.structs import fields

from lynq.api import HubSource, MySQL, PostgreSQL, TResource
from lynq.api.resource import RESOURCE_LISTS
from lynq.api.wire import Wire

Operation: TypeAlias = dict[str, Any]
"""One operation of a JSON patch."""
Defaults: TypeAlias = Callable[[Mapping[str, Any]], Iterator[Operation]]
"""Yields the operations that set the defaults of a spec."""

_LISTS: Final = tuple(json_name for _, json_name in RESOURCE_LISTS)


def _defaults_of(kind: type[Wire], *names: str) -> dict[str, Any]:
    defaults = {item.encode_name: item.default for item in fields(kind)}
    return {name: defaults[name] for name in names}


# Taken from the types that the CRDs are generated from, so that they cannot differ.
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
    """Yield the defaults of a hub."""
    source = spec.get("source")
    if not isinstance(source, Mapping):
        return
    yield from _set_defaults(source, "/spec/source", _SOURCE)
    for engine, defaults in _SERVERS.items():
        yield from _set_defaults(source.get(engine), f"/spec/source/{engine}", defaults)


def form_defaults(spec: Mapping[str, Any]) -> Iterator[Operation]:
    """Yield the defaults of the resources of a form."""
    for name in _LISTS:
        resources = spec.get(name)
        for index, resource in enumerate(resources if isinstance(resources, list) else ()):
            yield from _set_defaults(resource, f"/spec/{name}/{index}", _RESOURCE)


def _set_defaults(block: object, path: str, defaults: Mapping[str, Any]) -> Iterator[Operation]:
    if not isinstance(block, Mapping):
        return
    for name, value in defaults.items():
        if _is_empty(block.get(name)):
            yield {"op": "add", "path": f"{path}/{name}", "value": value}


def _is_empty(value: object) -> bool:
    # False is a value: waitForReady can be false.
    return value is None or value == "" or (value == 0 and not isinstance(value, bool))

"""Decodes hubs, forms and nodes for the caches: tolerant, and with shared manifests.

An object that cannot be decoded must not stop the watch of the others, and must not look deleted:
it becomes `Unreadable`. A status that cannot be decoded is replaced by an empty one, because the
next reconcile writes it again.

The nodes of a form hold the same manifests, because bodies are rendered later. A decoded manifest
takes ten times its JSON size, so equal manifests share one copy.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import replace

from lynq.api import (
    FormSpec,
    FormStatus,
    HubSpec,
    HubStatus,
    LynqForm,
    LynqHub,
    LynqNode,
    Metadata,
    NodeSpec,
    NodeStatus,
)
from lynq.api.resource import RESOURCE_LISTS
from lynq.api.wire import Wire
from lynq.kube.codec import TOO_DEEP

S = TypeVar("S")

_MAX_SHARED_MANIFESTS: Final = 4096
_NESTED_TOO_DEEP: Final = "spec is nested too deeply"


class RawObject(Wire, frozen=True):
    """A hub, form or node whose spec and status are not decoded yet."""

    metadata: Metadata = field(default_factory=Metadata)
    spec: Raw = Raw(b"{}")
    status: Raw = Raw(b"{}")


class Unreadable(Struct, frozen=True):
    """An existing object whose spec cannot be decoded."""

    metadata: Metadata
    problem: str
    """Why the spec cannot be decoded; safe to show."""


def decode_hub(obj: RawObject) -> LynqHub | Unreadable:
    """Decode a hub."""
    return _decode(
        obj,
        lambda spec: LynqHub(
            metadata=_slim_metadata(obj), spec=spec, status=_decode_status(obj, HubStatus)
        ),
        HubSpec,
    )


def decode_form(obj: RawObject) -> LynqForm | Unreadable:
    """Decode a form."""
    return _decode(
        obj,
        lambda spec: LynqForm(
            metadata=_slim_metadata(obj), spec=spec, status=_decode_status(obj, FormStatus)
        ),
        FormSpec,
    )


def decode_node(obj: RawObject) -> LynqNode | Unreadable:
    """Decode a node that is not kept: its manifests are its own."""
    return _decode(obj, lambda spec: _node(obj, spec), NodeSpec)


class NodeDecoder:
    """Decodes nodes; equal manifests of different nodes are one object."""

    def __init__(self) -> None:
        self._manifests: dict[bytes, dict[str, Any]] = {}

    def __call__(self, obj: RawObject) -> LynqNode | Unreadable:
        """Decode a node."""
        return _decode(obj, lambda spec: _node(obj, self._with_shared_manifests(spec)), NodeSpec)

    def _with_shared_manifests(self, spec: NodeSpec) -> NodeSpec:
        lists: dict[str, Any] = {
            name: tuple(
                replace(resource, spec=self._shared(resource.spec)) for resource in resources
            )
            for name, _ in RESOURCE_LISTS
            if (resources := getattr(spec, name))
        }
        return replace(spec, **lists)

    def _shared(self, manifest: dict[str, Any]) -> dict[str, Any]:
        text = msgspec.json.encode(manifest)
        if len(self._manifests) >= _MAX_SHARED_MANIFESTS and text not in self._manifests:
            # Drops the manifests of older form generations; those in use are shared again.
            self._manifests.clear()
        return self._manifests.setdefault(text, manifest)


def _node(obj: RawObject, spec: NodeSpec) -> LynqNode:
    status = _decode_status(obj, NodeStatus)
    return LynqNode(metadata=_slim_metadata(obj), spec=spec, status=status)


def _decode(obj: RawObject, build: Callable[[Any], S], spec: type[Any]) -> S | Unreadable:
    try:
        return build(msgspec.json.decode(obj.spec, type=spec))
    except RecursionError:
        return Unreadable(_slim_metadata(obj), _NESTED_TOO_DEEP)
    except msgspec.DecodeError as error:
        if bytes(obj.spec) == TOO_DEEP:
            return Unreadable(_slim_metadata(obj), _NESTED_TOO_DEEP)
        # The message of msgspec can quote a value; only the path behind " - at " is safe to show.
        _, _, path = str(error).partition(" - at ")
        problem = f"spec cannot be decoded at {path}" if path else "spec cannot be decoded"
        return Unreadable(_slim_metadata(obj), problem)


def _decode_status(obj: RawObject, status: type[S]) -> S:
    try:
        return msgspec.json.decode(obj.status, type=status)
    except (msgspec.DecodeError, RecursionError):
        return status()


def _slim_metadata(obj: RawObject) -> Metadata:
    # managedFields is not needed, and its raw bytes would keep the whole response in memory.
    return replace(obj.metadata, managed_fields=[])

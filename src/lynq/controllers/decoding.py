"""Decodes hubs, forms and nodes for the caches: tolerant, and with shared templates.

An object that cannot be decoded must not stop the watch of the others, and must not look deleted:
it becomes `Unreadable`. A status that cannot be decoded is replaced by an empty one, because the
next reconcile writes it again.

The nodes of a form hold the same manifests, because bodies are rendered later. A decoded manifest
takes ten times its JSON size, so nodes share one copy of all that the hub has not rendered.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import force_setattr, replace

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
    TResource,
)
from lynq.api.nesting import NestedTooDeep, depth_checked
from lynq.api.resource import RESOURCE_LISTS
from lynq.api.wire import Wire
from lynq.kube.codec import TOO_DEEP

S = TypeVar("S")

_MAX_SHARED_TEMPLATES: Final = 4096
_MAX_SHARED_TEXTS: Final = 4096
_SHARED_RESOURCE_TEXTS: Final = ("id", "api_version", "kind", "namespace")
_SHARED_CONDITION_TEXTS: Final = ("type", "reason", "message")
_NOT_RENDERED: Final[dict[str, Any]] = {
    "name_template": "",
    "labels_template": {},
    "annotations_template": {},
}
_RENDERED_BY_HUB: Final = tuple(_NOT_RENDERED)
"""The fields of a resource that differ between the nodes of a form."""
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
    """Decodes nodes; what resources of different nodes have in common is one object."""

    def __init__(self) -> None:
        self._templates: dict[bytes, TResource] = {}
        self._texts: dict[str, str] = {}

    def __call__(self, obj: RawObject) -> LynqNode | Unreadable:
        """Decode a node."""
        node = _decode(obj, lambda spec: _node(obj, self._with_shared_resources(spec)), NodeSpec)
        if isinstance(node, LynqNode):
            self._share_texts(node.status)
        return node

    def _share_texts(self, status: NodeStatus) -> None:
        """Replace texts that many nodes have by one copy."""
        if len(self._texts) >= _MAX_SHARED_TEXTS:
            # Texts in use are shared again.
            self._texts.clear()
        share = self._texts.setdefault
        for entries, names in (
            (status.resources, _SHARED_RESOURCE_TEXTS),
            (status.conditions, _SHARED_CONDITION_TEXTS),
        ):
            for entry in entries:
                for name in names:
                    text = getattr(entry, name)
                    # Frozen for its readers; there are none yet.
                    force_setattr(entry, name, share(text, text))

    def _with_shared_resources(self, spec: NodeSpec) -> NodeSpec:
        lists: dict[str, Any] = {
            name: tuple(map(self._shared, resources))
            for name, _ in RESOURCE_LISTS
            if (resources := getattr(spec, name))
        }
        return replace(spec, **lists)

    def _shared(self, resource: TResource) -> TResource:
        """Return an equal resource, which shares all but its rendered texts."""
        rendered: dict[str, Any] = {
            name: text for name in _RENDERED_BY_HUB if (text := getattr(resource, name))
        }
        template = replace(resource, **_NOT_RENDERED)
        text = msgspec.json.encode(template)
        if len(self._templates) >= _MAX_SHARED_TEMPLATES and text not in self._templates:
            # Drops the templates of older form generations; those in use are shared again.
            self._templates.clear()
        return replace(self._templates.setdefault(text, template), **rendered)


def _node(obj: RawObject, spec: NodeSpec) -> LynqNode:
    status = _decode_status(obj, NodeStatus)
    return LynqNode(metadata=_slim_metadata(obj), spec=spec, status=status)


def _decode(obj: RawObject, build: Callable[[Any], S], spec: type[Any]) -> S | Unreadable:
    try:
        return build(msgspec.json.decode(depth_checked(obj.spec), type=spec))
    except NestedTooDeep:
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
        return msgspec.json.decode(depth_checked(obj.status), type=status)
    except msgspec.DecodeError:
        return status()


def _slim_metadata(obj: RawObject) -> Metadata:
    # managedFields is not needed, and its raw bytes would keep the whole response in memory.
    return replace(obj.metadata, managed_fields=[])

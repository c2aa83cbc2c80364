"""Our three kinds as caches hold them: decoded with patience, and with shared manifests.

An object that cannot be decoded must not stop the watch of all others, and must not look as if it
were gone: it becomes `Unreadable`. A status that cannot be decoded is no loss, it is made anew.

The manifests in a form's ten thousand nodes are the same texts, because bodies are not rendered in
them. Decoded, each takes ten times its size; one copy of each is kept instead.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import fields, replace

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
    ResourceLists,
)
from lynq.api.wire import Wire
from lynq.kube.codec import TOO_DEEP

S = TypeVar("S")

_LISTS: Final = tuple(each.name for each in fields(ResourceLists))
_SHARED_MANIFESTS: Final = 4096
_NESTED: Final = "its spec is nested too deep to be read"


class Loose(Wire, frozen=True):
    """An object of ours of which only the metadata is understood yet."""

    metadata: Metadata = field(default_factory=Metadata)
    spec: Raw = Raw(b"{}")
    status: Raw = Raw(b"{}")


class Unreadable(Struct, frozen=True):
    """An object that is there, and makes no sense to us."""

    metadata: Metadata
    problem: str


def hub_from(obj: Loose) -> LynqHub | Unreadable:
    """Decode a hub."""
    return _read(
        obj,
        lambda spec: LynqHub(metadata=_slim(obj), spec=spec, status=_status(obj, HubStatus)),
        HubSpec,
    )


def form_from(obj: Loose) -> LynqForm | Unreadable:
    """Decode a form."""
    return _read(
        obj,
        lambda spec: LynqForm(metadata=_slim(obj), spec=spec, status=_status(obj, FormStatus)),
        FormSpec,
    )


class Nodes:
    """Decodes nodes; what they have in common is kept once."""

    def __init__(self) -> None:
        self._manifests: dict[bytes, dict[str, Any]] = {}

    def __call__(self, obj: Loose) -> LynqNode | Unreadable:
        """Decode a node."""
        return _read(
            obj,
            lambda spec: LynqNode(
                metadata=_slim(obj), spec=self._shared(spec), status=_status(obj, NodeStatus)
            ),
            NodeSpec,
        )

    def _shared(self, spec: NodeSpec) -> NodeSpec:
        lists: dict[str, Any] = {
            name: tuple(replace(each, spec=self._one(each.spec)) for each in resources)
            for name in _LISTS
            if (resources := getattr(spec, name))
        }
        return replace(spec, **lists)

    def _one(self, manifest: dict[str, Any]) -> dict[str, Any]:
        text = msgspec.json.encode(manifest)
        if len(self._manifests) >= _SHARED_MANIFESTS and text not in self._manifests:
            # Forms change and leave manifests behind; those in use find their way back.
            self._manifests.clear()
        return self._manifests.setdefault(text, manifest)


def _read(obj: Loose, build: Callable[[Any], S], spec: type[Any]) -> S | Unreadable:
    try:
        return build(msgspec.json.decode(obj.spec, type=spec))
    except RecursionError:
        return Unreadable(_slim(obj), _NESTED)
    except msgspec.DecodeError as error:
        if bytes(obj.spec) == TOO_DEEP:
            return Unreadable(_slim(obj), _NESTED)
        # msgspec's sentence can echo a value; only the place behind " - at " is surely safe.
        _, _, place = str(error).partition(" - at ")
        return Unreadable(_slim(obj), f"its spec makes no sense, see {place or 'all of it'}")


def _status(obj: Loose, status: type[S]) -> S:
    try:
        return msgspec.json.decode(obj.status, type=status)
    except (msgspec.DecodeError, RecursionError):
        return status()


def _slim(obj: Loose) -> Metadata:
    # Who manages which field is nobody's concern here, and would keep the whole answer alive.
    return replace(obj.metadata, managed_fields=[])

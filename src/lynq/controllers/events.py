"""Emits the events of the core through the recorder of one controller."""

from typing import Protocol

from lynq.api import Metadata
from lynq.api.events import Event
from lynq.kube import ObjectReference, Recorder


class TypedObject(Protocol):
    """A hub, form or node."""

    @property
    def api_version(self) -> str:
        """The object's `apiVersion`."""

    @property
    def kind(self) -> str:
        """The object's `kind`."""

    @property
    def metadata(self) -> Metadata:
        """The object's `metadata`."""


class EventEmitter:
    """Emits events without blocking."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def emit(self, about: TypedObject | ObjectReference, *events: Event) -> None:
        """Record the events about an object in order."""
        reference = about if isinstance(about, ObjectReference) else reference_to(about)
        for event in events:
            self._recorder.record(
                reference,
                "Warning" if event.warns else "Normal",
                str(event.reason),
                event.message,
            )


def reference_to(obj: TypedObject) -> ObjectReference:
    """Return the `involvedObject` of events about an object."""
    metadata = obj.metadata
    return ObjectReference(
        api_version=obj.api_version,
        kind=obj.kind,
        name=metadata.name,
        namespace=metadata.namespace,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )

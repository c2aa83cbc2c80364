"""Events of the cores, handed to the recorder in the name of one controller."""

from typing import Protocol

from lynq.api import Metadata
from lynq.api.events import Event
from lynq.kube import ObjectReference, Recorder


class Named(Protocol):
    """A hub, form or node."""

    @property
    def api_version(self) -> str:
        """Its group and version."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def metadata(self) -> Metadata:
        """Its metadata."""


class EventEmitter:
    """Tells people what happened to an object; never waits for anything."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def tell(self, about: Named | ObjectReference, *events: Event) -> None:
        """Record the events about an object, in their order."""
        reference = about if isinstance(about, ObjectReference) else reference_to(about)
        for event in events:
            self._recorder.record(
                reference,
                "Warning" if event.warns else "Normal",
                str(event.reason),
                event.message,
            )


def reference_to(obj: Named) -> ObjectReference:
    """Return what an event says it is about."""
    known = obj.metadata
    return ObjectReference(
        api_version=obj.api_version,
        kind=obj.kind,
        name=known.name,
        namespace=known.namespace,
        uid=known.uid,
        resource_version=known.resource_version,
    )

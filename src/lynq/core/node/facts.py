"""What a step is decided by: for each resource what is wanted, what is there, what we last did."""

from dataclasses import dataclass
from datetime import datetime

from lynq.api import TResource
from lynq.core.node.desired_object import DesiredObject
from lynq.core.node.live import LiveObject
from lynq.core.node.object_ref import ObjectRef


@dataclass(frozen=True, slots=True)
class WriteRejection:
    """The API server did not take our write."""

    message: str
    """One sentence, without contents of Secrets."""
    is_conflict: bool = False
    """Whether someone else owns a field, and the API server says so."""
    is_passing: bool = False
    """Whether it may well be over in a moment, and says nothing about the object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWrite:
    """Our own last write of an object. After a restart only what the status says of it is known."""

    hash: str
    """Of what was written, or tried."""
    digest: bytes = b""
    """Of the fields that we owned by the answer."""
    refusal: WriteRejection | None = None
    not_before: datetime | None = None
    """Until when the same content is not written again: the back-off, which keeps two controllers
    from overwriting each other as fast as they can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFacts:
    """One resource of the node's spec, and what is known of its object."""

    resource: TResource
    wanted: DesiredObject | None = None
    """None if it could not be rendered, or is not yet."""
    problem: str = ""
    """Why it could not be rendered."""
    is_unfinished: bool = False
    """Whether it is still being rendered: keys take their time."""
    live: LiveObject | None = None
    """None if the object does not exist."""
    memory: LastWrite | None = None
    was_written: bool = False
    """Whether it was already written in this pass; nothing is written twice in one."""

    @property
    def ref(self) -> ObjectRef:
        """The object, as far as it is known; without name if it could not be rendered."""
        if self.wanted is not None:
            return self.wanted.ref
        spec = self.resource.spec
        return ObjectRef(str(spec.get("apiVersion", "")), str(spec.get("kind", "")), "", "")

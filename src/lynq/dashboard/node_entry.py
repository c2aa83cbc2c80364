"""The entry of a node: what lists, filters and counts need of it, in some 250 bytes.

An entry shares what it can. Words that many nodes have are interned; a message is interned without
the node's own name and uid; a uid that the name begins with is only a length.
"""

from datetime import datetime
from sys import intern
from typing import Final

from msgspec import Struct

from lynq.api.names import LABEL_HUB
from lynq.api.node_metadata import written_at
from lynq.api.text import one_line
from lynq.controllers.decoding import RawObject, Unreadable, decode_node
from lynq.core.explain.summary import explain_status, summary_of
from lynq.dashboard.object_names import objects_pattern

_MAX_MESSAGE: Final = 200
"""Characters of a message in a list; the page of the tenant has all of it."""
_NAME: Final = "\0"
_UID: Final = "\1"
"""Stand for the name and the uid in a pattern; messages are printable and have neither."""


class NodeEntry(Struct, frozen=True, gc=False):
    """A node in a few words."""

    namespace: str
    name: str
    uid_part: int | str
    """The length of the uid if the name begins with it, as names do unless they are cut; or it."""
    form: str
    hub: str
    state: str
    ready: int
    desired: int
    cause_kind: str
    resource_id: str
    reason: str
    message_pattern: str
    """The message with characters that stand for the name and the uid."""
    since: int
    """Seconds of the epoch; 0 if it is unknown."""
    created: int
    written: float
    """When the hub last wrote the node for a new row or form; 0 if it is unknown."""
    objects: str = ""
    """The names of the objects, without the uid (`object_names`)."""

    @property
    def kind(self) -> str:
        """The kind, as a filter names it."""
        return "node"

    @property
    def uid(self) -> str:
        """The uid of the row."""
        part = self.uid_part
        return part if isinstance(part, str) else self.name[:part]

    @property
    def cause(self) -> str:
        """Why it is not ready, in a few words."""
        return f"{self.resource_id}: {self.reason}" if self.resource_id else ""

    @property
    def message(self) -> str:
        """The whole reason."""
        return self.message_pattern.replace(_UID, self.uid).replace(_NAME, self.name)

    def field(self, key: str) -> str:
        """Return the value that a filter compares."""
        return str(getattr(self, key))


def node_entry(raw: RawObject) -> NodeEntry:
    """Return the entry of a node; one that cannot be decoded is shown with its problem."""
    node = decode_node(raw)
    if isinstance(node, Unreadable):
        return _unreadable(node)
    explanation = explain_status(node)
    summary = summary_of(node, explanation)
    first = explanation.causes[0] if explanation.causes else None
    written = written_at(node)
    return NodeEntry(
        intern(summary.namespace),
        summary.name,
        uid_part(summary.name, summary.uid),
        intern(summary.form),
        intern(summary.hub),
        intern(summary.state),
        summary.ready,
        summary.desired,
        intern(str(first.kind)) if first else "",
        intern(first.id) if first else "",
        intern(summary.cause.partition(": ")[2]),
        message_pattern(summary.message, summary.name, summary.uid),
        _seconds(first.since if first and first.since else explanation.since),
        _seconds(summary.created),
        written.timestamp() if written else 0.0,
        objects_pattern(node.status.resources, summary.uid),
    )


def _unreadable(node: Unreadable) -> NodeEntry:
    metadata = node.metadata
    return NodeEntry(
        intern(metadata.namespace),
        metadata.name,
        "",
        "",
        intern(metadata.labels.get(LABEL_HUB, "")),
        "Failed",
        0,
        0,
        "NodeInvalid",
        "",
        "",
        message_pattern(node.problem, metadata.name, ""),
        _seconds(metadata.creation_timestamp),
        _seconds(metadata.creation_timestamp),
        0.0,
    )


def uid_part(name: str, uid: str) -> int | str:
    """Return what an entry holds of a uid."""
    return len(uid) if name.startswith(uid) else uid


def message_pattern(message: str, name: str, uid: str) -> str:
    """Return what an entry holds of a message: one line, without the node's own name and uid."""
    if not message:
        return ""
    pattern = one_line(message, _MAX_MESSAGE)
    for text, sign in ((name, _NAME), (uid, _UID)):
        if text:
            pattern = pattern.replace(text, sign)
    return intern(pattern)


def _seconds(time: datetime | None) -> int:
    return int(time.timestamp()) if time else 0

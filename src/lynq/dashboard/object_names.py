"""The names of a node's objects, held for the search in a few bytes of each node.

The objects of a node are in its status, so they may be seen with the right to list nodes. The nodes
of a form have the same objects but for the uid: one string without the uid serves all of them.
"""

from collections.abc import Iterable, Iterator
from sys import intern
from typing import Final, NamedTuple

from lynq.api import ResourceStatus

_UID: Final = "\1"
"""Stands for the uid in a pattern."""
_MAX_OBJECTS: Final = 100


class NodeObject(NamedTuple):
    """An object of a node."""

    kind: str
    namespace: str
    """Empty for a cluster-scoped object."""
    name: str
    resource_id: str


def objects_pattern(resources: Iterable[ResourceStatus], uid: str) -> str:
    """Return what the entry of a node holds of its objects."""
    names = [NodeObject(each.kind, each.namespace, each.name, each.id) for each in resources]
    printable = [name for name in names[:_MAX_OBJECTS] if name.name and "".join(name).isprintable()]
    text = "\n".join(map("\t".join, printable))
    return intern(text.replace(uid, _UID) if uid else text)


def objects_text(pattern: str, uid: str) -> str:
    """Return the text that holds the names of a node's objects."""
    return pattern.replace(_UID, uid)


def object_names(text: str) -> Iterator[NodeObject]:
    """Yield the objects in a text."""
    for line in text.split("\n") if text else ():
        yield NodeObject(*line.split("\t"))

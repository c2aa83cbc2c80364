"""The objects, their versions, and the log of changes that watches read.

One counter gives each write its resourceVersion, as etcd's revision does. Objects are never changed
in place: a write stores another one. After `compact` the log is empty, and what needs an older
version is answered with 410.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Body = dict[str, Any]


class Key(NamedTuple):
    """The place of an object: `deployments.apps`, namespace, name."""

    resource: str
    namespace: str
    name: str


class Change(NamedTuple):
    """One write: the object before and after it; a removed object has a last version, too."""

    version: int
    key: Key
    before: Body | None
    after: Body | None
    """None: the object was removed."""


class Expired(Exception):  # noqa: N818 - the word of the API server
    """A resourceVersion is older than the log."""


class Store:
    """All objects of the API server."""

    def __init__(self) -> None:
        # The API server has written objects of its own before the first request.
        self.version = 100
        self.oldest = self.version
        """The version that the last compaction left."""
        self._objects: dict[str, dict[Key, Body]] = {}
        self._keys: dict[str, Key] = {}
        self._dependents: dict[str, dict[Key, None]] = {}
        self._log: list[Change] = []
        self._listeners: list[Callable[[Change], None]] = []

    def on_change(self, listener: Callable[[Change], None]) -> None:
        """Call `listener` with every change."""
        self._listeners.append(listener)

    def get(self, key: Key) -> Body | None:
        """Return an object."""
        return self._objects.get(key.resource, {}).get(key)

    def key_of(self, uid: str) -> Key | None:
        """Return the place of the object with a uid."""
        return self._keys.get(uid)

    def dependents(self, uid: str) -> list[Key]:
        """Return the objects with an owner reference to a uid."""
        return list(self._dependents.get(uid, ()))

    def keys(self, resource: str, namespace: str = "") -> list[Key]:
        """Return the places of a kind, of one namespace or of all, in the order of a list."""
        listed = self._objects.get(resource, {})
        return sorted(key for key in listed if namespace in ("", key.namespace))

    def in_namespace(self, namespace: str) -> list[Key]:
        """Return the places of all objects in a namespace."""
        return sorted(
            key for listed in self._objects.values() for key in listed if key.namespace == namespace
        )

    def put(self, key: Key, obj: Body) -> Body:
        """Store an object with the next version; return it."""
        self.version += 1
        obj = _with_version(obj, self.version)
        before = self.get(key)
        self._index(key, before, obj)
        self._objects.setdefault(key.resource, {})[key] = obj
        self._changed(Change(self.version, key, before, obj))
        return obj

    def remove(self, key: Key) -> None:
        """Remove an object; its last state gets the version of the removal."""
        self.version += 1
        before = self._objects[key.resource].pop(key)
        self._index(key, before, None)
        self._changed(Change(self.version, key, _with_version(before, self.version), None))

    def since(self, version: int) -> Iterator[Change]:
        """Yield the changes after a version; raises Expired."""
        if version < self.oldest:
            raise Expired
        return (change for change in self._log if change.version > version)

    def at(self, version: int, resource: str) -> dict[Key, Body]:
        """Return the objects of a kind as they were at a version; raises Expired."""
        objects = dict(self._objects.get(resource, {}))
        for change in reversed(list(self.since(version))):
            if change.key.resource != resource:
                continue
            if change.before is None:
                objects.pop(change.key, None)
            else:
                objects[change.key] = change.before
        return objects

    def compact(self) -> None:
        """Forget all changes before now."""
        self._log.clear()
        self.oldest = self.version

    def _changed(self, change: Change) -> None:
        self._log.append(change)
        for listener in self._listeners:
            listener(change)

    def _index(self, key: Key, before: Body | None, after: Body | None) -> None:
        if before is not None:
            self._keys.pop(before["metadata"]["uid"], None)
            for uid in owner_uids(before):
                self._dependents[uid].pop(key, None)
        if after is not None:
            self._keys[after["metadata"]["uid"]] = key
            for uid in owner_uids(after):
                self._dependents.setdefault(uid, {})[key] = None


def owner_uids(obj: Body) -> list[str]:
    """Return the uids of an object's owners."""
    return [owner["uid"] for owner in obj["metadata"].get("ownerReferences") or ()]


def version_of(obj: Body) -> int:
    """Return the resourceVersion of an object."""
    return int(obj["metadata"]["resourceVersion"])


def _with_version(obj: Body, version: int) -> Body:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}

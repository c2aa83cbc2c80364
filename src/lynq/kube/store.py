"""The store of an informer: objects by key, with indexes; late updates change nothing.

The store has three inputs: lists, the watch, and the responses to our own writes. The first two are
read by one task and in order. Responses come from any reconcile at any time, before or after the
watch event of the same write. Each update has a resourceVersion, a number that only grows
(guaranteed since Kubernetes 1.35, and always true with etcd). Two rules make the order of arrival
irrelevant:

- An object is replaced only by a higher resourceVersion.
- All changes up to `synced_version` are in the store. A response with an older version is ignored:
  if its object is not in the store, it has already been deleted. A newer response is ahead of the
  watch and is stored.

Our own deletes are ahead of the watch too. Their version is unknown, so a tombstone keeps the uid
and the last version of the object: updates of this uid, and of older objects, are ignored. The
tombstone is removed by the DELETED event, or by a list without the object. So there are never more
tombstones than deletes whose event is outstanding.

A list is merged object by object, which only adds and updates. Objects that are not in the list are
removed at its end, so readers never see a half-empty store.

All methods are synchronous: between two awaits of a reader, the store does not change.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from lynq.api import Metadata
from lynq.api.metadata import ObjectKey
from lynq.kube.errors import UnexpectedResponse

T = TypeVar("T")

IndexFunction: TypeAlias = Callable[[T], Iterable[Hashable]]
"""Returns the index values of an object; must be deterministic."""


class ObjectChange(Struct, Generic[T], frozen=True):
    """A change of a key: added (no old), removed (no new), or updated.

    Old and new can be different objects with one name; their uids differ then.
    """

    key: ObjectKey
    old: T | None
    new: T | None
    final: T | None = None
    """The state in which it was deleted; None if the deletion was not watched."""


class ObjectVersion(NamedTuple):
    """The identity and version of an object."""

    key: ObjectKey
    uid: str
    resource_version: int

    @classmethod
    def of(cls, metadata: Metadata) -> "ObjectVersion":
        """Return identity and version from metadata."""
        return cls(metadata.key, metadata.uid, version_of(metadata.resource_version))


class _Entry(Struct, Generic[T], frozen=True, gc=False):
    uid: str
    version: int
    value: T


_Index: TypeAlias = dict[Hashable, ObjectKey | dict[ObjectKey, None]]
"""The key or the keys with each value. Most values, such as the uid of an owner, have one key, and
a dict for it would take four times its memory. A dict has a stable order, unlike a set."""


class Store(Generic[T]):
    """The cached objects of one resource type. Only its informer writes to it."""

    def __init__(self, indexes: Mapping[str, IndexFunction[T]] = MappingProxyType({})) -> None:
        self._entries: dict[ObjectKey, _Entry[T]] = {}
        self._tombstones: dict[ObjectKey, ObjectVersion] = {}
        self._index_functions = dict(indexes)
        self._indexes: dict[str, _Index] = {name: {} for name in indexes}
        self._synced_version = 0

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self._entries)

    def __contains__(self, key: ObjectKey) -> bool:
        """Return whether there is an object under `key`."""
        return key in self._entries

    def get(self, key: ObjectKey) -> T | None:
        """Return the object under `key`, or None."""
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def keys(self) -> list[ObjectKey]:
        """Return a copy of all keys."""
        return list(self._entries)

    def values(self) -> list[T]:
        """Return a copy of all objects."""
        return [entry.value for entry in self._entries.values()]

    def items(self) -> list[tuple[ObjectKey, T]]:
        """Return a copy of all keys and objects."""
        return [(key, entry.value) for key, entry in self._entries.items()]

    def by(self, index: str, value: Hashable) -> list[T]:
        """Return the objects with this value in the index."""
        return [self._entries[key].value for key in self.keys_by(index, value)]

    def keys_by(self, index: str, value: Hashable) -> list[ObjectKey]:
        """Return the keys of the objects with this value in the index."""
        keys = self._indexes[index].get(value, {})
        return list(keys) if isinstance(keys, dict) else [keys]

    @property
    def synced_version(self) -> int:
        """The version up to which all changes are in the store."""
        return self._synced_version

    def advance(self, version: int) -> None:
        """Record that the watch has delivered all events up to `version`."""
        # The bookmark of another API server replica may be older.
        self._synced_version = max(self._synced_version, version)

    def merge(self, version: ObjectVersion, value: Callable[[], T]) -> ObjectChange[T] | None:
        """Store an object of a list or the watch, if it is newer."""
        entry = self._entries.get(version.key)
        if entry is not None and entry.version >= version.resource_version:
            return None
        tombstone = self._tombstones.get(version.key)
        if tombstone is not None and (
            tombstone.uid == version.uid or tombstone.resource_version >= version.resource_version
        ):
            return None
        return self._put(version, value())

    def remove(self, version: ObjectVersion, final: Callable[[], T]) -> ObjectChange[T] | None:
        """Remove an object after its DELETED event, which has the final state."""
        tombstone = self._tombstones.get(version.key)
        if tombstone is not None and tombstone.uid == version.uid:
            del self._tombstones[version.key]
        entry = self._entries.get(version.key)
        if entry is None or (entry.uid != version.uid and entry.version > version.resource_version):
            return None
        return self._drop(version.key, final())

    def begin_list(self) -> None:
        """Begin a list: an object that it shows exists, whatever was deleted before."""
        self._tombstones.clear()

    def complete_list(self, listed: Collection[ObjectKey], version: int) -> list[ObjectChange[T]]:
        """End a list at this version: remove objects that it does not contain, unless newer."""
        self._synced_version = version
        for key in [key for key in self._tombstones if key not in listed]:
            del self._tombstones[key]
        missing = [
            key
            for key, entry in self._entries.items()
            if key not in listed and entry.version <= version
        ]
        return [self._drop(key) for key in missing]

    def absorb(self, version: ObjectVersion, value: Callable[[], T]) -> ObjectChange[T] | None:
        """Store the response to our own write, if it is ahead of the watch."""
        return (
            self.merge(version, value) if version.resource_version > self._synced_version else None
        )

    def absorb_deleted(self, key: ObjectKey, uid: str) -> ObjectChange[T] | None:
        """Remove an object after our own delete."""
        entry = self._entries.get(key)
        if entry is None or entry.uid != uid:
            return None
        self._tombstones[key] = ObjectVersion(key, uid, entry.version)
        return self._drop(key)

    def absorb_unselected(self, version: ObjectVersion) -> ObjectChange[T] | None:
        """Remove an older state of an object that the watch does not select after our own write.

        Without a tombstone: the object exists, and may be selected again. A late event of an older
        version brings it back, until the watch reports that it is no longer selected.
        """
        entry = self._entries.get(version.key)
        if entry is None or entry.uid != version.uid or entry.version > version.resource_version:
            return None
        return self._drop(version.key)

    def reset_versions(self) -> None:
        """Let the next list replace all objects: the versions of the cluster went backwards."""
        self._synced_version = 0
        self._tombstones.clear()
        self._entries = {
            key: _Entry(entry.uid, 0, entry.value) for key, entry in self._entries.items()
        }

    def _put(self, version: ObjectVersion, value: T) -> ObjectChange[T]:
        old = self._entries.get(version.key)
        # Indexes first: if an index function raises, the store is unchanged.
        self._reindex(version.key, None if old is None else old.value, value)
        self._entries[version.key] = _Entry(version.uid, version.resource_version, value)
        self._tombstones.pop(version.key, None)
        return ObjectChange(version.key, None if old is None else old.value, value)

    def _drop(self, key: ObjectKey, final: T | None = None) -> ObjectChange[T]:
        old = self._entries.pop(key)
        self._reindex(key, old.value, None)
        return ObjectChange(key, old.value, None, final)

    def _reindex(self, key: ObjectKey, old: T | None, new: T | None) -> None:
        updates = [
            (
                self._indexes[name],
                set() if old is None else set(function(old)),
                set() if new is None else set(function(new)),
            )
            for name, function in self._index_functions.items()
        ]
        for index, before, after in updates:
            for value in after - before:
                _add_to_index(index, value, key)
            for value in before - after:
                _remove_from_index(index, value, key)


def _add_to_index(index: _Index, value: Hashable, key: ObjectKey) -> None:
    keys = index.get(value)
    if keys is None:
        index[value] = key
    elif isinstance(keys, dict):
        keys[key] = None
    else:
        index[value] = {keys: None, key: None}


def _remove_from_index(index: _Index, value: Hashable, key: ObjectKey) -> None:
    keys = index[value]
    if isinstance(keys, dict):
        del keys[key]
    if not keys or keys == key:
        del index[value]


def version_of(resource_version: str) -> int:
    """Return a resourceVersion as a number."""
    if not resource_version.isdecimal():
        raise UnexpectedResponse(
            "a resourceVersion is not a number; this resource cannot be cached"
        )
    return int(resource_version)

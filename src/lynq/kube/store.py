"""Objects by key, with indexes; whatever arrives late changes nothing.

Three voices tell the store about objects: lists, the watch, and the answers to our own writes. The
first two are read by one task and come in order; the third comes from any reconcile at any moment,
before or after the watch tells the same. Each sighting of an object carries its resourceVersion, a
number that only grows (Kubernetes 1.35 guarantees what etcd has always done), and two rules make
the order of arrival irrelevant:

- What the store holds gives way only to a higher resourceVersion.
- The watch has told everything up to the version `told`. An answer to a write that is not newer
  than that says nothing new, and if its object is not here then because it is gone already. An
  answer that is newer runs ahead of the watch, and is taken.

A deletion of our own runs ahead of the watch too. Its version is unknown, so a tombstone stays with
the object's uid and last version: no word about that uid or an older object can raise it. It goes
when the watch tells the deletion or a list no longer shows the object, so there are never more
tombstones than deletions that the watch has yet to tell.

A list is merged object by object as it arrives, which can only add or renew; only at its end do the
objects go that it did not show. So readers never see a half-empty store.

Everything is synchronous: between two awaits of a reader, the store does not change.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from lynq.api import Metadata
from lynq.api.metadata import ObjectKey
from lynq.kube.errors import UnexpectedResponse

T = TypeVar("T")

IndexFunction: TypeAlias = Callable[[T], Iterable[Hashable]]
"""Under which values an object is found; must answer the same for the same object."""


@dataclass(frozen=True, slots=True)
class ObjectChange(Generic[T]):
    """What happened under a key: added (no old), removed (no new), or one became the other.

    Old and new can be different objects of one name: compare their uids where that matters.
    """

    key: ObjectKey
    old: T | None
    new: T | None


class Sighting(NamedTuple):
    """Which object was seen, and in which version."""

    key: ObjectKey
    uid: str
    version: int

    @classmethod
    def of(cls, metadata: Metadata) -> "Sighting":
        """Return the sighting that an object's metadata amounts to."""
        return cls(metadata.key, metadata.uid, version_of(metadata.resource_version))


class _Held(Struct, Generic[T], frozen=True, gc=False):
    uid: str
    version: int
    value: T


class Store(Generic[T]):
    """A read model of one resource type. Only its informer writes to it."""

    def __init__(self, indexes: Mapping[str, IndexFunction[T]] = MappingProxyType({})) -> None:
        self._held: dict[ObjectKey, _Held[T]] = {}
        self._tombstones: dict[ObjectKey, Sighting] = {}
        self._functions = dict(indexes)
        # Dicts rather than sets of keys: smaller up to ten keys, and readers get a stable order.
        self._indexes: dict[str, dict[Hashable, dict[ObjectKey, None]]] = {
            name: {} for name in indexes
        }
        self._told = 0

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self._held)

    def __contains__(self, key: ObjectKey) -> bool:
        """Return whether there is an object under `key`."""
        return key in self._held

    def get(self, key: ObjectKey) -> T | None:
        """Return the object under `key`, or None."""
        held = self._held.get(key)
        return None if held is None else held.value

    def keys(self) -> list[ObjectKey]:
        """Return all keys as of now."""
        return list(self._held)

    def values(self) -> list[T]:
        """Return all objects as of now."""
        return [held.value for held in self._held.values()]

    def items(self) -> list[tuple[ObjectKey, T]]:
        """Return all keys with their objects as of now."""
        return [(key, held.value) for key, held in self._held.items()]

    def by(self, index: str, value: Hashable) -> list[T]:
        """Return the objects that the index function `index` files under `value`."""
        return [self._held[key].value for key in self.keys_by(index, value)]

    def keys_by(self, index: str, value: Hashable) -> list[ObjectKey]:
        """Return the keys of the objects that `index` files under `value`."""
        return list(self._indexes[index].get(value, ()))

    @property
    def told(self) -> int:
        """The version up to which lists and watch have told everything."""
        return self._told

    def advance(self, version: int) -> None:
        """Note that the watch has told everything up to `version`."""
        # A bookmark of an API server that lags behind the last one takes nothing back.
        self._told = max(self._told, version)

    def merge(self, seen: Sighting, value: Callable[[], T]) -> ObjectChange[T] | None:
        """Take what a list or the watch shows, if it is news."""
        held = self._held.get(seen.key)
        if held is not None and held.version >= seen.version:
            return None
        grave = self._tombstones.get(seen.key)
        if grave is not None and (grave.uid == seen.uid or grave.version >= seen.version):
            return None
        return self._put(seen, value())

    def remove(self, seen: Sighting) -> ObjectChange[T] | None:
        """Take the watch's word that an object is gone."""
        grave = self._tombstones.get(seen.key)
        if grave is not None and grave.uid == seen.uid:
            del self._tombstones[seen.key]
        held = self._held.get(seen.key)
        if held is None or (held.uid != seen.uid and held.version > seen.version):
            return None
        return self._drop(seen.key)

    def settle(self, listed: Collection[ObjectKey], version: int) -> list[ObjectChange[T]]:
        """End a list of that version: what it did not show and is not newer, is gone."""
        self._told = version
        for key in [key for key in self._tombstones if key not in listed]:
            del self._tombstones[key]
        missing = [
            key for key, held in self._held.items() if key not in listed and held.version <= version
        ]
        return [self._drop(key) for key in missing]

    def absorb(self, seen: Sighting, value: Callable[[], T]) -> ObjectChange[T] | None:
        """Take the answer to a write of our own, if the watch has not told it yet."""
        return self.merge(seen, value) if seen.version > self._told else None

    def absorb_deleted(self, key: ObjectKey, uid: str) -> ObjectChange[T] | None:
        """Take the answer to a delete of our own: the object is surely gone."""
        held = self._held.get(key)
        if held is None or held.uid != uid:
            return None
        self._tombstones[key] = Sighting(key, uid, held.version)
        return self._drop(key)

    def distrust(self) -> None:
        """Let the next list replace everything: the cluster's versions have gone backwards."""
        self._told = 0
        self._tombstones.clear()
        self._held = {key: _Held(held.uid, 0, held.value) for key, held in self._held.items()}

    def _put(self, seen: Sighting, value: T) -> ObjectChange[T]:
        old = self._held.get(seen.key)
        # Indexes first: an index function that raises leaves the store as it was.
        self._file(seen.key, None if old is None else old.value, value)
        self._held[seen.key] = _Held(seen.uid, seen.version, value)
        self._tombstones.pop(seen.key, None)
        return ObjectChange(seen.key, None if old is None else old.value, value)

    def _drop(self, key: ObjectKey) -> ObjectChange[T]:
        old = self._held.pop(key)
        self._file(key, old.value, None)
        return ObjectChange(key, old.value, None)

    def _file(self, key: ObjectKey, old: T | None, new: T | None) -> None:
        moves = [
            (
                self._indexes[name],
                set() if old is None else set(function(old)),
                set() if new is None else set(function(new)),
            )
            for name, function in self._functions.items()
        ]
        for shelves, before, after in moves:
            for value in after - before:
                shelves.setdefault(value, {})[key] = None
            for value in before - after:
                del shelves[value][key]
                if not shelves[value]:
                    del shelves[value]


def version_of(resource_version: str) -> int:
    """Return a resourceVersion as the number that it is."""
    if not resource_version.isdecimal():
        raise UnexpectedResponse("a resourceVersion is no number; this resource cannot be cached")
    return int(resource_version)

"""The garbage collector and the namespace controller.

The garbage collector finds owners by apiVersion, kind, name and uid. An owner of a kind that is not
served, and a namespaced one of a cluster-scoped object, count as existing: nothing is deleted.
"""

from collections.abc import Callable
from typing import Any, Final

from memory.registry import FOREGROUND, ORPHAN, DeleteOptions, Options, Registry, Target
from memory.store import Key

Body = dict[str, Any]

OPTIONS: Final = Options(manager="kube-controller-manager")


def target_of(registry: Registry, key: Key, subresource: str = "") -> Target:
    """Return an object as a target of a controller's write."""
    kind = registry.kinds.named(key.resource)
    if kind is None:
        raise AssertionError(f"{key} exists, and its kind is not served")
    return Target(kind, key.namespace, key.name, subresource)


def _delete(registry: Registry, key: Key, obj: Body, propagation: str) -> None:
    """Delete an object; one that a user deletes otherwise keeps its policy."""
    has_policy = {FOREGROUND, ORPHAN} & set(obj["metadata"].get("finalizers") or ())
    options = DeleteOptions(
        uid=obj["metadata"]["uid"], propagation="" if has_policy else propagation
    )
    registry.delete(target_of(registry, key), options)


def _with_metadata(**fields: Any) -> Callable[[Body], Body]:
    return lambda live: {**live, "metadata": {**live["metadata"], **fields}}


class GarbageCollector:
    """Deletes objects without owners, and ends deletions in the foreground and orphaning ones."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._store = registry.store

    def reconcile(self, key: Key, obj: Body) -> None:
        """Process one object as an owner, if it is being deleted, or as a dependent."""
        metadata = obj["metadata"]
        finalizers = metadata.get("finalizers") or []
        if metadata.get("deletionTimestamp"):
            if ORPHAN in finalizers:
                self._orphan_dependents(key, obj)
            elif FOREGROUND in finalizers:
                self._delete_dependents(key, obj)
        elif metadata.get("ownerReferences"):
            self._collect(key, obj)

    def _collect(self, key: Key, obj: Body) -> None:
        references: list[Body] = obj["metadata"]["ownerReferences"]
        owners = [(each, self._owner(key, each)) for each in references]
        solid = [each for each, owner in owners if owner is not None and not _waits(owner)]
        is_awaited = any(owner is not None and _waits(owner) for _, owner in owners)
        if len(solid) == len(references):
            return
        if solid:
            self._patch(key, _with_metadata(ownerReferences=solid))
        elif is_awaited and self._store.dependents(obj["metadata"]["uid"]):
            _delete(self._registry, key, obj, "Foreground")
        else:
            _delete(self._registry, key, obj, "Background")

    def _owner(self, dependent: Key, reference: Body) -> Body | None:
        kind = self._registry.kinds.of_owner(reference["apiVersion"], reference["kind"])
        is_invalid = kind is not None and kind.resource.namespaced and not dependent.namespace
        if kind is None or is_invalid:
            return reference
        namespace = dependent.namespace if kind.resource.namespaced else ""
        owner = self._store.get(Key(kind.resource.name, namespace, reference["name"]))
        return owner if owner and owner["metadata"]["uid"] == reference["uid"] else None

    def _delete_dependents(self, key: Key, obj: Body) -> None:
        uid = obj["metadata"]["uid"]
        for each, live in self._dependents(uid):
            if not live["metadata"].get("deletionTimestamp"):
                self._collect(each, live)
        if not any(_blocks(live, uid) for _, live in self._dependents(uid)):
            self._remove_finalizer(key, obj, FOREGROUND)

    def _dependents(self, uid: str) -> list[tuple[Key, Body]]:
        keys = self._store.dependents(uid)
        return [(key, obj) for key in keys if (obj := self._store.get(key)) is not None]

    def _orphan_dependents(self, key: Key, obj: Body) -> None:
        uid = obj["metadata"]["uid"]
        for each, live in self._dependents(uid):
            owners = live["metadata"]["ownerReferences"]
            others = [owner for owner in owners if owner["uid"] != uid]
            self._patch(each, _with_metadata(ownerReferences=others))
        self._remove_finalizer(key, obj, ORPHAN)

    def _remove_finalizer(self, key: Key, obj: Body, finalizer: str) -> None:
        finalizers = obj["metadata"]["finalizers"]
        left = [each for each in finalizers if each != finalizer]
        self._patch(key, _with_metadata(finalizers=left))

    def _patch(self, key: Key, change: Callable[[Body], Body]) -> None:
        self._registry.patch(target_of(self._registry, key), change, OPTIONS)


class NamespaceController:
    """Deletes the content of a Namespace that is being deleted, then the Namespace."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._store = registry.store

    def reconcile(self, key: Key, obj: Body) -> None:
        """Process one object."""
        if key.resource != "namespaces" or not obj["metadata"].get("deletionTimestamp"):
            return
        for each in self._store.in_namespace(key.name):
            live = self._store.get(each)
            if live is not None and not live["metadata"].get("deletionTimestamp"):
                _delete(self._registry, each, live, "Background")
        if not self._store.in_namespace(key.name):
            target = target_of(self._registry, key, "finalize")
            self._registry.patch(target, lambda live: {**live, "spec": {}}, OPTIONS)


def _waits(owner: Body) -> bool:
    """Return whether an owner is deleted in the foreground."""
    metadata = owner.get("metadata", {})
    finalizers = metadata.get("finalizers") or ()
    return bool(metadata.get("deletionTimestamp")) and FOREGROUND in finalizers


def _blocks(dependent: Body, uid: str) -> bool:
    return any(
        owner["uid"] == uid and owner.get("blockOwnerDeletion")
        for owner in dependent["metadata"].get("ownerReferences") or ()
    )

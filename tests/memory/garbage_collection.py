"""The controllers of the controller-manager that delete: of owned objects, Namespaces and Jobs.

Each works on one object at a time, in the order in which the objects changed. They run in the next
turn of the event loop, or step by step while they are paused.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from memory.kinds import Kinds
from memory.registry import FOREGROUND, ORPHAN, DeleteOptions, Options, Registry, Target
from memory.store import Change, Key, Store, owner_uids

Body = dict[str, Any]

_OPTIONS = Options(manager="kube-controller-manager")


class DeletionControllers:
    """The garbage collector, the namespace controller and the TTL controller of Jobs."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._store: Store = registry.store
        self._kinds: Kinds = registry.kinds
        self._pending: dict[Key, None] = {}
        self.due: list[tuple[datetime, Key]] = []
        """The finished Jobs that are deleted later."""
        self._store.on_change(self._changed)

    @property
    def has_work(self) -> bool:
        """Whether an object is to be processed."""
        return bool(self._pending)

    def add(self, key: Key) -> None:
        """Process an object."""
        self._pending[key] = None

    def step(self) -> bool:
        """Process one object; return whether there was one."""
        if not self._pending:
            return False
        key = next(iter(self._pending))
        del self._pending[key]
        obj = self._store.get(key)
        if obj is None:
            return True
        if obj["metadata"].get("deletionTimestamp"):
            self._finalize(key, obj)
        elif key.resource == "jobs.batch" and self._is_expired(obj):
            self._delete(key, obj, "Background")
        else:
            self._collect(key, obj)
        return True

    def _changed(self, change: Change) -> None:
        obj = change.after or change.before
        if obj is None:
            return
        uid = obj["metadata"]["uid"]
        if change.after is None:
            self._pending |= dict.fromkeys(self._store.dependents(uid))
            self._pending |= dict.fromkeys(self._owners(obj))
            if change.key.namespace:
                self._pending[Key("namespaces", "", change.key.namespace)] = None
            return
        if change.before is not None:
            self._pending |= dict.fromkeys(self._owners(change.before))
        self._pending[change.key] = None
        if change.key.resource == "jobs.batch":
            self._schedule(change.key, obj)

    def _owners(self, obj: Body) -> Iterator[Key]:
        for uid in owner_uids(obj):
            if key := self._store.key_of(uid):
                yield key

    # The garbage collector

    def _collect(self, key: Key, obj: Body) -> None:
        """Delete an object without owners; remove references to owners that do not exist."""
        references = obj["metadata"].get("ownerReferences") or []
        if not references:
            return
        owners = [(each, self._owner(key, each)) for each in references]
        solid = [each for each, owner in owners if owner is not None and not _waits(owner)]
        waiting = [each for each, owner in owners if owner is not None and _waits(owner)]
        if solid:
            if len(solid) < len(references):
                self._set_owners(key, obj, solid)
            return
        if waiting and self._store.dependents(obj["metadata"]["uid"]):
            self._delete(key, obj, "Foreground")
            return
        self._delete(key, obj, "Background")

    def _owner(self, dependent: Key, reference: Body) -> Body | None:
        """Return the owner that a reference names; one of a kind that is not served counts."""
        kind = self._kinds.of_owner(reference["apiVersion"], reference["kind"])
        if kind is None:
            return reference
        namespace = dependent.namespace if kind.resource.namespaced else ""
        owner = self._store.get(Key(kind.resource.name, namespace, reference["name"]))
        if owner is None or owner["metadata"]["uid"] != reference["uid"]:
            return None
        return owner

    def _finalize(self, key: Key, obj: Body) -> None:
        finalizers = obj["metadata"].get("finalizers") or []
        dependents = self._store.dependents(obj["metadata"]["uid"])
        if ORPHAN in finalizers:
            for dependent in dependents:
                self._orphan(dependent, obj["metadata"]["uid"])
            self._remove_finalizer(key, obj, ORPHAN)
        elif FOREGROUND in finalizers:
            self._finalize_foreground(key, obj, dependents)
        elif key.resource == "namespaces":
            self._finalize_namespace(key, obj)

    def _finalize_foreground(self, key: Key, obj: Body, dependents: list[Key]) -> None:
        uid = obj["metadata"]["uid"]
        blocking = [
            dependent
            for dependent in dependents
            if (live := self._store.get(dependent)) is not None and _blocks(live, uid)
        ]
        if not blocking:
            self._remove_finalizer(key, obj, FOREGROUND)
            return
        for dependent in dependents:
            live = self._store.get(dependent)
            if live is not None and not live["metadata"].get("deletionTimestamp"):
                self._pending[dependent] = None

    def _orphan(self, key: Key, uid: str) -> None:
        obj = self._store.get(key)
        if obj is not None:
            owners = obj["metadata"].get("ownerReferences") or []
            self._set_owners(key, obj, [each for each in owners if each["uid"] != uid])

    # The namespace controller

    def _finalize_namespace(self, key: Key, obj: Body) -> None:
        """Delete the content of a Namespace, then the Namespace."""
        content = self._store.in_namespace(key.name)
        for each in content:
            live = self._store.get(each)
            if live is not None and not live["metadata"].get("deletionTimestamp"):
                self._delete(each, live, "Background")
        if self._store.in_namespace(key.name):
            return
        self._patch(key, "finalize", lambda live: {**live, "spec": {}}, obj)

    # The TTL controller

    def _schedule(self, key: Key, obj: Body) -> None:
        if expires := _expiry(obj):
            self.due.append((expires, key))

    def _is_expired(self, obj: Body) -> bool:
        expires = _expiry(obj)
        return expires is not None and expires <= datetime.fromisoformat(self._registry.now)

    # Writes

    def _target(self, key: Key, subresource: str = "") -> Target | None:
        kind = self._kinds.named(key.resource)
        return Target(kind, key.namespace, key.name, subresource) if kind else None

    def _delete(self, key: Key, obj: Body, propagation: str) -> None:
        if target := self._target(key):
            finalizers = obj["metadata"].get("finalizers") or []
            # Without a policy, an object keeps the finalizers of its own policy.
            policy = "" if {FOREGROUND, ORPHAN} & set(finalizers) else propagation
            uid = obj["metadata"]["uid"]
            self._registry.delete(target, DeleteOptions(uid=uid, propagation=policy))

    def _set_owners(self, key: Key, obj: Body, owners: list[Body]) -> None:
        def with_owners(live: Body) -> Body:
            return {**live, "metadata": {**live["metadata"], "ownerReferences": owners}}

        self._patch(key, "", with_owners, obj)

    def _remove_finalizer(self, key: Key, obj: Body, finalizer: str) -> None:
        def without(live: Body) -> Body:
            left = [each for each in live["metadata"].get("finalizers") or () if each != finalizer]
            return {**live, "metadata": {**live["metadata"], "finalizers": left}}

        self._patch(key, "", without, obj)

    def _patch(self, key: Key, subresource: str, change: Any, obj: Body) -> None:
        live = self._store.get(key)
        target = self._target(key, subresource)
        if target and live is not None and live["metadata"]["uid"] == obj["metadata"]["uid"]:
            self._registry.patch(target, change, _OPTIONS)


def _waits(owner: Body) -> bool:
    """Return whether an owner is deleted in the foreground."""
    metadata = owner.get("metadata", {})
    return bool(metadata.get("deletionTimestamp")) and FOREGROUND in (
        metadata.get("finalizers") or ()
    )


def _blocks(dependent: Body, uid: str) -> bool:
    return any(
        owner["uid"] == uid and owner.get("blockOwnerDeletion")
        for owner in dependent["metadata"].get("ownerReferences") or ()
    )


def _expiry(job: Body) -> datetime | None:
    """Return when a finished Job is deleted."""
    seconds = (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    finished = [
        condition["lastTransitionTime"]
        for condition in (job.get("status") or {}).get("conditions") or ()
        if condition["type"] in {"Complete", "Failed"} and condition["status"] == "True"
    ]
    if seconds is None or not finished:
        return None
    return datetime.fromisoformat(finished[0]) + timedelta(seconds=seconds)

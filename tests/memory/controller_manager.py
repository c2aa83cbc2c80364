"""The controllers of the controller-manager: they run in the turn after a change, or step by step.

One queue holds the objects to look at, in the order in which they changed. Each step gives the next
one to every controller; a controller decides by the state of the object, as real ones do.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memory.garbage_collection import GarbageCollector, NamespaceController
from memory.registry import Registry
from memory.store import Change, Key, owner_uids
from memory.workloads import DeploymentController, JobController

Body = dict[str, Any]


class ControllerManager:
    """Garbage collection, termination of Namespaces, Jobs and Deployments."""

    def __init__(self, registry: Registry) -> None:
        self._store = registry.store
        self._pending: dict[Key, None] = {}
        self._due: list[tuple[datetime, Key]] = []
        self._controllers = (
            GarbageCollector(registry),
            NamespaceController(registry),
            JobController(registry, self._add_at),
            DeploymentController(registry, self._add_at),
        )
        self._store.on_change(self._changed)

    @property
    def has_work(self) -> bool:
        """Whether an object is to be looked at."""
        return bool(self._pending)

    def take_due(self) -> list[tuple[datetime, Key]]:
        """Return the objects to be looked at later, which the caller adds in time."""
        due, self._due = self._due, []
        return due

    def add(self, key: Key) -> None:
        """Look at an object."""
        self._pending[key] = None

    def _add_at(self, moment: datetime, key: Key) -> None:
        self._due.append((moment, key))

    def step(self) -> bool:
        """Look at one object; return whether there was one."""
        if not self._pending:
            return False
        key = next(iter(self._pending))
        del self._pending[key]
        for controller in self._controllers:
            if (obj := self._store.get(key)) is not None:
                controller.reconcile(key, obj)
        return True

    def _changed(self, change: Change) -> None:
        if change.after is not None:
            self.add(change.key)
        if change.before is not None:
            for key in self._affected(change.key, change.before):
                self.add(key)
        if change.after is None and change.before is not None:
            for key in self._store.dependents(change.before["metadata"]["uid"]):
                self.add(key)

    def _affected(self, key: Key, before: Body) -> Iterator[Key]:
        """Yield the owners of an object, and its Namespace: they may wait for its end."""
        for uid in owner_uids(before):
            if owner := self._store.key_of(uid):
                yield owner
        if key.namespace:
            yield Key("namespaces", "", key.namespace)

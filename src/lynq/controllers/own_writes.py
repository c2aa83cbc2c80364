"""Tells the watch events of our own writes from the changes of others.

The response to a write wakes no node: the reconcile that sent it uses the response. But the watch
event of the write often arrives before the response, and looks like a change by another client.
While a write of an object is in flight, its changes are therefore held back. The response has the
version that the write created: the reconcile has seen the changes up to it. A later one, or any if
the write was rejected, is delivered when the write has ended. No reaction is late: the node is
being reconciled until then.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, TypeVar

from lynq.api.metadata import ObjectKey

C = TypeVar("C")

DELETED: Final = inf
"""The version of a deleted object: no other state of it follows."""


@dataclass(slots=True)
class _Write(Generic[C]):
    change: C | None = None
    """The last change that was held back."""
    changed_to: float = 0
    written: float = 0
    """The version that the write created; 0 until the API server has accepted it."""


class OwnWrites(Generic[C]):
    """The writes in flight of the objects of one kind."""

    def __init__(self, deliver: Callable[[C], None]) -> None:
        """`deliver` is called with changes that turn out to be those of others."""
        self._deliver = deliver
        self._writes: dict[ObjectKey, _Write[C]] = {}

    @contextmanager
    def in_flight(self, key: ObjectKey) -> Iterator[None]:
        """Hold back the changes of an object while a write of it is in flight.

        Two nodes may write one object at the same time; then the first write decides.
        """
        if key in self._writes:
            yield
            return
        write = self._writes[key] = _Write()
        try:
            yield
        finally:
            del self._writes[key]
            if write.change is not None and write.changed_to > write.written:
                self._deliver(write.change)

    def hold_back(self, key: ObjectKey, change: C, version: float) -> bool:
        """Return whether a change to this version is held back, which replaces an earlier one."""
        write = self._writes.get(key)
        if write is None:
            return False
        write.change, write.changed_to = change, version
        return True

    def accepted(self, key: ObjectKey, version: float) -> None:
        """Record the version of a write that the API server has accepted."""
        if write := self._writes.get(key):
            write.written = version

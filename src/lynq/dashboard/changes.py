"""The log of changes: what a stream has to send since the last message that its client received."""

import asyncio
import secrets
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from lynq.api.metadata import ObjectKey
from lynq.dashboard.options import MAX_CHANGES


class Change(NamedTuple):
    """A hub, form or node that changed."""

    revision: int
    kind: str
    """Hub, Form or Node."""
    key: ObjectKey


class ChangeLog:
    """The last changes in a ring buffer, each with a revision that only grows."""

    def __init__(self, size: int = MAX_CHANGES) -> None:
        # Revisions of another process mean nothing here.
        self.instance = secrets.token_hex(4)
        self.revision = 0
        self._changes: deque[Change] = deque(maxlen=size)
        self._changed = asyncio.Event()

    def add(self, kind: str, key: ObjectKey) -> None:
        """Record a change."""
        self.revision += 1
        self._changes.append(Change(self.revision, kind, key))
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, revision: int) -> None:
        """Wait until there is a change after a revision."""
        while self.revision <= revision:
            await self._changed.wait()

    def since(self, revision: int) -> list[tuple[str, ObjectKey]] | None:
        """Return what changed after a revision, each object once; None if the log is too short."""
        if revision >= self.revision:
            return []
        if not self._changes or self._changes[0].revision > revision + 1:
            return None
        return list(dict.fromkeys(_after(self._changes, revision)))

    def event_id(self) -> str:
        """Return the id of a message that has everything up to now."""
        return f"{self.instance}-{self.revision}"

    def resume(self, event_id: str) -> int | None:
        """Return the revision of the last message of a client; None if it cannot resume."""
        instance, _, revision = event_id.partition("-")
        is_own = instance == self.instance and revision.isascii() and revision.isdigit()
        return int(revision[:18]) if is_own else None


def _after(changes: Iterable[Change], revision: int) -> Iterable[tuple[str, ObjectKey]]:
    return ((change.kind, change.key) for change in changes if change.revision > revision)

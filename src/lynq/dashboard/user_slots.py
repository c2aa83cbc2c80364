"""Lets each user have a few things under way: the next ones wait, and too many are refused.

The sessions of a user count together, so that another login is no way around.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lynq.dashboard.guards import RequestRefused


class UserSlots:
    """The slots of all users."""

    def __init__(self, at_once: int, most: int, things: str) -> None:
        """Let `at_once` of `most` things go on; the name of the things is for messages."""
        self._at_once = at_once
        self._most = most
        self._things = things
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._under_way: Counter[str] = Counter()

    @asynccontextmanager
    async def of(self, user: str) -> AsyncIterator[None]:
        """Wait for a slot of a user, and hold it; raises RequestRefused."""
        if self._under_way[user] >= self._most:
            raise RequestRefused(429, f"Too many of your {self._things} are under way: wait.")
        self._under_way[user] += 1
        slots = self._slots.setdefault(user, asyncio.Semaphore(self._at_once))
        try:
            async with slots:
                yield
        finally:
            self._under_way[user] -= 1
            if not self._under_way[user]:
                del self._under_way[user], self._slots[user]

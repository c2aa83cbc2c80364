"""The time that a read may take, all its waits together."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lynq.sources.errors import Endpoint, QueryTimedOut


class Deadline:
    """Begins when it is made. What the caller does between two pages counts too."""

    def __init__(self, seconds: float, place: Endpoint, table: str) -> None:
        self._seconds = seconds
        self._place = place
        self._table = table
        self.at = asyncio.get_running_loop().time() + seconds

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Run the block, and end it when the time is up."""
        try:
            async with asyncio.timeout_at(self.at):
                yield
        except TimeoutError:
            raise QueryTimedOut(
                f"reading took longer than {self._seconds:g} s",
                place=self._place,
                table=self._table,
            ) from None

"""Run things beside a test, and end them with it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def run_in_background(*things: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run `things` while the block does; if one fails, so does the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(thing) for thing in things]
        yield
        for task in tasks:
            task.cancel()

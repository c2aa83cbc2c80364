"""Keep a listener listening: set it up again when it fails, and say so.

An engine brings a coroutine that connects, rings the bell and never returns: it raises a
`SourceError` when the connection is lost, and cleans up when it is cancelled. Everything that the
engines have in common is here, in one task per channel that ends with the `async with`.

Push is a convenience, the poll is what makes a hub right. So nothing that a listener does ends the
hub: even a failure nobody thought of is logged, told as a loss, and tried again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog

from lynq.sources.base import ChangeStream
from lynq.sources.errors import SourceError
from lynq.sources.push.bell import ChangeNotifier
from lynq.sources.push.timing import PushTiming

Listen = Callable[[ChangeNotifier], Awaitable[None]]

_log = structlog.get_logger(__name__)


@asynccontextmanager
async def listening(listen: Listen, timing: PushTiming) -> AsyncIterator[ChangeStream]:
    """Listen while the block runs; what it yields is what the listener hears."""
    bell = ChangeNotifier(timing.interval)
    listener = asyncio.create_task(_keep_listening(listen, bell, timing), name="push channel")
    try:
        yield bell
    finally:
        listener.cancel()
        await asyncio.wait([listener])


async def _keep_listening(listen: Listen, bell: ChangeNotifier, timing: PushTiming) -> None:
    clock = asyncio.get_running_loop().time
    failures = 0
    while True:
        began = clock()
        bell.lost(await _listen_once(listen, bell))
        if clock() - began > timing.steady:
            failures = 0
        await asyncio.sleep(timing.retry(failures))
        failures += 1


async def _listen_once(listen: Listen, bell: ChangeNotifier) -> SourceError:
    """Listen until the channel is lost, and return why."""
    try:
        await listen(bell)
    except SourceError as error:
        return error
    except Exception as error:  # noqa: BLE001 - see the module's docstring
        _log.exception("push channel failed unexpectedly")
        return SourceError(f"the push channel failed unexpectedly: {type(error).__name__}")
    return SourceError("the push channel ended")

"""Reads a hub's rows beside the reconciles, over a source that stays open between reads.

Its Secrets are looked at before each read: a source stays open only as long as they say the same.
Connections outlive the password they were opened with, so the database alone would not tell.
"""

import random

import structlog

from lynq.api import LynqHub
from lynq.api.metadata import ObjectKey
from lynq.controllers.concurrency import BackgroundJobs
from lynq.controllers.context import ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.hub.source_config import SourceConfig, SourceConfigLoader
from lynq.controllers.hub.state import HubState, OpenSource, ReadRows, UserRequests
from lynq.core.hub.events import query_failed
from lynq.core.hub.schedule import retry_delay, sync_interval
from lynq.core.hub.status import ReadFailure
from lynq.kube import WorkQueue
from lynq.kube.errors import error_location
from lynq.sources import SourceError, open_source
from lynq.sources.errors import LoginFailed

_log = structlog.get_logger(__name__)


class RowReader:
    """Begins reads, and remembers how they ended."""

    def __init__(
        self,
        world: ControllerContext,
        queue: WorkQueue[ObjectKey],
        teller: EventEmitter,
        jobs: BackgroundJobs,
    ) -> None:
        self._world = world
        self._queue = queue
        self._teller = teller
        self._jobs = jobs
        self._sourcing = SourceConfigLoader(world.client, world.options.sqlite_directory)

    def begin(self, hub: LynqHub, memory: HubState) -> None:
        """Read all rows; the hub is woken when that has ended, one way or the other."""
        orders = memory.orders = UserRequests.of(hub)
        memory.began = self._world.now()
        # Taken before the read: what is told from now on may not be in it.
        memory.wants_read = False
        memory.reading = self._jobs.start(
            lambda: self._read(hub, memory, orders), name=f"rows of {hub.metadata.key}"
        )

    def abandon(self, memory: HubState) -> None:
        """End a read whose outcome nobody wants any more: it may hang for a minute."""
        if memory.reading:
            memory.reading.cancel()
            memory.reading = None

    async def _read(self, hub: LynqHub, memory: HubState, orders: UserRequests) -> None:
        key = hub.metadata.key
        try:
            self._succeeded(hub, memory, await self._rows(hub, memory, orders))
        except SourceError as error:
            self._failed(hub, memory, _cause(error, memory))
        except Exception as error:  # noqa: BLE001 - a bug here must not end the reads of all hubs
            _log.error("reading failed unexpectedly", hub=str(key), traceback=error_location(error))
            self._failed(hub, memory, f"unexpectedly: {type(error).__name__}")
        finally:
            # One that was abandoned may end after the next has begun.
            if memory.orders is orders:
                memory.reading = None
        self._queue.add(key, group=str(key))

    async def _rows(self, hub: LynqHub, memory: HubState, orders: UserRequests) -> ReadRows:
        origin = await self._origin(hub, memory)
        opened = memory.opened
        if opened is None or opened.settings != origin.settings:
            await close_source(memory)
            opened = memory.opened = OpenSource(origin.settings, open_source(origin.settings))
        async with opened.source.read(origin.query) as reading:
            rows = [row async for page in reading for row in page]
        identity = reading.summary.identity.digest
        return ReadRows(rows, identity, self._world.now(), orders)

    async def _origin(self, hub: LynqHub, memory: HubState) -> SourceConfig:
        try:
            origin = await self._sourcing.origin(hub.spec, hub.metadata.namespace)
        except SourceError:
            # A password that was withdrawn is used no longer, not even by what it has opened.
            memory.origin = None
            await close_source(memory)
            raise
        memory.origin = origin
        return origin

    def _succeeded(self, hub: LynqHub, memory: HubState, rows: ReadRows) -> None:
        memory.rows = rows
        memory.unread = None
        memory.failures = 0
        memory.retry_at = None
        memory.replan = True
        self._world.series.record_source_up(hub.metadata.key, up=True)

    def _failed(self, hub: LynqHub, memory: HubState, cause: str) -> None:
        key = hub.metadata.key
        if memory.unread is None or memory.unread.cause != cause:
            _log.warning("rows could not be read", hub=str(key), cause=cause)
            self._teller.tell(hub, query_failed(cause))
        memory.unread = ReadFailure(cause, hub.metadata.generation)
        memory.failures += 1
        delay = retry_delay(
            memory.failures,
            sync_interval(hub.spec.source.sync_interval),
            jitter=random.random(),  # noqa: S311 - no secret
        )
        memory.retry_at = self._world.now() + delay
        self._world.series.record_source_up(key, up=False)


async def close_source(memory: HubState) -> None:
    """Close the source that is open, if one is."""
    opened, memory.opened = memory.opened, None
    if opened:
        await opened.source.close()


def _cause(error: SourceError, memory: HubState) -> str:
    remark = memory.origin.remark if memory.origin else ""
    return f"{error}; {remark}" if remark and isinstance(error, LoginFailed) else str(error)

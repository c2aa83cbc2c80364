"""Keeps a hub's push channel: word of changes makes the hub read, loss of it shows in its status.

The poll goes on beside it, so whatever happens here a hub stays right; it is only later to know.
"""

from typing import Final

import structlog

from lynq.api import ChangeDetection, LynqHub
from lynq.api.metadata import ObjectKey
from lynq.controllers.concurrency import BackgroundJobs
from lynq.controllers.hub.source_config import SourceConfig
from lynq.controllers.hub.state import HubState, PushChannel
from lynq.core.hub.status import PushState
from lynq.kube import WorkQueue
from lynq.kube.errors import error_location
from lynq.sources import SourceChange, SourceChangeKind, open_changes

_log = structlog.get_logger(__name__)

_SECRET_MAY_HAVE_CHANGED: Final = frozenset({"LoginFailed", "WrongPassword", "TLSFailed"})
_NOWHERE: Final = PushState(
    connected=False, message="where to listen is not known: the condition Ready says why"
)


class PushSubscriptions:
    """The push channels of all hubs."""

    def __init__(self, queue: WorkQueue[ObjectKey], jobs: BackgroundJobs) -> None:
        self._queue = queue
        self._jobs = jobs

    def keep(self, hub: LynqHub, memory: HubState) -> None:
        """Listen to what the hub reads, if it wants that; stop listening to anything else."""
        wants = _wants_push(hub)
        wanted = memory.origin if wants else None
        if not _hears(memory.channel, wanted):
            self.stop(memory)
            if wanted:
                memory.channel = self._listen(hub.metadata.key, memory, wanted)
        if wants and wanted is None and memory.unread:
            memory.push = _NOWHERE

    def stop(self, memory: HubState) -> None:
        """Close the channel."""
        if memory.channel:
            memory.channel.job.cancel()
        memory.channel = memory.push = None

    def _listen(self, key: ObjectKey, memory: HubState, origin: SourceConfig) -> PushChannel:
        settings, table = origin.settings, origin.query.table

        async def listen() -> None:
            try:
                async with open_changes(settings, table) as changes:
                    async for change in changes:
                        self._hear(key, memory, change)
            except Exception as error:  # noqa: BLE001 - one channel must not end all others
                _log.error(
                    "push channel ended unexpectedly", hub=str(key), traceback=error_location(error)
                )
                memory.push = PushState(connected=False, message=f"ended by {type(error).__name__}")
                self._queue.add(key, group=str(key))

        return PushChannel(settings, table, self._jobs.start(listen, name=f"changes of {key}"))

    def _hear(self, key: ObjectKey, memory: HubState, change: SourceChange) -> None:
        match change.kind:
            case SourceChangeKind.CONNECTED:
                memory.push = PushState(
                    connected=True, message="changes of the table arrive at once"
                )
            case SourceChangeKind.ARRIVED:
                memory.wants_read = True
            case SourceChangeKind.LOST:
                message = f"{change.message}; until then the table is polled"
                memory.push = PushState(connected=False, message=message)
                # A read finds out, and the channel is opened again with what it has found.
                memory.wants_read = memory.wants_read or change.reason in _SECRET_MAY_HAVE_CHANGED
        self._queue.add(key, group=str(key))


def _wants_push(hub: LynqHub) -> bool:
    return hub.spec.source.changes is ChangeDetection.PUSH and not hub.spec.paused


def _hears(channel: PushChannel | None, wanted: SourceConfig | None) -> bool:
    if channel is None or wanted is None:
        return channel is None and wanted is None
    return (channel.settings, channel.table) == (wanted.settings, wanted.query.table)

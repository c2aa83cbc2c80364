"""Maintains the push subscriptions of hubs: a change triggers a read, a lost channel is reported.

The table is polled as well, so a hub without its channel is correct, only later.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog

from lynq.api import ChangeDetection, LynqHub
from lynq.api.metadata import ObjectKey
from lynq.controllers.concurrency import BackgroundJobs
from lynq.controllers.hub.source_config import SourceConfig
from lynq.controllers.hub.state import HubState, PushChannel, SourceState
from lynq.core.hub.status import PushState
from lynq.kube import WorkQueue
from lynq.kube.errors import error_location
from lynq.sources import SourceChange, SourceChangeKind, open_changes
from lynq.sources.push.channel import PushTiming, reconnect_forever

_log = structlog.get_logger(__name__)

_SECRET_MAY_HAVE_CHANGED: Final = frozenset(
    {"LoginFailed", "UnverifiedServer", "WrongPassword", "TLSFailed"}
)
_NO_SOURCE: Final = PushState(connected=False, message="push source unknown; see condition Ready")


class PushSubscriptions:
    """The push channels of all hubs."""

    def __init__(
        self,
        clock: Callable[[], datetime],
        queue: WorkQueue[ObjectKey],
        jobs: BackgroundJobs,
    ) -> None:
        self._clock = clock
        self._queue = queue
        self._jobs = jobs

    def ensure(self, hub: LynqHub, state: HubState) -> None:
        """Subscribe to the table that the hub reads if it uses push; close any other channel."""
        uses_push = _uses_push(hub)
        source = state.source
        config = source.config if uses_push else None
        if not _is_subscribed_to(source.channel, config):
            self.close(source)
            if config:
                source.channel = self._subscribe(hub.metadata.key, state, config)
        if uses_push and config is None and state.read.failure:
            source.push = _NO_SOURCE

    def close(self, source: SourceState) -> None:
        """Close the channel."""
        if source.channel:
            source.channel.job.cancel()
        source.channel = source.push = None

    def _subscribe(self, key: ObjectKey, state: HubState, config: SourceConfig) -> PushChannel:
        settings, query = config.settings, config.query
        # A channel reconnects by itself; this opens one again that ended by a defect.
        listen = partial(reconnect_forever, partial(self._listen, key, state, config), PushTiming())
        job = self._jobs.start(listen, name=f"changes of {key}")
        return PushChannel(settings, query.table, query.uid, job)

    async def _listen(self, key: ObjectKey, state: HubState, config: SourceConfig) -> None:
        """Handle the changes of a channel until it ends, which is reported."""
        query = config.query
        try:
            async with open_changes(config.settings, query.table, uid=query.uid) as changes:
                async for change in changes:
                    self._handle(key, state, change)
        except Exception as error:  # noqa: BLE001 - one channel must not end all others
            _log.error(
                "push channel ended unexpectedly", hub=str(key), traceback=error_location(error)
            )
            message = f"ended by {type(error).__name__}; until it is up the table is polled"
            state.source.push = PushState(connected=False, message=message)
            self._queue.add(key, group=str(key))

    def _handle(self, key: ObjectKey, state: HubState, change: SourceChange) -> None:
        read = state.read
        match change.kind:
            case SourceChangeKind.CONNECTED:
                state.source.push = PushState(
                    connected=True, message="changes of the table are pushed"
                )
            case SourceChangeKind.ARRIVED:
                uids = change.uids if state.source.selects_rows else None
                read.record_change(uids, self._clock() - timedelta(seconds=change.waited))
            case SourceChangeKind.LOST:
                message = f"{change.message}; until then the table is polled"
                state.source.push = PushState(connected=False, message=message)
                # The read resolves the Secrets again; a new config re-opens the channel.
                read.requested = read.requested or change.reason in _SECRET_MAY_HAVE_CHANGED
        self._queue.add(key, group=str(key))


def _uses_push(hub: LynqHub) -> bool:
    return hub.spec.source.changes is ChangeDetection.PUSH and not hub.spec.paused


def _is_subscribed_to(channel: PushChannel | None, config: SourceConfig | None) -> bool:
    if channel is None or config is None:
        return channel is None and config is None
    query = config.query
    return (channel.settings, channel.table, channel.uid) == (
        config.settings,
        query.table,
        query.uid,
    )

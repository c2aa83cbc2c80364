"""Reads the rows of hubs in background jobs, over sources that stay open between reads.

A hub's Secrets are resolved before its rows are read, and a changed Secret starts a read and closes
the source: connections outlive the password that they were opened with.
"""

import random
import time
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from lynq.api import LynqHub
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import hub_by_label, pair_or_spec
from lynq.controllers.concurrency import BackgroundJobs
from lynq.controllers.context import BY_HUB, ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.hub.source_config import SourceConfig, SourceConfigLoader
from lynq.controllers.hub.source_objects import Data, SourceObject, WatchedObjects
from lynq.controllers.hub.state import HubState, OpenSource, SourceState
from lynq.core.guard.absence import ReadTime
from lynq.core.hub.events import query_failed
from lynq.core.hub.schedule import (
    backoff_delay,
    push_interval,
    sync_interval,
    uids_to_select,
)
from lynq.core.hub.selected_rows import (
    IndexedRows,
    SelectedRows,
    after_selected_read,
    differing_rows,
)
from lynq.core.hub.state import PlanState, ReadRows, ReadState, UserRequests
from lynq.core.hub.status import ReadFailure
from lynq.kube import WorkQueue
from lynq.kube.errors import error_location
from lynq.sources import SourceError, open_source
from lynq.sources.errors import LoginFailed, NotComplete, NotSelectable

_log = structlog.get_logger(__name__)


class RowReader:
    """Starts reads and records their results."""

    def __init__(
        self,
        context: ControllerContext,
        queue: WorkQueue[ObjectKey],
        emitter: EventEmitter,
        jobs: BackgroundJobs,
    ) -> None:
        self._context = context
        self._queue = queue
        self._emitter = emitter
        self._jobs = jobs
        self._configs = SourceConfigLoader(
            context.client,
            context.options.sqlite_directory,
            context.options.max_read_bytes,
            context.options.denied_hosts,
        )
        self._objects = WatchedObjects(context.client, jobs)

    def start(self, hub: LynqHub, state: HubState) -> None:
        """Read in the background; the end of the read requeues the hub.

        All rows are read, unless it is known which ones have changed.
        """
        read = state.read
        now = self._context.clock()
        uids = uids_to_select(hub, read, now)
        requests = read.requests = UserRequests.of(hub)
        read.started_at = now
        read.min_interval = self._context.timing.min_read_interval
        changed_at, read.changed_at = read.changed_at or now, None
        # Reset before the read: it may miss changes from now on.
        read.changed_uids = frozenset()
        if uids is not None and read.rows:
            last = read.rows
            read.job = self._jobs.start(
                lambda: self._read_selected(hub, state, requests, changed_at, last=last, uids=uids),
                name=f"changed rows of {hub.metadata.key}",
            )
            return
        read.requested = False
        # A confirming read on the same connection would ask the same replica, which may lag.
        reconnect = read.confirm_at is not None and read.confirm_at <= now
        read.confirm_at = None
        read.job = self._jobs.start(
            lambda: self._read(hub, state, requests, changed_at, reconnect=reconnect),
            name=f"rows of {hub.metadata.key}",
        )

    def abandon(self, read: ReadState) -> None:
        """Cancel a read whose result is useless: it may hang for a minute."""
        if read.job:
            read.job.cancel()
            read.job = None

    def forget(self, hub: ObjectKey) -> None:
        """Close the watches of the Secrets and ConfigMaps that only this hub uses."""
        self._objects.release(hub, except_for=frozenset())

    async def _read(
        self,
        hub: LynqHub,
        state: HubState,
        requests: UserRequests,
        changed_at: datetime,
        *,
        reconnect: bool,
    ) -> None:
        key = hub.metadata.key
        try:
            if reconnect:
                await close_source(state.source)
            rows = await self._rows(hub, state, requests)
            self._succeeded(hub, state, replace(rows, changed_at=changed_at))
        except SourceError as error:
            self._failed(hub, state.read, _cause(error, state.source))
        except Exception as error:  # noqa: BLE001 - a bug here must not end the reads of all hubs
            _log.error("read failed unexpectedly", hub=str(key), traceback=error_location(error))
            self._failed(hub, state.read, f"unexpected error: {type(error).__name__}")
        finally:
            # An abandoned read may end after the next one has started.
            if state.read.requests is requests:
                state.read.job = None
        self._queue.add(key, group=str(key))

    async def _read_selected(
        self,
        hub: LynqHub,
        state: HubState,
        requests: UserRequests,
        changed_at: datetime,
        *,
        last: ReadRows,
        uids: frozenset[str],
    ) -> None:
        """Read the rows with some uids; if the result is in doubt, request a read of all rows."""
        key, read = hub.metadata.key, state.read
        began = time.monotonic()
        try:
            differing = differing_rows(last, uids, await self._select(state.source, uids))
        except SourceError as error:
            differing = None
            if isinstance(error, NotSelectable):
                state.source.selects_rows = False
        except Exception as error:  # noqa: BLE001 - a bug here must not end the reads of all hubs
            differing = None
            _log.error("read failed unexpectedly", hub=str(key), traceback=error_location(error))
        finally:
            # An abandoned read may end after the next one has started.
            if read.requests is requests:
                read.job = None
        if differing is None:
            read.push_interval = timedelta()
            read.record_change(None, changed_at)
        else:
            self._set_push_interval(read, time.monotonic() - began)
            # A read of all rows may have followed an abandoned one.
            if differing and read.rows is last:
                read.rows = after_selected_read(
                    last, differing, planned=state.plan.rows, changed_at=changed_at
                )
                state.plan.requested = True
        self._queue.add(key, group=str(key))

    async def _select(self, source: SourceState, uids: frozenset[str]) -> SelectedRows:
        """Return rows by their uid, over the source as the last complete read has opened it."""
        opened, config = source.open, source.config
        if opened is None or config is None or opened.settings != config.settings:
            raise NotComplete("the source is not open")
        async with opened.source.read_selected(config.query, uids) as reading:
            rows = [row async for page in reading for row in page]
        summary = reading.summary
        return SelectedRows(rows, summary.inactive, summary.identity.digest)

    def _set_push_interval(self, read: ReadState, seconds: float) -> None:
        timing = self._context.timing
        read.push_interval = push_interval(
            timedelta(seconds=seconds),
            shortest=timing.min_push_interval,
            longest=timing.max_push_interval,
        )

    async def _rows(self, hub: LynqHub, state: HubState, requests: UserRequests) -> ReadRows:
        config = await self._config(hub, state)
        source = state.source
        opened = source.open
        if opened is None or opened.settings != config.settings:
            await close_source(source)
            opened = source.open = OpenSource(config.settings, open_source(config.settings))
            source.selects_rows = True
        began, tracked = time.monotonic(), self._uids(hub, state.plan)
        async with opened.source.read(config.query, tracked=tracked) as reading:
            rows = [row async for page in reading for row in page]
        summary = reading.summary
        return ReadRows(
            IndexedRows(rows),
            summary.identity.digest,
            self._context.clock(),
            requests,
            ReadTime(began, time.monotonic()),
            summary.inactive,
            tracked,
        )

    def _uids(self, hub: LynqHub, plan: PlanState) -> frozenset[str]:
        """Return the uids of the hub's nodes: a deactivated row of theirs deletes at once."""
        key, nodes = hub.metadata.key, self._context.nodes
        if plan.cache is None or plan.changed_nodes is None:
            return frozenset(pair_or_spec(node).uid for node in nodes.by(BY_HUB, key))
        changed = (nodes.get(ObjectKey(key.namespace, name)) for name in plan.changed_nodes)
        uids = (pair_or_spec(node).uid for node in changed if node and hub_by_label(node) == key)
        return frozenset((*plan.cache.rows, *uids))

    async def _config(self, hub: LynqHub, state: HubState) -> SourceConfig:
        source, key = state.source, hub.metadata.key
        references: set[SourceObject] = set()

        def changed() -> None:
            state.read.requested = True
            self._queue.add(key, group=str(key))

        async def read(reference: SourceObject) -> Data | None:
            references.add(reference)
            return await self._objects.data(reference, key, changed)

        try:
            source.config = await self._configs.load(hub.spec, key.namespace, read)
        except SourceError:
            # Connections that were opened with a withdrawn password are closed too.
            source.config = None
            await close_source(source)
            raise
        finally:
            self._objects.release(key, except_for=frozenset(references))
        return source.config

    def _succeeded(self, hub: LynqHub, state: HubState, rows: ReadRows) -> None:
        read = state.read
        read.rows = rows
        read.failure = None
        read.failures = 0
        read.retry_at = read.confirm_at = None
        self._set_push_interval(read, rows.time.ended - rows.time.began)
        state.plan.requested = True
        self._context.operator_metrics.record_source_up(hub.metadata.key, up=True)

    def _failed(self, hub: LynqHub, read: ReadState, cause: str) -> None:
        key = hub.metadata.key
        if read.failure is None or read.failure.cause != cause:
            _log.warning("rows could not be read", hub=str(key), cause=cause)
            self._emitter.emit(hub, query_failed(cause))
        read.failure = ReadFailure(cause, hub.metadata.generation)
        read.failures += 1
        read.push_interval = self._context.timing.min_read_interval
        delay = backoff_delay(
            read.failures,
            sync_interval(hub),
            jitter=random.random(),  # noqa: S311 - no secret
        )
        read.retry_at = self._context.clock() + delay
        self._context.operator_metrics.record_source_up(key, up=False)


async def close_source(state: SourceState) -> None:
    """Close the source if it is open."""
    opened, state.open = state.open, None
    if opened:
        await opened.source.close()


def _cause(error: SourceError, source: SourceState) -> str:
    hint = source.config.login_hint if source.config else ""
    return f"{error}; {hint}" if hint and isinstance(error, LoginFailed) else str(error)

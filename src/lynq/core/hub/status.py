"""A hub's status: what the last complete read saw, and how its nodes are now.

A read that fails changes the condition Ready and nothing else: what was counted stays true.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from lynq.api import HubStatus, LynqHub
from lynq.api.conditions import merge_conditions
from lynq.core.hub.conditions import wanted_conditions
from lynq.core.hub.node_counts import NodeCounts, NodeHealth
from lynq.core.hub.outcome import PushState, ReadFailure, SyncResult

STALE: Final = timedelta(minutes=5)
"""How old `lastSyncTime` may become in the API server while it is all that changes."""


def next_status(
    hub: LynqHub,
    tally: NodeCounts,
    *,
    forms: int,
    synced: SyncResult | None,
    unread: ReadFailure | None = None,
    push: PushState | None = None,
    now: datetime,
) -> HubStatus:
    """Return the status that the hub should have.

    `synced` is the last complete read since the start of the process, `unread` the failure after
    it. As long as there is neither, what the status says already stays.
    """
    status = replace(
        hub.status,
        observed_generation=_observed(hub, synced, unread),
        referencing_templates=forms,
        conditions=merge_conditions(
            hub.status.conditions, wanted_conditions(hub, synced, unread, push, now)
        ),
    )
    return _node_counts(status, synced, tally) if synced else status


def is_worth_writing(before: HubStatus, after: HubStatus) -> bool:
    """Return whether the API server should know: an idle hub costs it nothing.

    The time of the last read moves with every read. If it is all that moved, it is written now and
    then only.
    """
    if replace(after, last_sync_time=before.last_sync_time) != before:
        return True
    if after.last_sync_time is None or before.last_sync_time is None:
        return after.last_sync_time != before.last_sync_time
    return after.last_sync_time - before.last_sync_time >= STALE


def _node_counts(status: HubStatus, synced: SyncResult, tally: NodeCounts) -> HubStatus:
    # A node whose row is rejected counts as failed, but not twice if it is not ready anyway.
    rejected = sum(tally.health(name) is not NodeHealth.FAILED for name in synced.kept)
    return replace(
        status,
        desired=synced.desired,
        ready=tally.count(NodeHealth.READY),
        failed=tally.count(NodeHealth.FAILED) + synced.unmade + rejected,
        rejected_rows=synced.rejected_rows,
        last_sync_time=synced.at.replace(microsecond=0),
        source_identity=synced.identity,
    )


def _observed(hub: LynqHub, synced: SyncResult | None, unread: ReadFailure | None) -> int:
    """Return the newest generation that the status speaks about; a pause needs no read."""
    if hub.spec.paused:
        return hub.metadata.generation
    looked = unread or synced
    return looked.generation if looked else hub.status.observed_generation

"""A hub's status: what the last complete read saw, and how its nodes are now.

A read that fails changes the condition Ready and nothing else: what was counted stays true.

The conditions of a hub: Ready, DeletionHeld, Paused, and PushConnected where push is wanted.

A condition about which nothing is known yet stays as it was: after a restart a removal is held
until the first read says otherwise.

How reading went: what a complete read amounted to, why one failed, how the push channel is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from lynq.api import ChangeDetection, Condition, HubStatus, LynqHub, RejectedRows
from lynq.api.conditions import find_condition, merge_conditions, new_condition
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.core.guard.announcements import rejected_rows
from lynq.core.guard.deletion import held_message
from lynq.core.hub.node_counts import NodeCounts, NodeHealth
from lynq.core.hub.plan import HubPlan


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What has to be remembered of the last complete read."""

    at: datetime
    generation: int
    """The hub's generation by which the rows were read."""
    desired: int
    unmade: int
    kept: frozenset[str]
    rejected_rows: RejectedRows | None
    held: str
    """What the guard says about the removals it holds; empty if it holds none."""
    identity: str = ""
    """Stands for what was read. While removals are held because it has changed, it is the old one:
    then a restart does not make anybody forget the change."""

    @classmethod
    def by(
        cls,
        plan: HubPlan,
        hub: LynqHub,
        at: datetime,
        *,
        identity: str = "",
        source_changed: bool = False,
    ) -> "SyncResult":
        """Return what a plan leaves to be told."""
        guard = hub.spec.deletion_guard
        return cls(
            at=at,
            generation=hub.metadata.generation,
            desired=plan.screened.desired,
            unmade=plan.missing,
            kept=plan.kept,
            rejected_rows=rejected_rows(plan.screened),
            held=held_message(plan.verdict, guard, source_changed=source_changed)
            if plan.held
            else "",
            identity=hub.status.source_identity if plan.held and source_changed else identity,
        )


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """The last read failed."""

    cause: str
    """Why, without passwords."""
    generation: int


@dataclass(frozen=True, slots=True)
class PushState:
    """How the push channel is."""

    connected: bool
    message: str


_LONGEST_CAUSE: Final = 1000


def wanted_conditions(
    hub: LynqHub,
    synced: SyncResult | None,
    unread: ReadFailure | None,
    push: PushState | None,
    now: datetime,
) -> Iterator[Condition]:
    """Yield the conditions as they are now, in a fixed order."""
    wanted = {
        ConditionType.READY: _ready(synced, unread, now),
        ConditionType.DELETION_HELD: _deletion_held(synced, now),
        ConditionType.PAUSED: _paused(hub, now),
    }
    if hub.spec.source.changes is ChangeDetection.PUSH:
        wanted[ConditionType.PUSH_CONNECTED] = _push_connected(hub, push, now)
    for aspect, known in wanted.items():
        if each := known or find_condition(hub.status.conditions, aspect):
            yield each


def _ready(
    synced: SyncResult | None, unread: ReadFailure | None, now: datetime
) -> Condition | None:
    if unread:
        return new_condition(
            ConditionType.READY,
            ConditionReason.DATABASE_CONNECTION_FAILED,
            f"the rows could not be read, so nothing was changed: {unread.cause[:_LONGEST_CAUSE]}",
            holds=False,
            generation=unread.generation,
            now=now,
        )
    if synced is None:
        return None
    return new_condition(
        ConditionType.READY,
        ConditionReason.DATABASE_CONNECTED,
        "all rows were read",
        holds=True,
        generation=synced.generation,
        now=now,
    )


def _deletion_held(synced: SyncResult | None, now: datetime) -> Condition | None:
    if synced is None:
        return None
    held = bool(synced.held)
    return new_condition(
        ConditionType.DELETION_HELD,
        ConditionReason.DELETION_GUARD_EXCEEDED if held else ConditionReason.WITHIN_LIMITS,
        synced.held or "no removal is held",
        holds=held,
        generation=synced.generation,
        now=now,
    )


def _paused(hub: LynqHub, now: datetime) -> Condition:
    paused = hub.spec.paused
    return new_condition(
        ConditionType.PAUSED,
        ConditionReason.PAUSED if paused else ConditionReason.NOT_PAUSED,
        "no rows are read until spec.paused is set back" if paused else "not paused",
        holds=paused,
        generation=hub.metadata.generation,
        now=now,
    )


def _push_connected(hub: LynqHub, push: PushState | None, now: datetime) -> Condition | None:
    if push is None:
        return None
    return new_condition(
        ConditionType.PUSH_CONNECTED,
        ConditionReason.CHANNEL_CONNECTED if push.connected else ConditionReason.CHANNEL_LOST,
        push.message,
        holds=push.connected,
        generation=hub.metadata.generation,
        now=now,
    )


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

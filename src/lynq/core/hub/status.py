"""The status of a hub: the result of the last sync, its conditions and its node counts.

A failed read changes only the condition Ready; the counts of the last complete read remain valid. A
condition without new information keeps its last status: after a restart, DeletionHeld remains True
until the first sync.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from lynq.api import (
    ChangeDetection,
    Condition,
    HeldDeletions,
    HubStatus,
    LynqHub,
    RejectedRows,
)
from lynq.api.conditions import find_condition, merge_conditions, new_condition, paused_condition
from lynq.api.installation_key import NO_KEY, MissingKey
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.core.guard.announcements import rejected_rows
from lynq.core.guard.hold import HoldCause
from lynq.core.hub.node_counts import NodeCounts, NodeHealth
from lynq.core.hub.plan import HubPlan

MAX_SYNC_TIME_AGE: Final = timedelta(minutes=5)
"""How old lastSyncTime may become while nothing else in the status changes."""
_MAX_CAUSE: Final = 1000


@dataclass(frozen=True, slots=True)
class SyncResult:
    """The result of the last complete read, as far as the status reports it."""

    read_at: datetime
    generation: int
    """The generation of the hub with which the rows were read."""
    desired: int
    """The number of desired nodes."""
    missing: int
    """The number of desired nodes that cannot be created."""
    kept: frozenset[str]
    """Existing nodes whose row is rejected or cannot be rendered."""
    rejected_rows: RejectedRows | None
    held_message: str
    """The message of the condition DeletionHeld; empty if no deletion is held."""
    hold_cause: HoldCause | None = None
    """Why deletions are held; None if none is."""
    held_deletions: HeldDeletions | None = None
    source_identity: str = ""
    """The identity of the source that was read. While deletions are held because the source has
    changed, the previous identity is kept, so that a restart does not lose the change."""

    @classmethod
    def from_plan(
        cls,
        plan: HubPlan,
        hub: LynqHub,
        read_at: datetime,
        *,
        source_identity: str = "",
        source_changed: bool = False,
    ) -> "SyncResult":
        """Return the result of the sync that applies the plan."""
        if plan.held and source_changed:
            source_identity = hub.status.source_identity
        return cls(
            read_at=read_at,
            generation=hub.metadata.generation,
            desired=plan.screened.desired,
            missing=plan.missing,
            kept=plan.kept,
            rejected_rows=rejected_rows(plan.screened),
            held_message=plan.held_message(hub, source_changed=source_changed),
            hold_cause=plan.hold_cause,
            held_deletions=plan.held_deletions(hub),
            source_identity=source_identity,
        )


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """The last read failed."""

    cause: str
    """The error message, without passwords."""
    generation: int


@dataclass(frozen=True, slots=True)
class PushState:
    """The state of the push channel."""

    connected: bool
    message: str


def next_status(
    hub: LynqHub,
    counts: NodeCounts,
    *,
    forms: int,
    last_sync: SyncResult | None,
    read_failure: ReadFailure | None = None,
    missing_key: MissingKey | None = None,
    push: PushState | None = None,
    now: datetime,
) -> HubStatus:
    """Return the desired status of the hub.

    `last_sync` is the last complete read of this process that was planned, `read_failure` the
    failure of a later read. Without either of them, the existing counts and conditions remain.
    """
    # A key that is about to be loaded is not reported.
    missing_key = None if missing_key == NO_KEY else missing_key
    status = replace(
        hub.status,
        observed_generation=_observed_generation(hub, last_sync, read_failure),
        referencing_templates=forms,
        conditions=merge_conditions(
            hub.status.conditions,
            _conditions(hub, last_sync, read_failure, push, missing_key=missing_key, now=now),
        ),
    )
    return _with_counts(status, last_sync, counts) if last_sync else status


def waiting_for_key(key: MissingKey) -> str:
    """Return what a hub reports that waits for the installation key."""
    return f"no LynqNode is written or deleted without the installation key: {key.problem}"


def is_worth_writing(before: HubStatus, after: HubStatus) -> bool:
    """Return whether to write the status: an idle hub causes no requests.

    lastSyncTime changes with every read. If nothing else changed, it is written only every few
    minutes.
    """
    if replace(after, last_sync_time=before.last_sync_time) != before:
        return True
    if after.last_sync_time is None or before.last_sync_time is None:
        return after.last_sync_time != before.last_sync_time
    return after.last_sync_time - before.last_sync_time >= MAX_SYNC_TIME_AGE


def is_urgent(before: HubStatus, after: HubStatus) -> bool:
    """Return whether to write the status at once: a crash must not lose the hold of deletions."""
    return _hold(before) != _hold(after)


def _hold(status: HubStatus) -> tuple[HoldCause | None, HeldDeletions | None]:
    return HoldCause.of(status), status.held_deletions


def _with_counts(status: HubStatus, last_sync: SyncResult, counts: NodeCounts) -> HubStatus:
    # A node whose row is rejected counts as failed, but only once if it is not ready either.
    rejected = sum(counts.health(name) is not NodeHealth.FAILED for name in last_sync.kept)
    return replace(
        status,
        desired=last_sync.desired,
        ready=counts.count(NodeHealth.READY),
        failed=counts.count(NodeHealth.FAILED) + last_sync.missing + rejected,
        rejected_rows=last_sync.rejected_rows,
        held_deletions=last_sync.held_deletions,
        last_sync_time=last_sync.read_at.replace(microsecond=0),
        source_identity=last_sync.source_identity,
    )


def _observed_generation(
    hub: LynqHub, last_sync: SyncResult | None, read_failure: ReadFailure | None
) -> int:
    """Return the generation of the last read; a paused hub needs no read."""
    if hub.spec.paused:
        return hub.metadata.generation
    last_read = read_failure or last_sync
    return last_read.generation if last_read else hub.status.observed_generation


def _conditions(
    hub: LynqHub,
    last_sync: SyncResult | None,
    read_failure: ReadFailure | None,
    push: PushState | None,
    *,
    missing_key: MissingKey | None,
    now: datetime,
) -> Iterator[Condition]:
    """Yield the current conditions in a fixed order."""
    conditions = {
        ConditionType.READY: _ready(hub, last_sync, read_failure, missing_key, now),
        ConditionType.DELETION_HELD: _deletion_held(last_sync, now),
        ConditionType.PAUSED: _paused(hub, now),
    }
    if hub.spec.source.changes is ChangeDetection.PUSH:
        conditions[ConditionType.PUSH_CONNECTED] = _push_connected(hub, push, now)
    for condition_type, current in conditions.items():
        if condition := current or find_condition(hub.status.conditions, condition_type):
            yield condition


def _ready(
    hub: LynqHub,
    last_sync: SyncResult | None,
    read_failure: ReadFailure | None,
    missing_key: MissingKey | None,
    now: datetime,
) -> Condition | None:
    if read_failure:
        return new_condition(
            ConditionType.READY,
            ConditionReason.DATABASE_CONNECTION_FAILED,
            f"reading rows failed, nodes are not changed: {read_failure.cause[:_MAX_CAUSE]}",
            holds=False,
            generation=read_failure.generation,
            now=now,
        )
    if missing_key:
        return new_condition(
            ConditionType.READY,
            ConditionReason.WAITING_FOR_KEY,
            waiting_for_key(missing_key)[:_MAX_CAUSE],
            holds=False,
            generation=hub.metadata.generation,
            now=now,
        )
    if last_sync is None:
        return None
    return new_condition(
        ConditionType.READY,
        ConditionReason.DATABASE_CONNECTED,
        "all rows are read",
        holds=True,
        generation=last_sync.generation,
        now=now,
    )


def _deletion_held(last_sync: SyncResult | None, now: datetime) -> Condition | None:
    if last_sync is None:
        return None
    cause = last_sync.hold_cause
    return new_condition(
        ConditionType.DELETION_HELD,
        cause.value if cause else ConditionReason.WITHIN_LIMITS,
        last_sync.held_message or "no deletion is held",
        holds=cause is not None,
        generation=last_sync.generation,
        now=now,
    )


def _paused(hub: LynqHub, now: datetime) -> Condition:
    return paused_condition(
        "rows are not read while spec.paused is true",
        paused=hub.spec.paused,
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

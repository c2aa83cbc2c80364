"""The conditions of a hub: Ready, DeletionHeld, Paused, and PushConnected where push is wanted.

A condition about which nothing is known yet stays as it was: after a restart a removal is held
until the first read says otherwise.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from lynq.api import ChangeDetection, Condition, LynqHub
from lynq.api.conditions import find_condition, new_condition
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.core.hub.outcome import PushState, ReadFailure, SyncResult

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

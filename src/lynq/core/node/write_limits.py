"""How many writes of a slow kind may be in flight. Pure: time is an argument.

A write is slow if it takes longer than `slow_after` seconds, for example because an admission
webhook of its kind does not answer. While the API server itself is slow, it has to take several
times as long as the status writes of nodes: limits of a kind would not make the others quicker.
Writes are slow together: those of one kind by the nodes of one hub, whose namespaces a webhook may
select. Such a group is judged by the write that was started
last, of those that are finished or already slow. So the first quick write ends the limit, also
while older ones still wait.

Quick groups are not limited. A slow group may have one write in flight, and the slow groups of a
kind together `limit` writes. A group that has written nothing yet counts as slow while the kind is
slow for another hub. A group that is both quick and slow, as behind a load balancer with one dead
backend, may have `limit` slow writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Final, NamedTuple

_REMEMBERED: Final = 1000
"""Number of hubs per kind whose last write is remembered."""
_TIMES_STATUS_WRITE: Final = 4
"""A slow write takes this many times as long as the status writes of nodes."""
_WEIGHT: Final = 0.2
"""The weight of one status write in the average of the recent ones."""
_STATUS_WRITES_EXPIRE: Final = 30.0
"""Seconds after which status writes say nothing about the API server."""


class WriteGroup(NamedTuple):
    """The writes of one kind by the nodes of one hub."""

    kind: str
    """Kind and API group."""
    hub: str


@dataclass(slots=True)
class _GroupState:
    pending: dict[int, float] = field(default_factory=dict)
    """The start of each write in flight, by its number; the oldest write is the first."""
    judged_start: float | None = None
    """The start of the latest write that is finished; None if there is none."""
    was_slow: bool = False
    """Whether that write was slow."""


class WriteLimits:
    """The writes in flight, and which more may be sent."""

    def __init__(self, limit: int, slow_after: float) -> None:
        self._limit = limit
        self._slow_after = slow_after
        self._groups: dict[str, dict[str, _GroupState]] = {}
        self._numbers = count()
        self._status_write_seconds = 0.0
        self._status_written_at = float("-inf")

    def record_status_write(self, seconds: float, now: float) -> None:
        """Record how long the API server took for the status of a node, which has no webhook."""
        is_expired = now - self._status_written_at > _STATUS_WRITES_EXPIRE
        average = seconds if is_expired else self._status_write_seconds
        self._status_write_seconds = average + _WEIGHT * (seconds - average)
        self._status_written_at = now

    def start(self, group: WriteGroup, now: float) -> int:
        """Record a write that is sent now; return its number."""
        number = next(self._numbers)
        self._state(group).pending[number] = now
        return number

    def finish(self, group: WriteGroup, number: int, answered_at: float | None) -> None:
        """Record the end of a write; one that was canceled has no answer and proves nothing."""
        state = self._state(group)
        started = state.pending.pop(number)
        is_latest = state.judged_start is None or started >= state.judged_start
        if answered_at is not None and is_latest:
            state.judged_start = started
            state.was_slow = answered_at - started >= self._late_after(answered_at)
        self._forget_idle(group.kind)

    def admits(self, group: WriteGroup, now: float) -> bool:
        """Return whether one more write of the group may be sent."""
        state = self._find(group)
        if not self.is_slow(group, now):
            return len(self._late_starts(state, now)) < self._limit
        return not state.pending or self._slow_in_flight(group.kind, now) < self._limit

    def is_slow(self, group: WriteGroup, now: float) -> bool:
        """Return whether the next write of the group is expected to be slow."""
        verdict = self._verdict(self._find(group), now)
        return self._is_kind_slow(group.kind, now) if verdict is None else verdict

    def choose(self, waiting: Mapping[WriteGroup, int], now: float) -> dict[WriteGroup, int]:
        """Return how many of the waiting writes of each group may be sent now.

        Of the slow groups of a kind, the one with the fewest writes in flight is next.
        """
        chosen: dict[WriteGroup, int] = {}
        slow: dict[str, list[WriteGroup]] = {}
        for group, number in waiting.items():
            if self.is_slow(group, now):
                slow.setdefault(group.kind, []).append(group)
            elif self.admits(group, now):
                chosen[group] = number
        for kind, groups in slow.items():
            chosen |= self._choose_slow(kind, {group: waiting[group] for group in groups}, now)
        return chosen

    def _choose_slow(
        self, kind: str, waiting: dict[WriteGroup, int], now: float
    ) -> dict[WriteGroup, int]:
        chosen = dict.fromkeys(waiting, 0)
        in_flight = {group: len(self._find(group).pending) for group in waiting}
        free = self._limit - self._slow_in_flight(kind, now)
        while candidates := [group for group in waiting if chosen[group] < waiting[group]]:
            group = min(candidates, key=lambda group: in_flight[group])
            if free <= 0 and in_flight[group]:
                break
            chosen[group] += 1
            in_flight[group] += 1
            free -= 1
        return {group: number for group, number in chosen.items() if number}

    def _verdict(self, state: _GroupState, now: float) -> bool | None:
        """Return whether the latest write that is finished or late is slow; None without one."""
        late = self._late_starts(state, now)
        if late and (state.judged_start is None or late[-1] >= state.judged_start):
            return True
        return None if state.judged_start is None else state.was_slow

    def _is_kind_slow(self, kind: str, now: float) -> bool:
        return any(self._verdict(state, now) for state in self._groups.get(kind, {}).values())

    def _slow_in_flight(self, kind: str, now: float) -> int:
        """Return the number of writes in flight of the slow groups of a kind."""
        states = self._groups.get(kind, {}).values()
        return sum(len(state.pending) for state in states if self._verdict(state, now) is not False)

    def _late_starts(self, state: _GroupState, now: float) -> list[float]:
        """Return the starts of the late writes in flight, which are the first ones."""
        if not state.pending:
            return []
        late_after = self._late_after(now)
        return list(takewhile(lambda start: now - start >= late_after, state.pending.values()))

    def _late_after(self, now: float) -> float:
        """Return the seconds after which a write is late."""
        if now - self._status_written_at <= _STATUS_WRITES_EXPIRE:
            return max(self._slow_after, _TIMES_STATUS_WRITE * self._status_write_seconds)
        return self._slow_after

    def _forget_idle(self, kind: str) -> None:
        """Forget the first hub without writes in flight, if too many are remembered."""
        hubs = self._groups[kind]
        if len(hubs) > _REMEMBERED:
            idle = next((hub for hub, state in hubs.items() if not state.pending), None)
            if idle is not None:
                del hubs[idle]

    def _find(self, group: WriteGroup) -> _GroupState:
        return self._groups.get(group.kind, {}).get(group.hub) or _GroupState()

    def _state(self, group: WriteGroup) -> _GroupState:
        return self._groups.setdefault(group.kind, {}).setdefault(group.hub, _GroupState())

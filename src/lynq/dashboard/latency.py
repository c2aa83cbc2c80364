"""How long nodes take from the write of their hub to Ready, per minute."""

from collections import deque
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final, NamedTuple

from lynq.dashboard.types.lists import LatencyPoint

_MINUTES: Final = 60
_MAX_SAMPLES: Final = 20_000
_SECONDS: Final = 60


class _LatencySample(NamedTuple):
    minute: int
    namespace: str
    seconds: float


class Latency:
    """The samples of the last hour; of more than 20,000 the newest."""

    def __init__(self) -> None:
        self._samples: deque[_LatencySample] = deque(maxlen=_MAX_SAMPLES)

    def observe(self, now: datetime, namespace: str, written: float) -> None:
        """Record that a node became ready that its hub wrote at `written`."""
        seconds = max(0.0, now.timestamp() - written)
        self._samples.append(_LatencySample(_minute(now), namespace, seconds))

    def points(self, now: datetime, namespaces: Collection[str] | None) -> list[LatencyPoint]:
        """Return the minutes that have samples; of all namespaces if they are None."""
        first = _minute(now) - _MINUTES
        by_minute: dict[int, list[float]] = {}
        for sample in self._samples:
            is_visible = namespaces is None or sample.namespace in namespaces
            if sample.minute > first and is_visible:
                by_minute.setdefault(sample.minute, []).append(sample.seconds)
        return [_point(minute, sorted(own)) for minute, own in sorted(by_minute.items())]


def _minute(time: datetime) -> int:
    return int(time.timestamp()) // _SECONDS


def _point(minute: int, ordered: list[float]) -> LatencyPoint:
    return LatencyPoint(
        at=datetime.fromtimestamp(minute * _SECONDS, UTC),
        count=len(ordered),
        p50=round(_percentile(ordered, 0.5), 3),
        p99=round(_percentile(ordered, 0.99), 3),
    )


def _percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

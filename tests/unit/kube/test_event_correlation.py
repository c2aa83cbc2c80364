"""Correlation of occurrences to Events."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lynq.api.text import one_line
from lynq.kube import ObjectReference
from lynq.kube.event_correlation import COMBINED, Correlator, EventSeries, Occurrence
from lynq.kube.recorder import _truncated

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NODE = ObjectReference("operator.lynq.sh/v1", "LynqNode", "acme", "space", "uid-1")


def observe(
    correlator: Correlator,
    message: str = "applied",
    *,
    about: ObjectReference = NODE,
    reason: str = "Applied",
    seconds: float = 0,
) -> EventSeries | None:
    occurrence = Occurrence(about, "Normal", reason, message)
    return correlator.observe(occurrence, now=seconds, at=NOON + timedelta(seconds=seconds))


def test_repeat_increments_the_same_event() -> None:
    correlator = Correlator()
    first = observe(correlator)
    second = observe(correlator, seconds=5)
    assert second is first is not None
    assert (first.count, first.first, first.last) == (2, NOON, NOON + timedelta(seconds=5))


def test_resource_version_does_not_create_another_event() -> None:
    correlator = Correlator()
    versions = [
        ObjectReference("v1", "Node", "acme", "space", "uid-1", resource_version=v)
        for v in ("1", "2")
    ]
    assert observe(correlator, about=versions[0]) is observe(correlator, about=versions[1])


def test_other_message_reason_or_object_is_another_event() -> None:
    correlator = Correlator()
    successor = ObjectReference("operator.lynq.sh/v1", "LynqNode", "acme", "space", "uid-2")
    series = [
        observe(correlator),
        observe(correlator, "applied more"),
        observe(correlator, reason="Other"),
        observe(correlator, about=successor),
    ]
    assert len({one.name for one in series if one}) == 4


def test_messages_are_combined_from_the_tenth_on() -> None:
    correlator = Correlator()
    series = [observe(correlator, f"message {number}") for number in range(14)]
    names = [one.name for one in series if one]
    assert len(set(names)) == 10
    last = series[-1]
    assert last is not None
    assert names[9:] == [last.name] * 5
    assert last.message == f"{COMBINED}message 13"
    assert last.count == 5


def test_messages_ten_minutes_apart_are_not_combined() -> None:
    correlator = Correlator()
    series = [observe(correlator, f"message {n}", seconds=n * 601) for n in range(20)]
    assert not any(one.message.startswith(COMBINED) for one in series if one)


def test_object_has_a_burst_of_25_and_then_one_in_five_minutes() -> None:
    correlator = Correlator()
    accepted = [observe(correlator, f"{n % 5}") is not None for n in range(30)]
    assert accepted == [True] * 25 + [False] * 5
    assert observe(correlator, seconds=299) is None
    assert observe(correlator, seconds=600) is not None


def test_rate_limit_is_per_object() -> None:
    correlator = Correlator()
    for _ in range(30):
        observe(correlator)
    assert (
        observe(correlator, about=ObjectReference("v1", "ConfigMap", "quiet", "space")) is not None
    )


def test_rate_limited_occurrences_are_counted() -> None:
    correlator = Correlator()
    for _ in range(30):
        observe(correlator)
    later = observe(correlator, seconds=600)
    assert later is not None
    assert later.count == 31


def test_least_recently_used_series_is_evicted() -> None:
    correlator = Correlator(cache_size=3)
    for number in range(10):
        observe(correlator, about=ObjectReference("v1", "ConfigMap", f"c{number}"))
    for memory in (correlator._buckets, correlator._similar, correlator._series):
        assert len(memory._entries) == 3
    again = observe(correlator, about=ObjectReference("v1", "ConfigMap", "c9"))
    assert again is not None
    assert again.count == 2


def test_event_names_are_unique_and_of_valid_length() -> None:
    correlator = Correlator()
    long = ObjectReference("v1", "ConfigMap", "a" * 234 + ".-" + "b" * 17)
    series = [observe(correlator, f"{n}", about=long) for n in range(5)]
    names = {one.name for one in series if one}
    assert len(names) == 5
    for name in names:
        assert len(name) <= 253
        assert name.startswith("a" * 234 + ".")
        assert ".-." not in name


def test_lone_surrogate_in_a_message_does_not_raise() -> None:
    assert _truncated("broken \ud83d here") == r"broken \ud83d here"


@given(st.text(max_size=2000))
def test_message_is_truncated_at_a_character(message: str) -> None:
    capped = _truncated(message)
    assert len(capped.encode()) <= 1024
    shown = one_line(message, 2000)
    if len(shown.encode()) <= 1024:
        assert capped == shown
    else:
        assert shown.startswith(capped.removesuffix("…"))

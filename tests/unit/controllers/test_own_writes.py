"""Changes of an object while a write of it is in flight: which of them are delivered."""

import pytest

from lynq.api.metadata import ObjectKey
from lynq.controllers.own_writes import DELETED, OwnWrites

KEY = ObjectKey("shop", "acme")


@pytest.fixture
def delivered() -> list[str]:
    return []


@pytest.fixture
def writes(delivered: list[str]) -> OwnWrites[str]:
    return OwnWrites(delivered.append)


def test_change_without_a_write_in_flight_is_not_held_back(writes: OwnWrites[str]) -> None:
    assert not writes.hold_back(KEY, "edited", 7)


def test_change_up_to_the_written_version_is_not_delivered(
    writes: OwnWrites[str], delivered: list[str]
) -> None:
    with writes.in_flight(KEY):
        assert writes.hold_back(KEY, "edited before", 6)
        assert writes.hold_back(KEY, "written", 7)
        writes.accepted(KEY, 7)
    with writes.in_flight(KEY):
        writes.hold_back(KEY, "edited before", 7)
        writes.accepted(KEY, 8)
    assert delivered == []
    assert not writes.hold_back(KEY, "edited", 8)


@pytest.mark.parametrize("version", [8, DELETED])
def test_change_after_the_write_is_delivered_at_its_end(
    writes: OwnWrites[str], delivered: list[str], version: float
) -> None:
    with writes.in_flight(KEY):
        writes.hold_back(KEY, "written", 7)
        writes.hold_back(KEY, "changed", version)
        writes.accepted(KEY, 7)
        assert delivered == []
    assert delivered == ["changed"]


def test_change_during_a_rejected_write_is_delivered(
    writes: OwnWrites[str], delivered: list[str]
) -> None:
    with writes.in_flight(KEY):
        writes.hold_back(KEY, "edited", 7)
    assert delivered == ["edited"]


def test_deletion_of_our_own_is_not_delivered(writes: OwnWrites[str], delivered: list[str]) -> None:
    with writes.in_flight(KEY):
        writes.hold_back(KEY, "deleted", DELETED)
        writes.accepted(KEY, DELETED)
    assert delivered == []


def test_second_write_of_an_object_leaves_the_decision_to_the_first(
    writes: OwnWrites[str], delivered: list[str]
) -> None:
    with writes.in_flight(KEY):
        with writes.in_flight(KEY):
            writes.hold_back(KEY, "written", 7)
            writes.accepted(KEY, 7)
        assert writes.hold_back(KEY, "edited", 8)
    assert delivered == ["edited"]

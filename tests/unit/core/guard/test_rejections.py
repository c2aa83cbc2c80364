"""Reports of rejected rows are safe and bounded, and each rejection is announced once."""

from hypothesis import given
from hypothesis import strategies as st

from lynq.api.reasons import RejectionReason
from lynq.core.guard.announcements import (
    MAX_ANNOUNCED,
    MAX_LISTED,
    AnnouncedRejections,
    rejected_rows,
    rows_by_reason,
    unannounced,
)
from lynq.core.guard.rejections import Rejection, invalid_node_name
from lynq.core.guard.row_screening import screen_rows
from unit.core.guard.rows import NOTHING, Row


def rejections(*uids: str | None) -> tuple[Rejection, ...]:
    return screen_rows([Row(uid) for uid in uids], ["web"], NOTHING).rejections


@given(st.lists(st.none() | st.text(max_size=400), max_size=5))
def test_messages_are_printable_and_short(uids: list[str | None]) -> None:
    for rejection in rejections(*uids):
        assert rejection.message.isprintable()
        assert len(rejection.message) < 500


def test_status_counts_all_and_lists_first_20() -> None:
    screened = screen_rows([Row(f"T{number:03}") for number in range(50)], ["web"], NOTHING)
    status = rejected_rows(screened)
    assert status is not None
    assert status.count == 50
    assert [row.uid for row in status.rows] == [f"T{number:03}" for number in range(MAX_LISTED)]
    assert {row.reason for row in status.rows} == {"InvalidNodeName"}


def test_no_status_without_rejections() -> None:
    assert rejected_rows(screen_rows([Row("acme")], ["web"], NOTHING)) is None


def test_rows_are_counted_for_every_reason() -> None:
    counts = rows_by_reason(rejections(None, "", "A", "a b"))
    assert counts == {
        RejectionReason.EMPTY_UID: 2,
        RejectionReason.INVALID_UID: 1,
        RejectionReason.INVALID_NODE_NAME: 1,
        RejectionReason.DUPLICATE_UID: 0,
        RejectionReason.NODE_NAME_TAKEN: 0,
        RejectionReason.VALUES_TOO_LARGE: 0,
        RejectionReason.INVALID_ACTIVATE: 0,
    }


def test_rejection_is_announced_once() -> None:
    first = unannounced(rejections("A", "B"), AnnouncedRejections())
    assert [rejection.uid for rejection in first.rejections] == ["A", "B"]
    second = unannounced(rejections("A", "B", "C"), first.announced)
    assert [rejection.uid for rejection in second.rejections] == ["C"]


def test_same_row_with_another_reason_is_announced() -> None:
    first = unannounced(rejections("A"), AnnouncedRejections())
    large = screen_rows([Row("A", size=10**6)], ["web"], NOTHING).rejections
    assert [rejection.reason for rejection in unannounced(large, first.announced).rejections] == [
        "ValuesTooLarge"
    ]


def test_rejection_that_comes_back_is_announced_again() -> None:
    announced = unannounced(rejections("A"), AnnouncedRejections()).announced
    announced = unannounced(rejections(), announced).announced
    assert [rejection.uid for rejection in unannounced(rejections("A"), announced).rejections] == [
        "A"
    ]


def test_long_uids_with_equal_prefix_are_distinguished() -> None:
    assert (
        len(
            unannounced(
                rejections("x" * 100 + "a", "x" * 100 + "b"), AnnouncedRejections()
            ).rejections
        )
        == 2
    )


def test_announced_rejections_are_bounded_and_not_evicted() -> None:
    late = [f"Z{number}" for number in range(MAX_ANNOUNCED)]
    first = unannounced(rejections(*late), AnnouncedRejections())
    assert len(first.rejections) == MAX_ANNOUNCED
    second = unannounced(rejections(*late, "A"), first.announced)
    assert second.rejections == ()
    third = unannounced(rejections(*late[1:], "A"), second.announced)
    assert [rejection.uid for rejection in third.rejections] == ["A"]
    assert len(third.announced.fingerprints) == MAX_ANNOUNCED


def test_rejection_names_one_node_and_counts_the_others() -> None:
    message = invalid_node_name("a.", ["web", "db", "api"]).message
    assert message.startswith('node name "a.-api" and 2 more is not a valid object name; ')

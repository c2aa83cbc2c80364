"""What people read about rejected rows: safe, bounded, and each event once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.reasons import RejectionReason
from lynq.api.text import printable
from lynq.core.guard.announcements import (
    LISTED,
    REMEMBERED,
    AnnouncedRejections,
    rejected_rows,
    rows_by_reason,
    unannounced,
)
from lynq.core.guard.rejections import Rejection
from lynq.core.guard.row_screening import screen_rows
from unit.core.guard.rows import NOTHING, Row


def rejections(*uids: str | None) -> tuple[Rejection, ...]:
    return screen_rows([Row(uid) for uid in uids], ["web"], NOTHING).rejections


@pytest.mark.parametrize(
    ("uid", "as_shown"),
    [
        pytest.param("acme", "acme", id="plain"),
        pytest.param("고객-1", "고객-1", id="letters of any script"),
        pytest.param("a\nb\r\t", "a\\nb\\r\\t", id="line breaks"),
        pytest.param("\x1b[31mred", "\\x1b[31mred", id="colours of a terminal"),
        pytest.param("a\u202eb", "a\\u202eb", id="turned direction"),
        pytest.param("a\udc80b", "a\\udc80b", id="half a surrogate pair"),
        pytest.param('a"b\\', 'a\\"b\\\\', id="what would end the quotation"),
        pytest.param("x" * 80, "x" * 80, id="just fits"),
        pytest.param("x" * 81, "x" * 80 + "…", id="cut"),
        pytest.param("x" * 79 + "\n", "x" * 79 + "…", id="cut before an escape"),
    ],
)
def test_a_uid_is_shown_safely(uid: str, as_shown: str) -> None:
    assert printable(uid) == as_shown


@given(st.text(st.characters(codec=None)))
def test_whatever_is_shown_is_one_short_printable_line(uid: str) -> None:
    assert printable(uid).isprintable()
    assert len(printable(uid)) <= 81
    printable(uid).encode()


@given(st.lists(st.none() | st.text(max_size=400), max_size=5))
def test_messages_are_printable_and_short(uids: list[str | None]) -> None:
    for each in rejections(*uids):
        assert each.message.isprintable()
        assert len(each.message) < 500


def test_the_status_counts_all_and_lists_the_first_20_by_uid() -> None:
    judgement = screen_rows([Row(f"T{number:03}") for number in range(50)], ["web"], NOTHING)
    status = rejected_rows(judgement)
    assert status is not None
    assert status.count == 50
    assert [row.uid for row in status.rows] == [f"T{number:03}" for number in range(LISTED)]
    assert {row.reason for row in status.rows} == {"InvalidNodeName"}


def test_the_status_is_silent_when_all_rows_are_good() -> None:
    assert rejected_rows(screen_rows([Row("acme")], ["web"], NOTHING)) is None


def test_rows_are_counted_for_every_reason() -> None:
    counted = rows_by_reason(rejections(None, "", "A", "a b"))
    assert counted == {
        RejectionReason.EMPTY_UID: 2,
        RejectionReason.INVALID_UID: 1,
        RejectionReason.INVALID_NODE_NAME: 1,
        RejectionReason.DUPLICATE_UID: 0,
        RejectionReason.NODE_NAME_TAKEN: 0,
        RejectionReason.VALUES_TOO_LARGE: 0,
    }


def test_a_rejection_is_told_once() -> None:
    first = unannounced(rejections("A", "B"), AnnouncedRejections())
    assert [each.uid for each in first.fresh] == ["A", "B"]
    second = unannounced(rejections("A", "B", "C"), first.told)
    assert [each.uid for each in second.fresh] == ["C"]


def test_the_same_row_with_another_reason_is_news() -> None:
    first = unannounced(rejections("A"), AnnouncedRejections())
    large = screen_rows([Row("A", size=10**6)], ["web"], NOTHING).rejections
    assert [each.reason for each in unannounced(large, first.told).fresh] == ["ValuesTooLarge"]


def test_a_rejection_that_comes_back_is_told_again() -> None:
    told = unannounced(rejections("A"), AnnouncedRejections()).told
    told = unannounced(rejections(), told).told
    assert [each.uid for each in unannounced(rejections("A"), told).fresh] == ["A"]


def test_long_uids_that_look_alike_when_cut_are_told_apart() -> None:
    assert (
        len(unannounced(rejections("x" * 100 + "a", "x" * 100 + "b"), AnnouncedRejections()).fresh)
        == 2
    )


def test_memory_is_bounded_and_what_was_told_is_not_pushed_out() -> None:
    late = [f"Z{number}" for number in range(REMEMBERED)]
    first = unannounced(rejections(*late), AnnouncedRejections())
    assert len(first.fresh) == REMEMBERED
    second = unannounced(rejections(*late, "A"), first.told)
    assert second.fresh == ()
    third = unannounced(rejections(*late[1:], "A"), second.told)
    assert [each.uid for each in third.fresh] == ["A"]
    assert len(third.told.fingerprints) == REMEMBERED

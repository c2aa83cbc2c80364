"""When an absent row or form counts as deleted, and when it is in doubt."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.guard.absence import (
    NO_ABSENCES,
    Absences,
    ReadTime,
    changed_message,
    lost_with_definition,
)
from lynq.core.guard.approval import digest_of

NAMES = ("a", "b", "c")


def read(
    absences: Absences,
    time: float,
    *missing: str,
    unidentifiable: int = 0,
    source: str = "table",
) -> Absences:
    """Return the absences after an instant read."""
    return absences.after_read(
        source,
        ReadTime(time, time),
        present=set(NAMES) - set(missing),
        missing=missing,
        unidentifiable=unidentifiable,
    )


def doubtful(absences: Absences, unidentifiable: int) -> set[str]:
    """Return the doubtful ones of the nodes whose rows are missing."""
    return set(absences.doubtful(absences.rows_missing_since, unidentifiable))


def test_one_read_confirms_nothing() -> None:
    first = read(NO_ABSENCES, 10, "a")
    assert first.unconfirmed_rows(ReadTime(10, 10), 5) == {"a"}
    assert first.next_read(ReadTime(10, 10), 5) == 15


def test_second_read_confirms_only_after_the_time() -> None:
    early = read(read(NO_ABSENCES, 10, "a"), 14.9, "a")
    assert early.unconfirmed_rows(ReadTime(14.9, 14.9), 5) == {"a"}
    assert early.next_read(ReadTime(14.9, 14.9), 5) == 15
    late = read(early, 15, "a")
    assert late.unconfirmed_rows(ReadTime(15, 15), 5) == frozenset()
    assert late.next_read(ReadTime(15, 15), 5) is None


def test_absence_of_a_protected_node_is_confirmed_apart() -> None:
    def after(absences: Absences, time: float, source: str = "table") -> Absences:
        return absences.after_read(
            source,
            ReadTime(time, time),
            present=(),
            missing=(),
            unidentifiable=0,
            protected=("a",),
        )

    first = after(NO_ABSENCES, 10)
    assert first.unconfirmed_protected(ReadTime(10, 10), 5) == {"a"}
    assert first.unconfirmed_rows(ReadTime(10, 10), 5) == frozenset()
    assert first.next_read(ReadTime(10, 10), 5) is None
    assert after(first, 15).unconfirmed_protected(ReadTime(15, 15), 5) == frozenset()
    assert after(first, 15, "other").unconfirmed_protected(ReadTime(15, 15), 5) == {"a"}
    assert read(first, 15, "a").unconfirmed_rows(ReadTime(15, 15), 5) == {"a"}


def test_time_counts_from_the_end_of_the_first_to_the_start_of_the_second_read() -> None:
    slow = NO_ABSENCES.after_read(
        "table", ReadTime(0, 4), present=(), missing=("a",), unidentifiable=0
    )
    overlapping = ReadTime(8, 20)
    again = slow.after_read("table", overlapping, present=(), missing=("a",), unidentifiable=0)
    assert again.unconfirmed_rows(overlapping, 5) == {"a"}


def test_row_that_came_back_is_confirmed_again() -> None:
    back = read(read(NO_ABSENCES, 10, "a"), 12)
    gone = read(back, 16, "a")
    assert gone.unconfirmed_rows(ReadTime(16, 16), 5) == {"a"}


def test_absence_in_another_source_does_not_count() -> None:
    other = read(read(NO_ABSENCES, 10, "a"), 16, "a", source="other")
    assert other.unconfirmed_rows(ReadTime(16, 16), 5) == {"a"}


def test_zero_needs_one_read() -> None:
    first = read(NO_ABSENCES, 10, "a").after_plan(10, ["web"])
    assert not first.unconfirmed_rows(ReadTime(9, 10), 0)
    assert not first.unconfirmed_forms(10, 0)


def test_time_may_be_less_than_a_second() -> None:
    first = read(NO_ABSENCES, 10, "a")
    assert first.unconfirmed_rows(ReadTime(10.4, 10.4), 0.5) == {"a"}
    assert not first.unconfirmed_rows(ReadTime(10.5, 10.5), 0.5)


def test_next_read_and_plan_confirm_the_longest_absence() -> None:
    rows = read(read(NO_ABSENCES, 10, "a"), 12, "a", "b")
    assert rows.next_read(ReadTime(12, 12), 5) == 15
    forms = NO_ABSENCES.after_plan(10, ["web"]).after_plan(12, ["web", "db"])
    assert forms.next_plan(12, 5) == 15


def test_form_is_confirmed_when_it_is_missing_long_enough() -> None:
    first = NO_ABSENCES.after_plan(10, ["web"])
    assert first.unconfirmed_forms(14, 5) == {"web"}
    assert first.next_plan(14, 5) == 15
    assert first.after_plan(15, ["web"]).unconfirmed_forms(15, 5) == frozenset()
    assert first.next_plan(15, 5) is None
    replaced = first.after_plan(12, []).after_plan(16, ["web"])
    assert replaced.unconfirmed_forms(16, 5) == {"web"}


def tracking(absences: Absences, time: float, *uids: str, source: str = "table") -> Absences:
    """Return the absences after an instant read that tracked these uids, all with a row."""
    return absences.after_read(
        source,
        ReadTime(time, time),
        present=(),
        missing=(),
        unidentifiable=0,
        tracked=frozenset(uids),
        superseded={"history"},
    )


def test_only_a_uid_that_the_last_read_tracked_can_be_deactivated() -> None:
    inactive = frozenset({"a", "new", "history"})
    assert NO_ABSENCES.deactivated("table", inactive) == frozenset()
    first = tracking(NO_ABSENCES, 10, "a", "history")
    assert first.deactivated("table", inactive) == {"a"}
    assert first.deactivated("other", inactive) == frozenset()
    second = tracking(first, 20, "a", "new", "history")
    assert second.deactivated("table", inactive) == {"a", "new"}
    # Rows that are merged into a complete read show nothing that it did not track.
    assert tracking(first, 10, "a", "new").tracked == {"a", "history"}


def test_row_that_vanishes_with_a_new_unidentifiable_row_is_doubtful() -> None:
    before = read(NO_ABSENCES, 0, unidentifiable=1)
    assert doubtful(read(before, 10, "a", unidentifiable=2), 2) == {"a"}
    assert doubtful(read(before, 10, "a", unidentifiable=1), 1) == set()


def test_later_deletion_is_not_doubtful() -> None:
    spoilt = read(read(NO_ABSENCES, 0), 10, "a", unidentifiable=1)
    assert doubtful(read(spoilt, 20, "a", "b", unidentifiable=1), 1) == {"a"}


def test_row_that_was_missing_before_a_rise_is_doubtful_and_not_after_a_fall() -> None:
    missing = read(read(NO_ABSENCES, 0, unidentifiable=2), 10, "a", unidentifiable=2)
    assert doubtful(read(missing, 11, "a", unidentifiable=3), 3) == {"a"}
    fallen = read(missing, 11, "a", unidentifiable=1)
    assert doubtful(read(fallen, 12, "a", unidentifiable=2), 2) == set()


def test_after_a_restart_every_missing_row_is_doubtful() -> None:
    assert doubtful(read(NO_ABSENCES, 10, "a", unidentifiable=1), 1) == {"a"}


def test_row_of_a_node_that_is_not_deleted_is_doubtful_too() -> None:
    before = read(NO_ABSENCES, 0, unidentifiable=1)
    paused = before.after_read(
        "table",
        ReadTime(10, 10),
        present=("b", "c"),
        missing=(),
        without_row=("a",),
        unidentifiable=1,
    )
    assert paused.doubtful(["a"], 1) == frozenset()
    assert paused.doubtful(["a"], 2) == {"a"}


def test_approved_node_that_is_kept_is_held_no_more() -> None:
    spoilt = read(NO_ABSENCES, 10, "a", "b", unidentifiable=2)
    held = replace(spoilt, changed=frozenset({"a", "b"}))
    approved = held.after_approval({"a"})
    assert approved.changed == frozenset({"b"})
    assert doubtful(approved, 2) == {"b"}
    assert doubtful(approved, 3) == {"a", "b"}
    assert spoilt.after_approval({"a"}).changed is None
    assert held.after_approval(()) is held


def test_message_names_nodes_and_ends_with_the_digest() -> None:
    message = changed_message(["b-web", "a-web"], (), 1)
    assert message.startswith(
        "the rows of a-web, b-web are missing, and 1 row that identifies no node was read: a uid"
    )
    assert message.endswith(f"approves 2 nodes, {digest_of(['a-web', 'b-web'])}")
    assert "2 rows that identify no node were read: a uid" in changed_message(["a-web"], (), 2)


def test_message_after_the_spoilt_rows_are_gone_says_why_the_nodes_are_held() -> None:
    message = changed_message(["a-web"], (), 0)
    assert "rows that identified no node were read when they went missing" in message
    spent = digest_of(["a-web"])
    assert not changed_message(["a-web"], (), 0, [spent]).endswith(spent)


def test_message_tells_missing_rows_from_unclear_ones() -> None:
    names, unclear = ["a-web", "b-web", "c-web"], {"b-web", "x-web"}
    both = changed_message(names, unclear, 1)
    assert "the rows of a-web, c-web are missing, and 1 row" in both
    assert "; the rows of b-web have an activate text that is neither yes nor no; no such" in both
    assert "missing" not in changed_message(["b-web"], unclear, 1)


@dataclass
class History:
    """All reads, as a model that forgets nothing."""

    reads: list[tuple[float, frozenset[str], int]] = field(default_factory=list)

    def is_confirmed(self, name: str, confirm_after: float) -> bool:
        """Return whether the row is missing in two reads, `confirm_after` apart."""
        since = None
        for time, missing, _ in self.reads:
            since = None if name not in missing else time if since is None else since
        return since is not None and self.reads[-1][0] - since >= confirm_after

    def is_doubtful(self, name: str) -> bool:
        """Return whether the last read has more unidentifiable rows than the last with the row."""
        last = [count for _, missing, count in self.reads if name not in missing]
        return self.reads[-1][2] > (last[-1] if last else 0)


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.frozensets(st.sampled_from(NAMES)), st.integers(0, 2)),
        min_size=1,
    )
)
def test_any_history_agrees_with_the_model(
    reads: list[tuple[int, frozenset[str], int]],
) -> None:
    history, absences, now = History(), NO_ABSENCES, 0.0
    for pause, missing, unidentifiable in reads:
        now += pause
        history.reads.append((now, missing, unidentifiable))
        for _ in range(2):  # a second plan with the same read changes nothing
            absences = read(absences, now, *missing, unidentifiable=unidentifiable)
        confirmed = missing - absences.unconfirmed_rows(ReadTime(now, now), 5)
        assert confirmed == {name for name in missing if history.is_confirmed(name, 5)}
        assert doubtful(absences, unidentifiable) == {
            name for name in missing if history.is_doubtful(name)
        }


@pytest.mark.parametrize(
    ("written", "defined", "lost"),
    [(1, 2, True), (2, 2, False), (3, 2, False), (None, 2, True), (1, None, False)],
)
def test_form_rendered_before_its_definition_was_lost_with_an_earlier_one(
    *, written: int | None, defined: int | None, lost: bool
) -> None:
    def day(number: int | None) -> datetime | None:
        return None if number is None else datetime(2026, 1, number, tzinfo=UTC)

    assert lost_with_definition(day(written), day(defined)) is lost

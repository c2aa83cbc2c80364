"""Screening: which pairs of row and form are accepted, and why others are rejected."""

import pytest

from lynq.api.naming import NodePair
from lynq.api.reasons import RejectionReason
from lynq.api.source import VALUES_LIMIT
from lynq.core.guard.row_screening import ExistingNodes, ScreenedRows, screen_rows
from unit.core.guard.rows import NOTHING, Row, existing

LOW, HIGH = sorted([Row("acme", "x"), Row("acme", "y")], key=lambda row: row.digest)


def reasons(screened: ScreenedRows[Row]) -> list[tuple[str, RejectionReason, int]]:
    return [(item.uid, item.reason, item.rows) for item in screened.rejections]


def test_valid_row_gives_node_per_form() -> None:
    screened = screen_rows([Row("acme")], ["web", "db"], NOTHING)
    assert screened.nodes == {"acme-web": ("acme", "web"), "acme-db": ("acme", "db")}
    assert screened.rows == {"acme": Row("acme")}
    assert (screened.rejections, screened.desired, screened.missing) == ((), 2, 0)


@pytest.mark.parametrize(
    ("uid", "reason"),
    [
        pytest.param(None, RejectionReason.EMPTY_UID, id="NULL"),
        pytest.param("", RejectionReason.EMPTY_UID, id="empty"),
        pytest.param(" ", RejectionReason.INVALID_UID, id="blank"),
        pytest.param("a b", RejectionReason.INVALID_UID, id="inner blank"),
        pytest.param("acme\n", RejectionReason.INVALID_UID, id="trailing line break"),
        pytest.param("../etc", RejectionReason.INVALID_UID, id="path"),
        pytest.param("{{ .uid }}", RejectionReason.INVALID_UID, id="template"),
        pytest.param("ünïted", RejectionReason.INVALID_UID, id="not ASCII"),
        pytest.param("-acme", RejectionReason.INVALID_UID, id="leading dash"),
        pytest.param("x" * 64, RejectionReason.INVALID_UID, id="64 characters"),
        pytest.param("Acme", RejectionReason.INVALID_NODE_NAME, id="upper case"),
        pytest.param("a_b", RejectionReason.INVALID_NODE_NAME, id="underscore"),
        pytest.param("a..b", RejectionReason.INVALID_NODE_NAME, id="two dots"),
        pytest.param("a.-b", RejectionReason.INVALID_NODE_NAME, id="dash after dot"),
    ],
)
def test_invalid_uid_is_rejected_and_others_are_accepted(
    uid: str | None, reason: RejectionReason
) -> None:
    screened = screen_rows([Row(uid), Row("good")], ["web"], NOTHING)
    assert list(screened.nodes) == ["good-web"]
    assert [item.reason for item in screened.rejections] == [reason]
    assert (screened.rejected_rows, screened.desired, screened.missing) == (1, 2, 1)


@pytest.mark.parametrize("uid", ["x" * 63, "a.b", "0", "a--b"])
def test_unusual_valid_uid_is_accepted(uid: str) -> None:
    assert list(screen_rows([Row(uid)], ["web"], NOTHING).nodes) == [f"{uid}-web"]


def test_too_long_name_is_rejected_for_one_form_only() -> None:
    long = "f" * 200
    screened = screen_rows([Row("x" * 53), Row("x" * 52)], ["web", long], NOTHING)
    assert sorted(map(len, screened.nodes)) == [56, 57, 253]
    assert reasons(screened) == [("x" * 53, RejectionReason.INVALID_NODE_NAME, 1)]
    assert "254 characters" in screened.rejections[0].message
    assert (screened.rejected_rows, screened.missing) == (1, 1)


def test_values_are_limited_to_200_kib() -> None:
    rows = [Row("fits", size=VALUES_LIMIT), Row("large", size=VALUES_LIMIT + 1)]
    screened = screen_rows(rows, ["web"], NOTHING)
    assert VALUES_LIMIT == 204_800
    assert list(screened.nodes) == ["fits-web"]
    assert reasons(screened) == [("large", RejectionReason.VALUES_TOO_LARGE, 1)]
    assert "have at least 204801 bytes" in screened.rejections[0].message


def test_row_with_oversized_values_keeps_its_nodes() -> None:
    screened = screen_rows([Row("acme", size=VALUES_LIMIT + 1)], ["web", "db"], NOTHING)
    assert screened.rejected_pairs == {("acme", "web"), ("acme", "db")}


def test_equal_duplicates_count_once_without_rejection() -> None:
    screened = screen_rows([Row("acme", "x"), Row("acme", "x")], ["web"], NOTHING)
    assert (screened.desired, screened.missing, screened.rejections) == (1, 0, ())


def test_differing_duplicate_with_lowest_digest_is_accepted() -> None:
    screened = screen_rows([HIGH, LOW, HIGH], ["web", "db"], NOTHING)
    assert screened.rows == {"acme": LOW}
    assert reasons(screened) == [("acme", RejectionReason.DUPLICATE_UID, 1)]
    assert (screened.desired, screened.missing, len(screened.nodes)) == (4, 2, 2)


def test_differing_duplicate_in_use_is_preferred() -> None:
    screened = screen_rows([LOW, HIGH], ["web"], existing(reflected={"acme": HIGH}))
    assert screened.rows == {"acme": HIGH}


def test_lowest_digest_wins_if_nodes_reflect_both_duplicates() -> None:
    both = ExistingNodes(owners={}, reflected={"acme": [HIGH.digest, LOW.digest]})
    assert screen_rows([HIGH, LOW], ["web"], both).rows == {"acme": LOW}


def test_oversized_duplicate_does_not_compete() -> None:
    large = Row("acme", "z", size=VALUES_LIMIT + 1)
    screened = screen_rows([large, LOW], ["web"], NOTHING)
    assert screened.rows == {"acme": LOW}
    assert reasons(screened) == [("acme", RejectionReason.VALUES_TOO_LARGE, 1)]
    assert screened.rejected_pairs == frozenset()


def test_row_with_an_unclear_activate_text_keeps_its_nodes() -> None:
    unclear = Row("acme", is_active=False)
    screened = screen_rows([unclear, unclear, Row("good")], ["web", "db"], NOTHING)
    assert sorted(screened.nodes) == ["good-db", "good-web"]
    assert screened.rejected_pairs == screened.unclear_pairs == {("acme", "web"), ("acme", "db")}
    assert reasons(screened) == [("acme", RejectionReason.INVALID_ACTIVATE, 1)]
    # The second one may have been the row of another tenant.
    assert (screened.desired, screened.missing, screened.unidentifiable) == (4, 2, 1)


def test_unclear_row_beside_an_active_one_does_not_compete() -> None:
    rows = [Row("acme", "x", is_active=False), Row("acme", "y", is_active=False), LOW]
    screened = screen_rows(rows, ["web"], existing(reflected={"acme": rows[0]}))
    assert (screened.rows, screened.unclear_pairs) == ({"acme": LOW}, frozenset())
    assert reasons(screened) == [("acme", RejectionReason.INVALID_ACTIVATE, 2)]
    assert "2 rows with an activate text" in screened.rejections[0].message


def test_unclear_row_beside_an_oversized_one_is_not_the_only_one() -> None:
    rows = [Row("acme", size=VALUES_LIMIT + 1), Row("acme", is_active=False)]
    screened = screen_rows(rows, ["web"], NOTHING)
    assert screened.rejected_pairs == {("acme", "web")}
    assert screened.unclear_pairs == frozenset()
    assert [reason for _, reason, _ in reasons(screened)] == [
        RejectionReason.INVALID_ACTIVATE,
        RejectionReason.VALUES_TOO_LARGE,
    ]


@pytest.mark.parametrize(("uid", "count"), [("acme", 0), ("Acme", 1), ("a b", 1), (None, 1)])
def test_unclear_row_is_unidentifiable_if_its_uid_is_spoilt_too(
    uid: str | None, count: int
) -> None:
    assert screen_rows([Row(uid, is_active=False)], ["web"], NOTHING).unidentifiable == count


def test_rows_without_uid_share_one_rejection() -> None:
    screened = screen_rows([Row(None), Row(""), Row(None)], ["web"], NOTHING)
    assert reasons(screened) == [("", RejectionReason.EMPTY_UID, 3)]
    assert (screened.rejected_rows, screened.desired, screened.missing) == (3, 3, 3)


class TestTwoPairsWithOneName:
    ROWS = (Row("a-b"), Row("a"))
    FORMS = ("c", "b-c")

    def test_lower_pair_gets_name_and_others_are_accepted(self) -> None:
        screened = screen_rows(self.ROWS, self.FORMS, NOTHING)
        assert screened.nodes["a-b-c"] == NodePair("a", "b-c")
        assert set(screened.nodes) == {"a-c", "a-b-c", "a-b-b-c"}
        assert reasons(screened) == [("a-b", RejectionReason.NODE_NAME_TAKEN, 1)]
        assert screened.rejected_pairs == {("a-b", "c")}

    def test_pair_of_existing_node_keeps_name(self) -> None:
        screened = screen_rows(self.ROWS, self.FORMS, existing(NodePair("a-b", "c")))
        assert screened.nodes["a-b-c"] == NodePair("a-b", "c")
        assert reasons(screened) == [("a", RejectionReason.NODE_NAME_TAKEN, 1)]

    def test_name_of_another_hubs_node_is_taken(self) -> None:
        screened = screen_rows([Row("a")], ["b-c"], existing(NodePair("a-b", "c")))
        assert screened.nodes == {}
        assert 'belongs to uid "a-b" with form "c"' in screened.rejections[0].message

    def test_edited_spec_does_not_take_name_from_pair(self) -> None:
        edited = ExistingNodes(owners={"a-c": NodePair("x", "c")}, reflected={})
        assert screen_rows([Row("a")], ["c"], edited).nodes == {"a-c": ("a", "c")}

    def test_rejected_row_takes_no_name(self) -> None:
        rows = [Row("a-b"), Row("a", size=VALUES_LIMIT + 1)]
        assert screen_rows(rows, self.FORMS, NOTHING).nodes["a-b-c"] == NodePair("a-b", "c")


def test_row_rejected_for_two_reasons_counts_once() -> None:
    uid = "a"
    screened = screen_rows(
        [Row(uid), Row("a-b")], ["c", "b-c", "f" * 252], existing(NodePair("a-b", "c"))
    )
    reasons_of_uid = [item.reason for item in screened.rejections if item.uid == uid]
    assert reasons_of_uid == [RejectionReason.INVALID_NODE_NAME, RejectionReason.NODE_NAME_TAKEN]
    assert screened.rejected_rows == 2


def test_rows_are_rejected_without_forms() -> None:
    screened = screen_rows([Row("acme"), Row(None)], [], NOTHING)
    assert (screened.nodes, screened.desired, screened.missing) == ({}, 0, 0)
    assert screened.rejected_rows == 1


@pytest.mark.parametrize(
    ("uid", "count"),
    [
        pytest.param("Unknown", 2, id="no valid node name"),
        pytest.param("un known", 2, id="no valid uid"),
        pytest.param("acme", 1, id="one of them has the node"),
    ],
)
def test_equal_rows_of_one_uid_are_unidentifiable_one_by_one(uid: str, count: int) -> None:
    screened = screen_rows([Row(uid), Row(uid)], ["web"], NOTHING)
    assert screened.unidentifiable == count
    assert screened.desired == 1


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        pytest.param((100, VALUES_LIMIT + 1), 1, id="one fits"),
        pytest.param((VALUES_LIMIT + 1, VALUES_LIMIT + 2), 1, id="none fits"),
    ],
)
def test_rows_of_one_uid_are_unidentifiable_whatever_their_size(
    sizes: tuple[int, ...], count: int
) -> None:
    rows = [Row("acme", size=size) for size in sizes]
    assert screen_rows(rows, ["web"], NOTHING).unidentifiable == count


def test_oversized_row_with_an_invalid_node_name_is_unidentifiable() -> None:
    rows = [Row("Acme", size=VALUES_LIMIT + 1)]
    assert screen_rows(rows, ["web"], NOTHING).unidentifiable == 1


@pytest.mark.parametrize(
    ("row", "owners", "unidentifiable"),
    [
        pytest.param(Row(None), NOTHING, 1, id="no uid"),
        pytest.param(Row("a b"), NOTHING, 1, id="invalid uid"),
        pytest.param(Row("good", "other"), NOTHING, 1, id="duplicate uid"),
        pytest.param(Row("Acme"), NOTHING, 1, id="invalid node name"),
        pytest.param(Row("acme", size=VALUES_LIMIT + 1), NOTHING, 0, id="too large"),
        pytest.param(
            Row("a-b"), ExistingNodes({"a-b-web": NodePair("a", "b-web")}, {}), 0, id="name taken"
        ),
    ],
)
def test_row_is_unidentifiable_if_its_uid_may_be_spoilt(
    row: Row, owners: ExistingNodes, unidentifiable: int
) -> None:
    screened = screen_rows([row, Row("good")], ["web"], owners)
    assert len(screened.rejections) == 1
    assert screened.unidentifiable == unidentifiable


def test_nodes_of_accepted_and_of_rejected_rows_are_present() -> None:
    large = Row("acme", size=VALUES_LIMIT + 1)
    assert screen_rows([large, Row("good")], ["web"], NOTHING).present == {"acme-web", "good-web"}

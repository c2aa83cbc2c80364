"""Which rows become nodes, which are set apart, and why."""

import pytest

from lynq.api.naming import NodePair
from lynq.api.reasons import RejectionReason
from lynq.core.guard.rejections import VALUES_LIMIT
from lynq.core.guard.row_screening import ExistingNodes, ScreenedRows, screen_rows
from unit.core.guard.rows import NOTHING, Row, existing

LOW, HIGH = sorted([Row("acme", "x"), Row("acme", "y")], key=lambda row: row.digest)


def reasons(judgement: ScreenedRows[Row]) -> list[tuple[str, RejectionReason, int]]:
    return [(each.uid, each.reason, each.rows) for each in judgement.rejections]


def test_a_good_row_becomes_a_node_per_form() -> None:
    judgement = screen_rows([Row("acme")], ["web", "db"], NOTHING)
    assert judgement.nodes == {"acme-web": ("acme", "web"), "acme-db": ("acme", "db")}
    assert judgement.rows == {"acme": Row("acme")}
    assert (judgement.rejections, judgement.desired, judgement.missing) == ((), 2, 0)


@pytest.mark.parametrize(
    ("uid", "reason"),
    [
        pytest.param(None, RejectionReason.EMPTY_UID, id="NULL"),
        pytest.param("", RejectionReason.EMPTY_UID, id="empty"),
        pytest.param(" ", RejectionReason.INVALID_UID, id="blank"),
        pytest.param("a b", RejectionReason.INVALID_UID, id="inner blank"),
        pytest.param("acme\n", RejectionReason.INVALID_UID, id="line break at the end"),
        pytest.param("../etc", RejectionReason.INVALID_UID, id="path"),
        pytest.param("{{ .uid }}", RejectionReason.INVALID_UID, id="template"),
        pytest.param("ünïted", RejectionReason.INVALID_UID, id="not ASCII"),
        pytest.param("-acme", RejectionReason.INVALID_UID, id="dash in front"),
        pytest.param("x" * 64, RejectionReason.INVALID_UID, id="64 characters"),
        pytest.param("Acme", RejectionReason.INVALID_NODE_NAME, id="upper case"),
        pytest.param("a_b", RejectionReason.INVALID_NODE_NAME, id="underscore"),
        pytest.param("a..b", RejectionReason.INVALID_NODE_NAME, id="two dots"),
        pytest.param("a.-b", RejectionReason.INVALID_NODE_NAME, id="dash behind a dot"),
    ],
)
def test_a_bad_uid_is_set_apart_and_all_others_go_on(
    uid: str | None, reason: RejectionReason
) -> None:
    judgement = screen_rows([Row(uid), Row("good")], ["web"], NOTHING)
    assert list(judgement.nodes) == ["good-web"]
    assert [each.reason for each in judgement.rejections] == [reason]
    assert (judgement.rejected_rows, judgement.desired, judgement.missing) == (1, 2, 1)


@pytest.mark.parametrize("uid", ["x" * 63, "a.b", "0", "a--b"])
def test_an_unusual_uid_is_good_all_the_same(uid: str) -> None:
    assert list(screen_rows([Row(uid)], ["web"], NOTHING).nodes) == [f"{uid}-web"]


def test_a_name_that_is_too_long_concerns_that_form_only() -> None:
    long = "f" * 200
    judgement = screen_rows([Row("x" * 53), Row("x" * 52)], ["web", long], NOTHING)
    assert sorted(map(len, judgement.nodes)) == [56, 57, 253]
    assert reasons(judgement) == [("x" * 53, RejectionReason.INVALID_NODE_NAME, 1)]
    assert "254 characters" in judgement.rejections[0].message
    assert (judgement.rejected_rows, judgement.missing) == (1, 1)


def test_values_may_have_200_kib_and_no_more() -> None:
    rows = [Row("fits", size=VALUES_LIMIT), Row("large", size=VALUES_LIMIT + 1)]
    judgement = screen_rows(rows, ["web"], NOTHING)
    assert VALUES_LIMIT == 204_800
    assert list(judgement.nodes) == ["fits-web"]
    assert reasons(judgement) == [("large", RejectionReason.VALUES_TOO_LARGE, 1)]


def test_a_tenant_whose_values_have_grown_too_large_keeps_its_nodes() -> None:
    judgement = screen_rows([Row("acme", size=VALUES_LIMIT + 1)], ["web", "db"], NOTHING)
    assert judgement.kept == {("acme", "web"), ("acme", "db")}


def test_equal_duplicates_count_once_and_are_no_fault() -> None:
    judgement = screen_rows([Row("acme", "x"), Row("acme", "x")], ["web"], NOTHING)
    assert (judgement.desired, judgement.missing, judgement.rejections) == (1, 0, ())


def test_of_differing_duplicates_the_lowest_digest_stays() -> None:
    judgement = screen_rows([HIGH, LOW, HIGH], ["web", "db"], NOTHING)
    assert judgement.rows == {"acme": LOW}
    assert reasons(judgement) == [("acme", RejectionReason.DUPLICATE_UID, 1)]
    assert (judgement.desired, judgement.missing, len(judgement.nodes)) == (4, 2, 2)


def test_of_differing_duplicates_the_one_in_use_stays() -> None:
    judgement = screen_rows([LOW, HIGH], ["web"], existing(reflected={"acme": HIGH}))
    assert judgement.rows == {"acme": HIGH}


def test_if_nodes_reflect_both_duplicates_the_lowest_of_them_stays() -> None:
    both = ExistingNodes(owners={}, reflected={"acme": [HIGH.digest, LOW.digest]})
    assert screen_rows([HIGH, LOW], ["web"], both).rows == {"acme": LOW}


def test_a_duplicate_that_is_too_large_does_not_compete() -> None:
    large = Row("acme", "z", size=VALUES_LIMIT + 1)
    judgement = screen_rows([large, LOW], ["web"], NOTHING)
    assert judgement.rows == {"acme": LOW}
    assert reasons(judgement) == [("acme", RejectionReason.VALUES_TOO_LARGE, 1)]
    assert judgement.kept == frozenset()


def test_rows_without_uid_are_told_of_together_and_counted_singly() -> None:
    judgement = screen_rows([Row(None), Row(""), Row(None)], ["web"], NOTHING)
    assert reasons(judgement) == [("", RejectionReason.EMPTY_UID, 3)]
    assert (judgement.rejected_rows, judgement.desired, judgement.missing) == (3, 3, 3)


class TestTwoPairsWithOneName:
    ROWS = (Row("a-b"), Row("a"))
    FORMS = ("c", "b-c")

    def test_the_lower_pair_has_the_name_and_the_others_go_on(self) -> None:
        judgement = screen_rows(self.ROWS, self.FORMS, NOTHING)
        assert judgement.nodes["a-b-c"] == NodePair("a", "b-c")
        assert set(judgement.nodes) == {"a-c", "a-b-c", "a-b-b-c"}
        assert reasons(judgement) == [("a-b", RejectionReason.NODE_NAME_TAKEN, 1)]
        assert judgement.kept == {("a-b", "c")}

    def test_the_pair_whose_node_exists_keeps_the_name(self) -> None:
        judgement = screen_rows(self.ROWS, self.FORMS, existing(NodePair("a-b", "c")))
        assert judgement.nodes["a-b-c"] == NodePair("a-b", "c")
        assert reasons(judgement) == [("a", RejectionReason.NODE_NAME_TAKEN, 1)]

    def test_a_node_of_another_hub_has_its_name_too(self) -> None:
        judgement = screen_rows([Row("a")], ["b-c"], existing(NodePair("a-b", "c")))
        assert judgement.nodes == {}
        assert 'belongs to uid "a-b" with form "c"' in judgement.rejections[0].message

    def test_a_node_whose_spec_names_another_row_does_not_lose_its_own(self) -> None:
        edited = ExistingNodes(owners={"a-c": NodePair("x", "c")}, reflected={})
        assert screen_rows([Row("a")], ["c"], edited).nodes == {"a-c": ("a", "c")}

    def test_a_rejected_row_takes_no_name(self) -> None:
        rows = [Row("a-b"), Row("a", size=VALUES_LIMIT + 1)]
        assert screen_rows(rows, self.FORMS, NOTHING).nodes["a-b-c"] == NodePair("a-b", "c")


def test_a_row_can_be_rejected_for_two_reasons_and_is_one_row() -> None:
    uid = "a"
    judgement = screen_rows(
        [Row(uid), Row("a-b")], ["c", "b-c", "f" * 252], existing(NodePair("a-b", "c"))
    )
    mine = [each.reason for each in judgement.rejections if each.uid == uid]
    assert mine == [RejectionReason.INVALID_NODE_NAME, RejectionReason.NODE_NAME_TAKEN]
    assert judgement.rejected_rows == 2


def test_without_forms_there_are_no_nodes_but_bad_rows_are_told() -> None:
    judgement = screen_rows([Row("acme"), Row(None)], [], NOTHING)
    assert (judgement.nodes, judgement.desired, judgement.missing) == ({}, 0, 0)
    assert judgement.rejected_rows == 1

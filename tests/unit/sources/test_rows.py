"""Rows, their digests and the pages they come in."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lynq.sources import Query, Row
from lynq.sources.read import FIRST_PAGE, LARGEST_PAGE, PAGE_BYTES, _page_limit
from lynq.sources.rows import ACTIVE, ColumnKind, RowLayout, SourceColumn, active_rows

QUERY = Query(table="t", uid="u", activate="a", extras={"x": "c", "y": "d"})
COLUMNS = [SourceColumn(name, "text", ColumnKind.TEXT) for name in QUERY.columns]
LAYOUT = RowLayout.of(QUERY, COLUMNS)

TEXTS = st.tuples(st.text(), st.sampled_from(["1", "yes", "0", "", "Yes"]), st.text(), st.text())


def rows(*given_: Sequence[Any], layout: RowLayout = LAYOUT) -> list[Row]:
    return active_rows(layout, given_)


@given(st.lists(TEXTS))
def test_active_rows_come_in_their_order_as_they_were(page: list[tuple[str, ...]]) -> None:
    assert [row.texts for row in rows(*page)] == [each for each in page if each[1] in ACTIVE]


@given(TEXTS, TEXTS)
def test_rows_have_the_same_digest_exactly_when_their_texts_are_the_same(
    one: tuple[str, ...], other: tuple[str, ...]
) -> None:
    first, second = (Row(each, LAYOUT) for each in (one, other))
    assert (first.digest == second.digest) is (one == other)


@given(st.text(), st.text())
def test_text_that_moves_between_columns_changes_the_digest(left: str, right: str) -> None:
    texts = [("u", "1", left + right, ""), ("u", "1", left, right), ("u", "1", "", left + right)]
    digests = {Row(each, LAYOUT).digest for each in texts}
    assert len(digests) == len(set(texts))


def test_a_row_shows_its_uid_and_none_of_its_values() -> None:
    (row,) = rows(("acme", "1", "canary", "canary"))
    assert repr(row) == "Row(uid='acme')"


def test_a_null_uid_is_the_empty_text_and_still_a_row() -> None:
    (row,) = rows((None, "1", None, "x"))
    assert row.uid == ""
    assert row.extras == {"x": "", "y": "x"}


def test_a_page_is_as_large_as_its_rows_allow() -> None:
    assert _page_limit(0, 0) == FIRST_PAGE
    assert _page_limit(100, 100 * 10) == LARGEST_PAGE
    assert _page_limit(100, 100 * PAGE_BYTES // 4) == 4
    assert _page_limit(10, 10 * PAGE_BYTES * 3) == 1

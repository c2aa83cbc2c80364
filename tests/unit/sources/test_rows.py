"""Rows, their digests and page sizes."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lynq.api.activate import ACTIVE, is_unclear, means_no
from lynq.sources import Query, Row
from lynq.sources.read import FIRST_PAGE, LARGEST_PAGE, PAGE_BYTES, _page_limit
from lynq.sources.rows import (
    RowLayout,
    SourceColumn,
    active_rows,
    converted_page,
    joined_pages,
)

QUERY = Query(table="t", uid="u", activate="a", extras={"x": "c", "y": "d"})
COLUMNS = [SourceColumn(name, "text") for name in QUERY.columns]
LAYOUT = RowLayout.of(QUERY, COLUMNS)

ACTIVATE = ["1", "yes", "0", "", "Yes", "Y", "1\r", "archived"]
TEXTS = st.tuples(st.text(), st.sampled_from(ACTIVATE), st.text(), st.text())


def rows(*page: Sequence[Any], layout: RowLayout = LAYOUT) -> list[Row]:
    return active_rows(layout, [(*values, None) for values in page])


def is_returned(text: str) -> bool:
    return text in ACTIVE or is_unclear(text)


@given(st.lists(TEXTS))
def test_active_and_unclear_rows_keep_their_order_and_texts(page: list[tuple[str, ...]]) -> None:
    assert [row.texts for row in rows(*page)] == [texts for texts in page if is_returned(texts[1])]


@given(st.lists(TEXTS), st.integers(1, 5))
def test_page_counts_bytes_and_tracked_inactive_rows_however_it_is_divided(
    page: list[tuple[str, ...]], size: int
) -> None:
    returned = [texts for texts in page if is_returned(texts[1])]
    tracked = frozenset(texts[0] for texts in page[::2])
    batches = [page[start : start + size] for start in range(0, len(page), size)]
    whole = converted_page(LAYOUT, tracked, page)
    assert whole == joined_pages([converted_page(LAYOUT, tracked, batch) for batch in batches])
    assert whole.size == sum(len(text.encode()) + 3 for texts in returned for text in texts)
    assert whole.inactive == {texts[0] for texts in page if means_no(texts[1])} & tracked
    assert whole.seen == len(page)


@given(TEXTS, TEXTS)
def test_rows_have_equal_digests_exactly_if_their_texts_are_equal(
    one: tuple[str, ...], other: tuple[str, ...]
) -> None:
    first, second = (Row(texts, LAYOUT) for texts in (one, other))
    assert (first.digest == second.digest) is (one == other)


@given(st.text(), st.text())
def test_text_that_moves_between_columns_changes_the_digest(left: str, right: str) -> None:
    texts = [("u", "1", left + right, ""), ("u", "1", left, right), ("u", "1", "", left + right)]
    digests = {Row(values, LAYOUT).digest for values in texts}
    assert len(digests) == len(set(texts))


def test_repr_of_a_row_shows_only_its_uid() -> None:
    (row,) = rows(("acme", "1", "canary", "canary"))
    assert repr(row) == "Row(uid='acme')"


def test_null_uid_is_an_empty_text_of_an_active_row() -> None:
    (row,) = rows((None, "1", None, "x"))
    assert row.uid == ""
    assert row.extras == {"x": "", "y": "x"}


def test_row_too_large_has_uid_and_size_only() -> None:
    page = [("acme", "1", None, None, "10000000"), ("bolt", "1", "x", "y", None)]
    large, usable = active_rows(LAYOUT, page)
    assert (large.uid, large.oversize, large.extras) == ("acme", 10_000_000, {"x": "", "y": ""})
    assert (usable.uid, usable.oversize) == ("bolt", 0)


def test_page_size_follows_the_size_of_rows() -> None:
    assert _page_limit(0, 0) == FIRST_PAGE
    assert _page_limit(100, 100 * 10) == LARGEST_PAGE
    assert _page_limit(100, 100 * PAGE_BYTES // 4) == 4
    assert _page_limit(10, 10 * PAGE_BYTES * 3) == 1


def test_rows_are_equal_exactly_if_templates_see_the_same_values() -> None:
    (row,) = rows(("a", "1", "x", None))
    (same,) = rows(("a", "1", "x", None))
    (other,) = rows(("a", "1", "y", None))
    renamed = Row(row.texts, dataclasses.replace(LAYOUT, salt=b"other"))
    oversize = Row(row.texts, row.layout, 300_000)
    assert (row == same, row != same, hash(row)) == (True, False, hash(same))
    for different in (other, renamed, oversize, None):
        assert (row == different, row != different) == (False, True)

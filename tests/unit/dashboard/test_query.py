"""Pages over a sorted list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.dashboard.query import BadQuery, page


@given(st.lists(st.text(max_size=4), unique=True, max_size=40), st.integers(1, 7), st.booleans())
def test_pages_have_every_item_once_and_in_order(
    items: list[str],
    size: int,
    descending: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    read: list[str] = []
    after = ""
    while True:
        part = page(items, lambda item: (item,), after, size, descending=descending)
        read += part.items
        after = part.next
        if not after:
            break
    assert read == sorted(items, reverse=descending)


@given(st.lists(st.integers(0, 50), unique=True, min_size=4, max_size=20))
def test_item_added_before_the_cursor_does_not_shift_the_next_page(items: list[int]) -> None:
    first = page(items, lambda item: (item,), "", 2)
    second = page([*items, -1], lambda item: (item,), first.next, 2)
    assert second.items == tuple(sorted(items)[2:4])


@pytest.mark.parametrize("cursor", ["!!", "bm90IGpzb24", "eyJhIjoxfQ", "WzEsMl0"])
def test_cursor_of_another_server_or_order_is_refused(cursor: str) -> None:
    with pytest.raises(BadQuery):
        page(["a", "b"], lambda item: (item,), cursor, 1)

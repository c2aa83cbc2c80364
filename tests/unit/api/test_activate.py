"""The words of the activate column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.activate import ACTIVE, is_unclear, means_no

UNCLEAR = ("1\r", "true ", "Y", "On", "t", "tRUE", " 1", "yes\n", "T", "\N{NO-BREAK SPACE}1")
NO = ("", "0", "false", "FALSE", "No", "off", "N", "f", "Disabled", "inactive")
OTHER = ("2", "archived", "enabled", "0\r", " no", " ", "truee", "1.0", "-1")


@pytest.mark.parametrize("text", UNCLEAR)
def test_yes_that_was_spoilt_is_unclear(text: str) -> None:
    assert is_unclear(text)
    assert not means_no(text)


@pytest.mark.parametrize("text", NO)
def test_word_that_means_no_is_clear(text: str) -> None:
    assert means_no(text)
    assert not is_unclear(text)


@pytest.mark.parametrize("text", [*sorted(ACTIVE), *OTHER])
def test_every_other_text_is_neither_unclear_nor_a_clear_no(text: str) -> None:
    assert not is_unclear(text)
    assert not means_no(text)


@given(st.text())
def test_no_text_has_two_meanings(text: str) -> None:
    assert [text in ACTIVE, is_unclear(text), means_no(text)].count(True) <= 1

"""Text in messages is printable, bounded and on one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.text import and_more, one_line, printable


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("acme", "acme", id="plain"),
        pytest.param("고객-1", "고객-1", id="letters of any script"),
        pytest.param("a\nb\r\t", "a\\nb\\r\\t", id="line breaks"),
        pytest.param("\x1b[31mred", "\\x1b[31mred", id="terminal escape code"),
        pytest.param("a\u202eb", "a\\u202eb", id="bidirectional control"),
        pytest.param("a\udc80b", "a\\udc80b", id="lone surrogate"),
        pytest.param('a"b\\', 'a\\"b\\\\', id="quote and backslash"),
        pytest.param("x" * 81, "x" * 81, id="longest"),
        pytest.param("x" * 82, "x" * 80 + "…", id="cut"),
        pytest.param("x" * 80 + "\n", "x" * 80 + "…", id="cut before an escape"),
    ],
)
def test_value_is_escaped(value: str, expected: str) -> None:
    assert printable(value) == expected


@given(st.text(st.characters(codec=None)))
def test_any_value_is_one_short_printable_line(value: str) -> None:
    assert printable(value).isprintable()
    assert len(printable(value)) <= 81
    printable(value).encode()


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        pytest.param([], "", id="empty"),
        pytest.param(["a"], "a", id="one"),
        pytest.param(["a", "b", "c"], "a, b, c", id="all shown"),
        pytest.param(["a", "b", "c", "d"], "a, b, c and 1 more", id="one hidden"),
    ],
)
def test_long_list_is_counted(items: list[str], expected: str) -> None:
    assert and_more(items) == expected


def test_sentences_are_separated_before_the_count() -> None:
    assert and_more(["a b", "c d", "e f"], shown=1, separator="; ") == "a b; and 2 more"


@given(st.text(), st.integers(2, 50))
def test_one_line_is_printable_and_bounded(text: str, longest: int) -> None:
    line = one_line(text, longest)
    assert len(line) <= longest
    assert line.isprintable()
    assert line == " ".join(line.split())

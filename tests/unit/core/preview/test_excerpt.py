"""The failing part of a template is underlined."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.preview.excerpt import underlined
from lynq.template import TemplateError, render


@pytest.mark.parametrize(
    ("source", "marks"),
    [
        ("{{ .size | int }}", "   ^^^^^"),
        ("a\né {{ .size }}", "     ^^^^^"),
        ("{{ .uid }}{{ .uid.a.b }}", "             ^^^^^^^^"),
        ("{{ div 1 (int .uid) }}", "   ^^^^^^^^^^^^^^^^"),
        ("{{ index .uid 9 | quote -}}", "   ^^^^^^^^^^^^"),
        ("{{ template `x` }}", "            ^^^"),
    ],
)
def test_marks_are_under_the_failing_part(source: str, marks: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(source, {"uid": "acme"})
    error = caught.value
    _, found = underlined(source, error.line, error.column, error.action or "")
    assert found == marks


@given(st.text(), st.integers(-1, 9), st.integers(0, 99), st.text(max_size=5))
def test_any_position_gives_two_lines(source: str, line: int, column: int, action: str) -> None:
    text, marks = underlined(source, line, column, action)
    assert text in source
    assert marks.strip(" ").strip("^") == ""
    assert "^" in marks

"""Texts that are sent to a browser have no character that it obeys, and none that it hides."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lynq.dashboard.guards import encode_shown

VALUES = st.recursive(
    st.one_of(st.text(max_size=20), st.integers(-9, 9), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner)),
    max_leaves=10,
)


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for each in pair for text in texts(each)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


@given(VALUES)
def test_texts_are_printable_but_for_lines_and_tabs(value: Any) -> None:
    decoded = json.loads(encode_shown(value))
    for text in texts(decoded):
        assert text.replace("\n", "").replace("\t", "").isprintable()
    if all(text.isprintable() for text in texts(value)):
        assert decoded == value


def test_bidi_mark_and_controls_are_escapes_that_are_seen() -> None:
    decoded = json.loads(encode_shown({"yaml": "a: \u202eb\n\tc\r\x1b\x7f", "name": "고객 \\u00"}))
    assert decoded == {"yaml": "a: \\u202eb\n\tc\\r\\x1b\\x7f", "name": "고객 \\u00"}

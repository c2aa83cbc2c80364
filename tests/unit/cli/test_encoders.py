"""JSON and YAML of commands: the same values, and nothing that a terminal obeys."""

import json
from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from lynq.api.crds import to_yaml
from lynq.cli.output import to_json

TEXTS = st.one_of(
    st.text(st.characters(codec=None), max_size=40),
    st.text(
        st.sampled_from("\n\r\t \x85\u2028\u202e\ufeff\x1b'\":#-|>\\é\U0001f600x"), max_size=40
    ),
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(-9, 9), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)


@given(VALUES)
@example({"a": "x" * 120 + "\u202e" + " y" * 120})
@example({"a": "line\n\x85line\n", "b": "line\nline\u2028\n"})
def test_value_survives_and_is_printable(value: Any) -> None:
    for text, decode in ((to_json(value), json.loads), (to_yaml(value), yaml.safe_load)):
        assert decode(text) == value
        assert text.replace("\n", "").isprintable()

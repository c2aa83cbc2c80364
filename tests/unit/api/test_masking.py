"""Masking of row values in text that others wrote."""

import base64
import json
import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.masking import Mask
from lynq.api.text import one_line

VALUES = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=5, max_size=40
).filter(lambda text: not set(text) <= set("<value>…") and text.lower() != "false")
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)


@given(VALUES, TEXTS, TEXTS)
def test_value_is_masked_wherever_it_stands(value: str, before: str, after: str) -> None:
    masked = Mask({"plan": value})(f"{before}{value}{after}")
    assert "<plan>" in masked
    assert value not in masked.replace("<plan>", "")


@given(VALUES)
def test_encoded_value_is_masked(value: str) -> None:
    mask = Mask({"plan": value})
    encoded = base64.b64encode(value.encode()).decode()
    for form in (json.dumps(value), json.dumps(value, ensure_ascii=False), encoded, value.upper()):
        assert mask(f"denied: {form}").startswith(("denied: <plan>", 'denied: "<plan>'))


@pytest.mark.parametrize(
    ("values", "text", "masked"),
    [
        ({"n": "7"}, 'got "7" of 7', 'got "<n>" of 7'),
        ({"n": "pro"}, "pro is no program", "<n> is no program"),
        ({"a": "hunter2", "b": "hunter2hunter2"}, "x hunter2hunter2 y", "x <b> y"),
        ({"a": "abcdefgh", "b": "fghijkl"}, "abcdefghijkl", "<a>"),
        ({"a": "first line\nsecond line"}, "at second line", "at <a>"),
        ({"a": "two  spaces"}, "two spaces", "<a>"),
        ({"a": '{"user": "admin7", "ports": [54321]}'}, "admin7:54321", "<a>:<a>"),
        ({"a": "false"}, "allowPrivilegeEscalation != false", "allowPrivilegeEscalation != false"),
        ({"a": ""}, "nothing to mask", "nothing to mask"),
        ({"a": "hunter2hunter2"}, "cut: hunter2h…", "cut: <a>…"),
    ],
)
def test_forms_of_a_value(values: dict[str, str], text: str, masked: str) -> None:
    assert Mask(values)(text) == masked


def test_name_that_is_shown_anyway_is_kept() -> None:
    mask = Mask({"company": "acmecorp"}, shown=("acmecorp-web",))
    assert mask('pods "acmecorp-web" of acmecorp') == 'pods "acmecorp-web" of <company>'


def test_rendered_text_is_masked() -> None:
    assert Mask({}, rendered=["4711-acme"])('"4711-acme" is bad') == '"<value>" is bad'


@given(VALUES, st.integers(1, 400))
def test_long_text_is_cut_without_showing_the_beginning_of_a_value(value: str, more: int) -> None:
    masked = Mask({"plan": value})("-" * (8000 - len(value) + 1) + value + "x" * more)
    assert value[:-1] not in masked
    assert len(masked) < 8200


@given(VALUES)
def test_line_that_was_cut_before_shows_no_beginning_of_a_value(value: str) -> None:
    line = one_line("x" * 40 + " " + value, 41 + max(len(value) - 2, 4))
    assert value[:4] not in Mask({"plan": value})(line)


WORDS = ["".join(letters) for letters in product("abcdefghijklmnopqrstuvwxyz", repeat=3)]


@pytest.mark.parametrize("value", ["\n".join(WORDS), json.dumps(WORDS), " ".join(WORDS)])
def test_row_of_many_values_does_not_block_the_event_loop(value: str) -> None:
    start = time.thread_time()
    Mask({"data": value})("denied by a policy: " + "no team owns it, " * 500)
    assert time.thread_time() - start < 0.25


@pytest.mark.parametrize("separator", ["\n", '","'])
def test_message_about_more_values_than_can_be_masked_is_not_shown(separator: str) -> None:
    secrets = [f"secret-{number}" for number in range(5000)]
    value = separator.join(secrets)
    mask = Mask({"data": f'["{value}"]'})
    assert mask(f"denied: {secrets[0]}") == mask(f"denied: {secrets[-1]}") == ""


def test_as_many_values_as_can_be_masked_are() -> None:
    secrets = [f"secret-{number}" for number in range(900)]
    mask = Mask({"data": json.dumps(secrets)})
    assert {mask(f"denied: {secret}") for secret in secrets} == {"denied: <data>"}

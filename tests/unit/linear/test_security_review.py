"""The texts of the security review that stopped the process, as long as a row may make them."""

import pytest
from msgspec import json

from lynq.template import TemplateError, render
from unit.linear.measure import seconds
from unit.linear.parsers import denial

ROW = 190_000
"""Characters: values of a row may have 200 KiB together."""


def test_quoted_value_of_a_row_is_searched_in_no_time() -> None:
    quoted = json.encode("." * ROW).decode()
    message = f"metadata.labels: Invalid value: {quoted}: must be no more than 63 characters"
    assert seconds(lambda: denial(message), rounds=1) < 0.25


@pytest.mark.parametrize("classes", [20, 400])
def test_unclosed_class_of_a_pattern_fails_in_no_time(classes: int) -> None:
    pattern = "[" + r"\p{L}" * classes
    assert seconds(lambda: rendered('{{ regexMatch .a "x" }}', pattern), rounds=1) < 0.25


@pytest.mark.parametrize(
    "line", ["a:b\n", "-----BEGIN X-----\n", "-----END X-----", "A" * 64 + "\n"]
)
def test_certificate_without_an_end_fails_in_no_time(line: str) -> None:
    text = ("-----BEGIN X-----\n" + line * (ROW // len(line)))[:ROW]
    template = '{{ buildCustomCert (b64enc .a) (b64enc "x") }}'
    assert seconds(lambda: rendered(template, text), rounds=1) < 0.25


def rendered(template: str, value: str) -> str:
    """Return what a template makes of a value; "" if it fails."""
    try:
        return render(template, {"a": value})
    except TemplateError:
        return ""

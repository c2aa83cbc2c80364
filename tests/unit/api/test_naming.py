"""Names made of rows, against the rules of Kubernetes written out once more."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.naming import (
    NodePair,
    is_label_value,
    is_subdomain,
    node_name,
    tracked_name,
    tracking_label,
)

# As the API server's error messages print them.
LABEL_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

NEARLY_NAMES = st.text("ab1.-_A\n é", max_size=300)
NAMES = st.from_regex(SUBDOMAIN, fullmatch=True)


def test_a_node_is_named_after_row_and_form() -> None:
    assert node_name(NodePair("acme", "web")) == "acme-web"


@pytest.mark.parametrize(
    "text", ["a", "A", "7", "a_b", "a.b", "a--b", "a.-b", "x" * 63, "0" * 63], ids=repr
)
def test_can_be_a_label_value(text: str) -> None:
    assert is_label_value(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "a ", "a\n", "\na", "-a", "a-", ".a", "a.", "_", "a/b", "é", "１", "a\0", "x" * 64],
    ids=repr,
)
def test_cannot_be_a_label_value(text: str) -> None:
    assert not is_label_value(text)


@pytest.mark.parametrize("text", ["a", "a-b", "a.b", "a.b-c.d", "1", "x" * 253], ids=len)
def test_can_be_a_name(text: str) -> None:
    assert is_subdomain(text)


@pytest.mark.parametrize(
    "text", ["", "A", "a_b", "a..b", "a.-b", "a-.b", "-a", "a-", "a\n", "é", "x" * 254], ids=repr
)
def test_cannot_be_a_name(text: str) -> None:
    assert not is_subdomain(text)


@given(NEARLY_NAMES | NAMES)
def test_we_judge_names_as_the_api_server_does(text: str) -> None:
    label = 0 < len(text) <= 63 and re.fullmatch(LABEL_VALUE, text) is not None
    name = len(text) <= 253 and re.fullmatch(SUBDOMAIN, text) is not None
    assert (is_label_value(text), is_subdomain(text)) == (label, name)


def test_a_label_holds_a_name_of_63_characters_as_it_is() -> None:
    assert tracking_label("x" * 63) == "x" * 63


def test_the_label_of_a_longer_name_is_54_characters_and_8_digits_of_its_hash() -> None:
    name = "a" * 54 + "b" * 10
    digits = hashlib.sha256(name.encode()).hexdigest()[:8]
    assert tracking_label(name) == f"{'a' * 54}-{digits}"


@pytest.mark.parametrize("cut", [".", "-", "a"])
def test_a_label_is_valid_wherever_the_name_is_cut(cut: str) -> None:
    label = tracking_label("a" * 53 + cut + "b" * 20)
    assert len(label) == 63
    assert is_label_value(label)


@given(st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?", fullmatch=True))
def test_every_name_has_a_valid_label_and_is_found_by_it(name: str) -> None:
    label = tracking_label(name)
    assert is_label_value(label)
    assert tracked_name(label, name) == name


def test_a_name_that_looks_like_a_long_ones_label_is_told_apart() -> None:
    long = "a" * 100
    posing = tracking_label(long)
    assert tracked_name(tracking_label(posing), None) == posing
    assert tracked_name(tracking_label(long), long) == long


@pytest.mark.parametrize("annotation", ["", "other", "b" * 100])
def test_an_annotation_that_does_not_fit_its_label_counts_for_nothing(annotation: str) -> None:
    assert tracked_name("acme-web", annotation) == "acme-web"

"""Names and label values of nodes, against the patterns of the API server."""

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

# The patterns in the error messages of the API server.
LABEL_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

NEARLY_NAMES = st.text("ab1.-_A\n é", max_size=300)
NAMES = st.from_regex(SUBDOMAIN, fullmatch=True)


def test_node_name_joins_uid_and_form() -> None:
    assert node_name(NodePair("acme", "web")) == "acme-web"


@pytest.mark.parametrize(
    "text", ["a", "A", "7", "a_b", "a.b", "a--b", "a.-b", "x" * 63, "0" * 63], ids=repr
)
def test_valid_label_values_are_accepted(text: str) -> None:
    assert is_label_value(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "a ", "a\n", "\na", "-a", "a-", ".a", "a.", "_", "a/b", "é", "１", "a\0", "x" * 64],
    ids=repr,
)
def test_invalid_label_values_are_rejected(text: str) -> None:
    assert not is_label_value(text)


@pytest.mark.parametrize("text", ["a", "a-b", "a.b", "a.b-c.d", "1", "x" * 253], ids=len)
def test_valid_names_are_accepted(text: str) -> None:
    assert is_subdomain(text)


@pytest.mark.parametrize(
    "text", ["", "A", "a_b", "a..b", "a.-b", "a-.b", "-a", "a-", "a\n", "é", "x" * 254], ids=repr
)
def test_invalid_names_are_rejected(text: str) -> None:
    assert not is_subdomain(text)


@given(NEARLY_NAMES | NAMES)
def test_name_validation_matches_the_api_server(text: str) -> None:
    label = 0 < len(text) <= 63 and re.fullmatch(LABEL_VALUE, text) is not None
    name = len(text) <= 253 and re.fullmatch(SUBDOMAIN, text) is not None
    assert (is_label_value(text), is_subdomain(text)) == (label, name)


def test_name_of_63_characters_is_its_own_label() -> None:
    assert tracking_label("x" * 63) == "x" * 63


def test_longer_name_is_truncated_to_54_characters_and_8_hash_digits() -> None:
    name = "a" * 54 + "b" * 10
    digits = hashlib.sha256(name.encode()).hexdigest()[:8]
    assert tracking_label(name) == f"{'a' * 54}-{digits}"


@pytest.mark.parametrize("cut", [".", "-", "a"])
def test_truncated_label_is_valid_at_any_position(cut: str) -> None:
    label = tracking_label("a" * 53 + cut + "b" * 20)
    assert len(label) == 63
    assert is_label_value(label)


@given(st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?", fullmatch=True))
def test_every_name_has_a_valid_label_that_leads_back_to_it(name: str) -> None:
    label = tracking_label(name)
    assert is_label_value(label)
    assert tracked_name(label, name) == name


def test_name_equal_to_another_label_is_distinguished() -> None:
    long = "a" * 100
    posing = tracking_label(long)
    assert tracked_name(tracking_label(posing), None) == posing
    assert tracked_name(tracking_label(long), long) == long


@pytest.mark.parametrize("annotation", ["", "other", "b" * 100])
def test_annotation_that_does_not_match_its_label_is_ignored(annotation: str) -> None:
    assert tracked_name("acme-web", annotation) == "acme-web"

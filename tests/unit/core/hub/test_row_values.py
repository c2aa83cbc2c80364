"""A row's values as nodes hold them and as templates see them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.row_values import RowValues, extra_json, row_variables
from unit.core.hub.fixtures import NOON, ARow, a_form, a_hub


@pytest.mark.parametrize(
    ("extras", "expected"),
    [
        pytest.param({}, "{}", id="none"),
        pytest.param({"b": "2", "a": "1"}, '{"a":"1","b":"2"}', id="sorted and compact"),
        pytest.param(
            {"a": "<b>&</b>"}, '{"a":"\\u003cb\\u003e\\u0026\\u003c/b\\u003e"}', id="HTML"
        ),
        pytest.param({"a": "\u2028\u2029"}, '{"a":"\\u2028\\u2029"}', id="separators"),
        pytest.param({"ä": "日本 🐘 \x7f"}, '{"ä":"日本 🐘 \x7f"}', id="other characters stay"),
        pytest.param(
            {"a": '"\\/\n\r\t\b\f\x01'}, '{"a":"\\"\\\\/\\n\\r\\t\\b\\f\\u0001"}', id="escapes"
        ),
        pytest.param({"Z": "", "a": "", "_": ""}, '{"Z":"","_":"","a":""}', id="by code point"),
        pytest.param({"a": "\ud800"}, '{"a":"\\ufffd"}', id="half a surrogate pair"),
    ],
)
def test_extras_are_written_as_go_does(extras: dict[str, str], expected: str) -> None:
    assert extra_json(extras) == expected


@given(st.dictionaries(st.text(), st.text()))
def test_extras_can_be_read_back(extras: dict[str, str]) -> None:
    written = extra_json(extras)
    assert json.loads(written) == extras
    assert not set("<>&\u2028\u2029") & set(written)


def test_what_templates_see() -> None:
    values = RowValues.of(ARow("acme", {"plan": "gold"}))
    assert row_variables(values, hub="shop", form="web") == {
        "uid": "acme",
        "activate": "1",
        "plan": "gold",
        "hubId": "shop",
        "templateRef": "web",
    }


def test_a_host_is_there_only_if_the_column_has_one() -> None:
    values = RowValues.of(ARow("acme", host_or_url="https://acme.example.com:8443/x"))
    seen = row_variables(values, hub="shop", form="web")
    assert (seen["hostOrUrl"], seen["host"]) == (
        "https://acme.example.com:8443/x",
        "acme.example.com",
    )


def test_extras_hide_the_row_but_neither_hub_nor_form() -> None:
    names = ("uid", "activate", "host", "hubId", "templateRef")
    values = RowValues.of(ARow("acme", dict.fromkeys(names, "x"), host_or_url="h"))
    seen = row_variables(values, hub="shop", form="web")
    assert [seen[name] for name in names] == ["x", "x", "x", "shop", "web"]


TEXT = st.text(st.characters(codec="utf-8"))


@given(TEXT, TEXT, st.dictionaries(TEXT, TEXT))
def test_a_node_reflects_exactly_the_values_it_was_written_from(
    activate: str, host: str, extras: dict[str, str]
) -> None:
    values = RowValues.of(ARow("acme", extras, activate, host))
    node = DesiredNode(a_hub(), a_form(), values).new(NOON)
    assert RowValues.reflected_by(node, "acme") == values
    assert RowValues.reflected_by(node, "acme").digest == values.digest


@given(
    st.lists(
        st.builds(ARow, st.just("a"), st.dictionaries(TEXT, TEXT), TEXT, TEXT),
        min_size=2,
        max_size=2,
    )
)
def test_other_values_have_another_digest(pair: list[ARow]) -> None:
    first, second = (RowValues.of(row) for row in pair)
    assert (first.digest == second.digest) == (first == second)


def test_the_size_is_what_a_node_has_to_hold() -> None:
    assert RowValues.of(ARow("a", {"x": "<" * 100})).size > 600


def test_values_are_not_shown() -> None:
    assert "hunter2" not in repr(RowValues.of(ARow("a", {"password": "hunter2"}, "hunter2")))

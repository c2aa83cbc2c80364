"""The values of a row as annotations and as template variables."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import LynqNode, Metadata, NodeSpec
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.row_values import RowValues, changed_variables, extra_json, row_variables
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
        pytest.param({"ä": "日本 🐘 \x7f"}, '{"ä":"日本 🐘 \x7f"}', id="other characters are kept"),
        pytest.param(
            {"a": '"\\/\n\r\t\b\f\x01'}, '{"a":"\\"\\\\/\\n\\r\\t\\b\\f\\u0001"}', id="escapes"
        ),
        pytest.param({"Z": "", "a": "", "_": ""}, '{"Z":"","_":"","a":""}', id="by code point"),
        pytest.param({"a": "\ud800"}, '{"a":"\\ufffd"}', id="lone surrogate"),
    ],
)
def test_extras_are_encoded_as_in_go(extras: dict[str, str], expected: str) -> None:
    assert extra_json(extras) == expected


@given(st.dictionaries(st.text(), st.text()))
def test_extras_can_be_decoded(extras: dict[str, str]) -> None:
    encoded = extra_json(extras)
    assert json.loads(encoded) == extras
    assert not set("<>&\u2028\u2029") & set(encoded)


def test_template_variables() -> None:
    values = RowValues.of(ARow("acme", {"plan": "gold"}))
    assert row_variables(values, hub="shop", form="web") == {
        "uid": "acme",
        "activate": "1",
        "plan": "gold",
        "hubId": "shop",
        "templateRef": "web",
    }


def test_host_variables_exist_if_column_has_a_value() -> None:
    values = RowValues.of(ARow("acme", host_or_url="https://acme.example.com:8443/x"))
    variables = row_variables(values, hub="shop", form="web")
    assert (variables["hostOrUrl"], variables["host"]) == (
        "https://acme.example.com:8443/x",
        "acme.example.com",
    )


def test_extras_override_all_but_hub_and_form() -> None:
    names = ("uid", "activate", "host", "hubId", "templateRef")
    values = RowValues.of(ARow("acme", dict.fromkeys(names, "x"), host_or_url="h"))
    variables = row_variables(values, hub="shop", form="web")
    assert [variables[name] for name in names] == ["x", "x", "x", "shop", "web"]


TEXT = st.text(st.characters(codec="utf-8"))


@given(TEXT, TEXT, st.dictionaries(TEXT, TEXT))
def test_node_reflects_values_it_was_written_from(
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
def test_digest_differs_if_values_differ(pair: list[ARow]) -> None:
    first, second = (RowValues.of(row) for row in pair)
    assert (first.digest == second.digest) == (first == second)


def test_size_includes_json_escapes() -> None:
    assert RowValues.of(ARow("a", {"x": "<" * 100})).size > 600


def test_repr_hides_values() -> None:
    assert "hunter2" not in repr(RowValues.of(ARow("a", {"password": "hunter2"}, "hunter2")))


def test_changed_variables_are_named_without_values() -> None:
    def node(**annotations: str) -> LynqNode:
        metadata = Metadata(
            annotations={f"lynq.sh/{key}": text for key, text in annotations.items()}
        )
        return LynqNode(metadata=metadata, spec=NodeSpec(uid="acme", template_ref="web"))

    before = node(extra='{"plan":"a","size":"1","gone":"x"}', activate="1")
    after = node(extra='{"plan":"b","size":"1","new":"y"}', activate="1", hostOrUrl="h")
    assert changed_variables(before, after) == ["gone", "hostOrUrl", "new", "plan"]
    assert changed_variables(before, before) == []
    assert changed_variables(node(extra="{"), node(extra="[]")) == []

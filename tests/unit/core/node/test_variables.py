"""The template variables of a node."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.node.variables import VariablesError, variables_of
from unit.core.node.nodes import a_node

NAMES = st.text(max_size=20)
EXTRAS = st.dictionaries(NAMES, st.text(max_size=20))


def test_variables_of_a_row_with_uid_only() -> None:
    assert variables_of(a_node()) == {
        "uid": "acme",
        "hostOrUrl": "acme",
        "host": "acme",
        "activate": "true",
        "templateRef": "web",
    }


def test_variables_of_all_annotations_of_the_hub() -> None:
    node = a_node(
        hostOrUrl="https://me@acme.example:8443/x",
        activate="1",
        hubId="shop-hub",
        extra='{"planId":"pro","replicas":"3"}',
    )
    assert variables_of(node) == {
        "uid": "acme",
        "hostOrUrl": "https://me@acme.example:8443/x",
        "host": "acme.example",
        "activate": "1",
        "planId": "pro",
        "replicas": "3",
        "hubId": "shop-hub",
        "templateRef": "web",
    }


def test_extra_overrides_columns_but_not_hub_and_form() -> None:
    extra = json.dumps(dict.fromkeys(["uid", "host", "activate", "hubId", "templateRef"], "mine"))
    variables = variables_of(a_node(extra=extra, hubId="hub"))
    assert (variables["uid"], variables["host"], variables["activate"]) == ("mine", "mine", "mine")
    assert (variables["hubId"], variables["templateRef"]) == ("hub", "web")


@given(EXTRAS)
def test_extras_are_passed_through(extras: dict[str, str]) -> None:
    variables = variables_of(a_node(extra=json.dumps(extras)))
    ours = {"templateRef": "web"}
    assert {name: variables[name] for name in extras} == {
        **extras,
        **{k: ours[k] for k in extras & ours.keys()},
    }


@pytest.mark.parametrize("extra", ["", " ", "{}", "null"])
def test_empty_extras_add_no_variables(extra: str) -> None:
    assert len(variables_of(a_node(extra=extra))) == 5


def test_null_is_an_empty_string() -> None:
    assert variables_of(a_node(extra='{"planId":null}'))["planId"] == ""


@pytest.mark.parametrize(
    "extra", ["{", "[]", '"x"', '{"pin": 4711}', '{"pin": {"x": "4711"}}', "4711"]
)
def test_invalid_extras_are_rejected_without_showing_values(extra: str) -> None:
    with pytest.raises(VariablesError, match=r"lynq\.sh/extra") as error:
        variables_of(a_node(extra=extra))
    assert "4711" not in str(error.value)

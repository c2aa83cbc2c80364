"""What the templates of a node see of its row."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.node.variables import VariablesError, variables_of
from unit.core.node.nodes import a_node

NAMES = st.text(max_size=20)
EXTRAS = st.dictionaries(NAMES, st.text(max_size=20))


def test_a_row_without_anything_else() -> None:
    assert variables_of(a_node()) == {
        "uid": "acme",
        "hostOrUrl": "acme",
        "host": "acme",
        "activate": "true",
        "templateRef": "web",
    }


def test_everything_that_the_hub_writes() -> None:
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


def test_an_extra_wins_over_the_row_and_loses_against_hub_and_form() -> None:
    extra = json.dumps(dict.fromkeys(["uid", "host", "activate", "hubId", "templateRef"], "mine"))
    seen = variables_of(a_node(extra=extra, hubId="hub"))
    assert (seen["uid"], seen["host"], seen["activate"]) == ("mine", "mine", "mine")
    assert (seen["hubId"], seen["templateRef"]) == ("hub", "web")


@given(EXTRAS)
def test_extras_arrive_as_they_were_written(extras: dict[str, str]) -> None:
    seen = variables_of(a_node(extra=json.dumps(extras)))
    ours = {"templateRef": "web"}
    assert {name: seen[name] for name in extras} == {
        **extras,
        **{k: ours[k] for k in extras & ours.keys()},
    }


@pytest.mark.parametrize("extra", ["", " ", "{}", "null"])
def test_no_extras(extra: str) -> None:
    assert len(variables_of(a_node(extra=extra))) == 5


def test_null_is_an_empty_text_as_it_is_in_a_row() -> None:
    assert variables_of(a_node(extra='{"planId":null}'))["planId"] == ""


@pytest.mark.parametrize(
    "extra", ["{", "[]", '"x"', '{"pin": 4711}', '{"pin": {"x": "4711"}}', "4711"]
)
def test_what_is_no_object_of_texts_is_refused_without_showing_values(extra: str) -> None:
    with pytest.raises(VariablesError, match=r"lynq\.sh/extra") as refused:
        variables_of(a_node(extra=extra))
    assert "4711" not in str(refused.value)

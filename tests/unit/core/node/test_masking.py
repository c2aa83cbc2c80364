"""The masks of a node: the row's values and rendered texts, but not the names of objects."""

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from lynq.core.node.desired_object import prepare
from lynq.core.node.masking import explanation_mask, mask_readiness
from lynq.core.node.objects import LiveObject, owner_of
from lynq.core.node.render import Renderer
from lynq.core.node.state import ResourceFacts
from lynq.core.node.variables import variables_of
from lynq.core.readiness.verdict import not_ready
from unit.core.node.nodes import a_node, a_resource

EXTRA = '{"plan": "hunter2"}'


def facts_of(kind: str = "ConfigMap", **data: str) -> tuple[Any, ResourceFacts]:
    resource = a_resource(spec={"apiVersion": "v1", "kind": kind, "data": data})
    node = a_node(resource, extra=EXTRA)
    rendered = Renderer.of(node, variables_of(node)).render(resource, namespaced=True)
    desired = prepare(rendered, resource, owner_of(node))
    return node, ResourceFacts(resource=resource, desired=desired)


def test_values_and_rendered_texts_are_masked() -> None:
    node, facts = facts_of(a="{{ .plan | sha256sum | trunc 12 }}", b="literal")
    assert facts.desired is not None
    rendered = facts.desired.obj["data"]["a"]
    mask = explanation_mask(node, facts)
    assert mask is not None
    assert mask(f"hunter2 and {rendered} and literal") == "<plan> and <value> and literal"


def test_names_are_shown() -> None:
    node, facts = facts_of(a="{{ .uid }}-config")
    mask = explanation_mask(node, facts)
    assert mask is not None
    assert mask('configmaps "acme-config" of acme in shop') == (
        'configmaps "acme-config" of acme in shop'
    )


def test_explanations_about_a_secret_are_not_shown() -> None:
    assert explanation_mask(*facts_of("Secret")) is None


def test_readiness_message_of_another_controller_is_masked() -> None:
    node, facts = facts_of()
    readiness = not_ready("Denied", "hunter2 is not a plan of acme")
    live = LiveObject(
        uid="1", labels={}, annotations={}, readiness=readiness, created_at=datetime.now(UTC)
    )
    masked = mask_readiness(node, replace(facts, live=live))
    assert masked.live is not None
    assert masked.live.readiness == replace(readiness, message="<plan> is not a plan of acme")


def test_facts_without_a_message_are_kept() -> None:
    node, facts = facts_of()
    assert mask_readiness(node, facts) is facts

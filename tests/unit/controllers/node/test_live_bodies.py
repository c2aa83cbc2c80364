"""Live objects of resources with ignoreFields: kept until our managed fields or contents change."""

from typing import Any

import pytest
from msgspec.structs import replace

from lynq.controllers.children import Child
from lynq.controllers.node.live_bodies import LiveBodies
from lynq.core.node.render import Renderer
from lynq.core.node.state import ResourceFacts
from lynq.core.node.variables import variables_of
from unit.core.node.decisions import settled
from unit.core.node.nodes import a_node

FACTS = settled(ignore_fields=("$.data.plan",))
BODY: dict[str, Any] = {
    "metadata": {
        "managedFields": [
            {
                "manager": "lynq-operator",
                "operation": "Apply",
                "apiVersion": "v1",
                "fieldsV1": {"f:data": {"f:plan": {}, "f:more": {}}},
            }
        ]
    },
    "data": {"plan": "theirs"},
}


def child(version: str = "1", digest: bytes = b"all", uid: str = "1") -> Child:
    assert FACTS.live is not None
    return Child(replace(FACTS.live, digest=digest, uid=uid), 0, version, has_update_entry=False)


def recorded(facts: ResourceFacts = FACTS, body: dict[str, Any] = BODY) -> tuple[LiveBodies, bytes]:
    node = a_node(facts.resource)
    rendered = Renderer.of(node, variables_of(node)).render(facts.resource, namespaced=True)
    bodies = LiveBodies()
    return bodies, bodies.record(facts, rendered, child(), body)


def test_digest_is_known_while_our_managed_fields_are_unchanged() -> None:
    bodies, digest = recorded()
    assert bodies.digest(FACTS, child()) == digest
    assert bodies.digest(FACTS, child("2")) == digest


@pytest.mark.parametrize("changed", [child(digest=b"taken"), child(uid="2")])
def test_digest_is_unknown_after_our_managed_fields_changed(changed: Child) -> None:
    assert recorded()[0].digest(FACTS, changed) is None


def test_digest_is_unknown_for_other_content_or_other_ignored_fields() -> None:
    bodies, _ = recorded()
    assert FACTS.desired is not None
    other = replace(FACTS, desired=replace(FACTS.desired, hash="other"))
    assert bodies.digest(other, child()) is None
    resource = settled(ignore_fields=("$.data",)).resource
    assert bodies.digest(replace(FACTS, resource=resource), child()) is None


def test_body_is_returned_until_the_object_changes() -> None:
    bodies, _ = recorded()
    assert bodies.get(FACTS.ref, child()) == BODY
    assert bodies.get(FACTS.ref, child("2")) is None
    assert bodies.get(FACTS.ref, child(digest=b"taken")) is None


def test_digest_leaves_ignored_fields_out() -> None:
    entry = BODY["metadata"]["managedFields"][0]
    taken = {**entry, "fieldsV1": {"f:data": {"f:more": {}}}}
    other = {**entry, "fieldsV1": {"f:data": {"f:plan": {}}}}
    digests = [
        recorded(body={**BODY, "metadata": {"managedFields": [entry]}})[1]
        for entry in (entry, taken, other)
    ]
    assert digests[0] == digests[1] != digests[2]


def test_objects_that_left_the_form_are_forgotten() -> None:
    bodies, digest = recorded()
    bodies.keep_only({FACTS.ref})
    assert bodies.digest(FACTS, child()) == digest
    bodies.keep_only(set())
    assert bodies.digest(FACTS, child()) is None

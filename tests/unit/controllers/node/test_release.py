"""Ending the ownership of an object: only that object, only while it is ours, only what is ours."""

from datetime import UTC, datetime
from typing import Any

import pytest

from lynq.api.metadata import ObjectKey
from lynq.api.names import (
    ANNOTATION_ADOPTED,
    ANNOTATION_TRACKING_ID,
    FIELD_MANAGER,
    LABEL_MANAGED,
    LABEL_NODE,
    LABEL_NODE_NAMESPACE,
    TRUE,
)
from lynq.api.reasons import OrphanReason
from lynq.controllers.children import WatchedKind
from lynq.controllers.node.release import ObjectChanged, release, retain
from lynq.core.node.adoption_policy import REPLACED
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectRef, Owner
from lynq.core.node.ownership import tracking_id
from lynq.core.node.prune import ObjectDeletion
from lynq.kube import Client, Resource, RuntimeMetrics
from lynq.kube.resource import CONFIG_MAPS
from memory.api_server import MemoryApiServer
from operated.builders import annotations, labels
from operated.environment import Object

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWNER = Owner("test", "acme-web", "uid-of-acme")
REF = ObjectRef("v1", "ConfigMap", "test", "settings")
GADGETS = Resource("example.com", "v1", "Gadget", "gadgets", namespaced=True)

GADGET_DEFINITION = {
    "metadata": {"name": "gadgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer"}},
                            }
                        },
                    }
                },
            }
        ],
    },
}

pytestmark = pytest.mark.usefixtures("namespace")


def marks(ref: ObjectRef = REF, owner: Owner = OWNER) -> Object:
    """Return the metadata of an object that is tied to its node by labels."""
    return {
        "name": ref.name,
        "namespace": ref.namespace,
        "labels": {
            LABEL_MANAGED: TRUE,
            LABEL_NODE: owner.name,
            LABEL_NODE_NAMESPACE: owner.namespace,
        },
        "annotations": {ANNOTATION_TRACKING_ID: tracking_id(ref, owner)},
    }


def watched(client: Client, resource: Resource = CONFIG_MAPS) -> WatchedKind:
    return WatchedKind(client, resource, RuntimeMetrics.unexposed(), ("test",))


def ending(
    uid: str, ref: ObjectRef = REF, *, retain: bool = False, release: bool = False
) -> ObjectDeletion:
    """Return the decision to retain or release an object."""
    item = InventoryItem("settings", ref)
    return ObjectDeletion(item, uid, "", retain, OrphanReason.LYNQ_NODE_DELETED, release)


async def apply(client: Client, metadata: Object, **body: Any) -> Object:
    """Apply an object as the operator does."""
    obj = {"metadata": metadata, **body}
    return await client.apply(CONFIG_MAPS, obj, manager=FIELD_MANAGER)


async def live(client: Client) -> Object:
    return await client.get(CONFIG_MAPS, REF.name, REF.namespace)


async def end_ownership(client: Client, end: str, uid: str, ref: ObjectRef = REF) -> None:
    """Retain or release an object."""
    if end == "retain":
        await retain(client, watched(client), ending(uid, ref, retain=True), OWNER, NOW)
    else:
        await release(client, watched(client), ending(uid, ref, release=True), OWNER)


async def test_retained_object_is_cached_as_it_was_written(client: Client) -> None:
    """The pass looks at it again before a watch event arrives."""
    created = await apply(client, marks(), data={"plan": "pro"})
    kind = watched(client)
    await retain(client, kind, ending(created["metadata"]["uid"], retain=True), OWNER, NOW)
    obj = await live(client)
    assert labels(obj)["lynq.sh/orphaned"] == TRUE
    assert obj["data"] == {"plan": "pro"}
    cached = kind.child(ObjectKey(REF.namespace, REF.name))
    assert cached is not None
    assert cached.resource_version == obj["metadata"]["resourceVersion"]


async def test_released_object_keeps_what_others_wrote(client: Client) -> None:
    theirs = {"metadata": {"name": REF.name, "namespace": REF.namespace}, "data": {"keep": "me"}}
    await client.apply(CONFIG_MAPS, theirs, manager="theirs")
    created = await apply(client, marks(), data={"plan": "pro"})
    decision = ending(created["metadata"]["uid"], release=True)
    assert await release(client, watched(client), decision, OWNER) is False
    obj = await live(client)
    assert obj["data"] == {"keep": "me"}
    assert labels(obj) == annotations(obj) == {}


async def test_fields_of_a_replaced_body_stay(client: Client) -> None:
    """What the object had before is not known."""
    metadata = marks()
    metadata["annotations"][ANNOTATION_ADOPTED] = REPLACED
    created = await apply(client, metadata, data={"plan": "pro"})
    decision = ending(created["metadata"]["uid"], release=True)
    assert await release(client, watched(client), decision, OWNER) is True
    obj = await live(client)
    assert obj["data"] == {"plan": "pro"}
    assert labels(obj) == annotations(obj) == {}


async def test_fields_stay_if_the_object_is_invalid_without_them(
    client: Client, api_server: MemoryApiServer
) -> None:
    api_server.install(GADGET_DEFINITION)
    ref = ObjectRef("example.com/v1", "Gadget", REF.namespace, REF.name)
    obj = {"metadata": marks(ref), "spec": {"size": 1}}
    created = await client.apply(GADGETS, obj, manager=FIELD_MANAGER)
    decision = ending(created["metadata"]["uid"], ref, release=True)
    assert await release(client, watched(client, GADGETS), decision, OWNER) is True
    released = await client.get(GADGETS, REF.name, REF.namespace)
    assert released["spec"] == {"size": 1}
    assert labels(released) == annotations(released) == {}


async def test_object_that_only_our_labels_tie_is_released(client: Client) -> None:
    """The tracking id was removed; the status of the node lists the object."""
    metadata = marks()
    del metadata["annotations"]
    created = await apply(client, metadata, data={"plan": "pro"})
    await end_ownership(client, "release", created["metadata"]["uid"])
    assert labels(await live(client)) == {}


@pytest.mark.parametrize("end", ["retain", "release"])
async def test_object_that_was_created_since_is_left_alone(client: Client, end: str) -> None:
    before = await apply(client, marks())
    await client.delete(CONFIG_MAPS, REF.name, REF.namespace)
    created = await apply(client, marks())
    with pytest.raises(ObjectChanged):
        await end_ownership(client, end, before["metadata"]["uid"])
    assert await live(client) == created


@pytest.mark.parametrize("end", ["retain", "release"])
async def test_object_of_another_node_is_left_alone(client: Client, end: str) -> None:
    other = Owner("test", "beta-web", "uid-of-beta")
    created = await apply(client, marks(owner=other))
    with pytest.raises(ObjectChanged):
        await end_ownership(client, end, created["metadata"]["uid"])
    assert await live(client) == created


async def test_object_without_marks_is_retained_and_not_released(client: Client) -> None:
    """A second release would find no mark of a replaced body, and remove all of it."""
    metadata = {"name": REF.name, "namespace": REF.namespace}
    created = await apply(client, metadata, data={"plan": "pro"})
    with pytest.raises(ObjectChanged):
        await end_ownership(client, "release", created["metadata"]["uid"])
    assert await live(client) == created
    await end_ownership(client, "retain", created["metadata"]["uid"])
    assert labels(await live(client))["lynq.sh/orphaned"] == TRUE

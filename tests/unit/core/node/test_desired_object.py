"""A rendered object on its way to be written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import CreationPolicy, TResource
from lynq.core.node.desired_object import DesiredObject, applied_hash, prepare
from lynq.core.node.render import Renderer, RenderError
from lynq.core.node.variables import variables_of
from unit.core.node.nodes import NOW, a_node, a_resource, an_owner


def deployment(*ignored: str, **more: Any) -> TResource:
    spec = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1, "paused": False}}
    return a_resource("web", spec, ignore_fields=ignored, **more)


def prepared(resource: TResource, body: dict[str, Any] | None = None) -> DesiredObject:
    node = a_node(resource)
    rendered = Renderer.of(node, variables_of(node)).render(resource, namespaced=True)
    return prepare(rendered, resource, an_owner(), body)


def test_a_new_object_is_as_its_manifest_says_tied_and_marked() -> None:
    wanted = prepared(deployment("$.spec.replicas"))
    metadata = wanted.obj["metadata"]
    assert wanted.obj["spec"] == {"replicas": 1, "paused": False}
    assert metadata["ownerReferences"][0]["uid"] == an_owner().uid
    assert metadata["annotations"] == {"lynq.sh/deletion-policy": "Delete"}
    assert wanted.hash == applied_hash(wanted.obj)


def test_what_is_written_carries_the_hash_it_was_compared_by() -> None:
    wanted = prepared(deployment())
    annotations = wanted.to_write(None, NOW)["metadata"]["annotations"]
    assert annotations["lynq.sh/applied-hash"] == wanted.hash


def test_an_ignored_field_keeps_its_live_value_and_counts_in_the_hash() -> None:
    resource = deployment("$.spec.replicas")
    wanted = prepared(resource, {"spec": {"replicas": 5, "paused": True}})
    assert wanted.obj["spec"] == {"replicas": 5, "paused": False}
    assert wanted.hash != prepared(resource).hash


def test_what_is_written_once_ignores_nothing() -> None:
    resource = deployment("$.spec.replicas", creation_policy=CreationPolicy.ONCE)
    assert prepared(resource, {"spec": {"replicas": 5}}).obj["spec"]["replicas"] == 1


def test_a_bad_path_fails_the_resource() -> None:
    with pytest.raises(RenderError, match="ignoreFields"):
        prepared(deployment("/spec/replicas"), {})


@given(st.sampled_from(["$.metadata", "$.*", "$..*", "$..name", "kind", "$.metadata.labels"]))
def test_no_ignored_field_changes_what_the_object_is_and_whose(path: str) -> None:
    live = {
        "apiVersion": "other/v1",
        "kind": "Other",
        "metadata": {
            "name": "other",
            "namespace": "other",
            "uid": "7",
            "managedFields": [{}],
            "labels": {"lynq.sh/node": "other", "team": "a"},
            "annotations": {"lynq.sh/applied-hash": "x", "lynq.sh/orphaned-at": "then"},
            "ownerReferences": [{"uid": "other"}],
        },
    }
    wanted = prepared(deployment(path), live)
    metadata = wanted.obj["metadata"]
    assert (wanted.obj["apiVersion"], wanted.obj["kind"]) == ("apps/v1", "Deployment")
    assert (metadata["name"], metadata["namespace"]) == ("acme-web", "shop")
    assert metadata["annotations"] == {"lynq.sh/deletion-policy": "Delete"}
    assert [this["uid"] for this in metadata["ownerReferences"]] == [an_owner().uid]
    assert metadata["labels"].items() <= {"lynq.sh/managed": "true", "team": "a"}.items()
    assert not metadata.keys() & {"uid", "managedFields"}

"""The desired object of a rendered resource."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import CreationPolicy, DeletionPolicy, TResource
from lynq.core.node.desired_object import (
    DesiredObject,
    applied_hash,
    ignored_fields,
    prepare,
    with_annotations,
)
from lynq.core.node.render import Rendered, Renderer, RenderError
from lynq.core.node.variables import variables_of
from unit.core.node.fixtures import desired_by
from unit.core.node.nodes import NOW, a_node, a_resource, an_owner


def deployment(*ignored: str, **more: Any) -> TResource:
    spec = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1, "paused": False}}
    return a_resource("web", spec, ignore_fields=ignored, **more)


def rendered_by(resource: TResource) -> Rendered:
    node = a_node(resource)
    return Renderer.of(node, variables_of(node)).render(resource, namespaced=True)


def prepared(resource: TResource, body: dict[str, Any] | None = None) -> DesiredObject:
    return prepare(rendered_by(resource), resource, an_owner(), body)


def test_new_object_has_its_manifest_ownership_and_policies() -> None:
    desired = prepared(deployment())
    metadata = desired.obj["metadata"]
    assert desired.obj["spec"] == {"replicas": 1, "paused": False}
    assert metadata["ownerReferences"][0]["uid"] == an_owner().uid
    assert metadata["annotations"] == {"lynq.sh/deletion-policy": "Delete"}
    assert desired.hash == applied_hash(desired.obj)


def test_written_object_carries_its_hash() -> None:
    desired = prepared(deployment())
    annotations = desired.to_write(None, NOW)["metadata"]["annotations"]
    assert annotations["lynq.sh/applied-hash"] == desired.hash


def test_ignored_field_keeps_its_live_value() -> None:
    desired = prepared(deployment("$.spec.replicas"), {"spec": {"replicas": 5, "paused": True}})
    assert desired.obj["spec"] == {"replicas": 5, "paused": False}
    assert not desired.lacks_live_values


def test_ignored_annotation_leaves_the_other_metadata() -> None:
    spec = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"annotations": {"note": "old"}}}
    templates = {"labels_template": {"team": "a"}, "annotations_template": {"owner": "b"}}
    resource = a_resource("web", spec, ignore_fields=("$.metadata.annotations.note",), **templates)
    metadata = prepared(resource, {"metadata": {"annotations": {"note": "live"}}}).obj["metadata"]
    assert metadata["labels"]["team"] == "a"
    assert metadata["annotations"].items() >= {"note": "live", "owner": "b"}.items()


def test_ignored_fields_are_named_as_in_managed_fields() -> None:
    resource = deployment("$.spec.replicas")
    fields = ignored_fields(rendered_by(resource), resource, {"spec": {"replicas": 5}})
    assert fields == {"f:spec": {"f:replicas": {}}}


def test_annotations_are_added_to_an_object_without_any() -> None:
    obj = with_annotations({"metadata": {"name": "a"}}, {"note": "b"})
    assert obj == {"metadata": {"name": "a", "annotations": {"note": "b"}}}


def test_object_without_live_values_can_only_be_created() -> None:
    desired = prepared(deployment("$.spec.replicas"))
    assert desired.obj["spec"] == {"replicas": 1, "paused": False}
    assert desired.lacks_live_values
    assert not prepared(deployment()).lacks_live_values


IGNORED_PATHS = st.sampled_from(
    ["$.spec.replicas", "$.spec", "$..replicas", "$.metadata", "$.metadata.annotations", "$.*"]
)
LIVE_SPECS = st.dictionaries(st.sampled_from(["replicas", "paused", "more"]), st.integers(0, 3))


@given(IGNORED_PATHS, LIVE_SPECS)
def test_hash_does_not_depend_on_live_values(path: str, spec: dict[str, Any]) -> None:
    resource = deployment(path)
    live = {"spec": spec, "metadata": {"annotations": {"note": str(spec)}}}
    assert prepared(resource, live).hash == prepared(resource).hash


@given(IGNORED_PATHS)
def test_hash_counts_policies_beside_any_ignored_field(path: str) -> None:
    retained = deployment(path, deletion_policy=DeletionPolicy.RETAIN)
    assert prepared(retained).hash != prepared(deployment(path)).hash


def test_hash_counts_other_fields_and_which_fields_are_ignored() -> None:
    hashes = {prepared(deployment(*paths)).hash for paths in ((), ("$.spec.replicas",), ("spec",))}
    assert len(hashes) == 3


def test_once_object_has_no_ignored_fields() -> None:
    resource = deployment("$.spec.replicas", creation_policy=CreationPolicy.ONCE)
    assert prepared(resource, {"spec": {"replicas": 5}}).obj["spec"]["replicas"] == 1


def test_invalid_ignore_path_is_a_render_error() -> None:
    with pytest.raises(RenderError, match="ignoreFields"):
        prepared(deployment("/spec/replicas"), {})


@given(st.sampled_from(["$.metadata", "$.*", "$..*", "$..name", "kind", "$.metadata.labels"]))
def test_ignored_fields_change_neither_identity_nor_ownership(path: str) -> None:
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
    desired = prepared(deployment(path), live)
    metadata = desired.obj["metadata"]
    assert (desired.obj["apiVersion"], desired.obj["kind"]) == ("apps/v1", "Deployment")
    assert (metadata["name"], metadata["namespace"]) == ("acme-web", "shop")
    assert metadata["annotations"] == {"lynq.sh/deletion-policy": "Delete"}
    assert [reference["uid"] for reference in metadata["ownerReferences"]] == [an_owner().uid]
    labels = {"lynq.sh/bucket": "32", "lynq.sh/managed": "true", "team": "a"}
    assert metadata["labels"].items() <= labels.items()
    assert not metadata.keys() & {"uid", "managedFields"}


def secret(**parts: Any) -> dict[str, Any]:
    """Return the desired object of a Secret."""
    resource = a_resource("key", {"apiVersion": "v1", "kind": "Secret", **parts})
    return desired_by(resource).obj


def test_string_data_of_a_secret_is_folded_into_data_and_wins() -> None:
    obj = secret(data={"a": "b2xk", "b": "Yg=="}, stringData={"a": "new", "ü": "ä"})
    assert "stringData" not in obj
    assert obj["data"] == {"a": "bmV3", "b": "Yg==", "ü": "w6Q="}


@pytest.mark.parametrize(
    "parts",
    [
        {"stringData": {"a": 1}},
        {"stringData": {"a": 1, "b": "text"}},
        {"stringData": "text"},
        {"data": "x", "stringData": {}},
    ],
)
def test_string_data_of_another_type_is_left_to_the_api_server(parts: dict[str, Any]) -> None:
    obj = secret(**parts)
    assert {key: obj[key] for key in parts} == parts


def test_string_data_of_another_kind_is_left_unchanged() -> None:
    spec = {"apiVersion": "example.com/v1", "kind": "Secret", "stringData": {"a": "b"}}
    assert desired_by(a_resource("key", spec)).obj["stringData"] == {"a": "b"}


@pytest.mark.parametrize(
    "path", ["$.stringData.password", "stringData.password", "$.data.password"]
)
def test_ignored_string_data_keeps_the_live_value(path: str) -> None:
    spec = {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "a", "user": "b"}}
    resource = a_resource("key", spec, ignore_fields=(path,))
    live = {**spec, "metadata": {}, "data": {"password": "bGl2ZQ==", "user": "eA=="}}
    del live["stringData"]
    desired = prepared(resource, live)
    assert desired.obj["data"] == {"password": "bGl2ZQ==", "user": "Yg=="}


@given(st.dictionaries(st.sampled_from(["team", "lynq.sh/managed"]), st.just("x")))
def test_bucket_changes_no_hash_so_that_no_object_is_written_for_it(
    labels: dict[str, str],
) -> None:
    obj = {"kind": "ConfigMap", "metadata": {"name": "x"} | ({"labels": labels} if labels else {})}
    labelled = {
        "kind": "ConfigMap",
        "metadata": {"name": "x", "labels": {**labels, "lynq.sh/bucket": "7"}},
    }
    assert applied_hash(labelled) == applied_hash(obj)

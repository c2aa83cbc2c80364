"""Fields that differ between live and desired objects, and their managers."""

from typing import Any

from lynq.core.explain.drift import field_drifts


def live(spec: Any, fields: dict[str, Any], kind: str = "Deployment") -> dict[str, Any]:
    entries = [
        {"manager": "lynq-operator", "fieldsV1": fields},
        {"manager": "scaler", "fieldsV1": fields},
        {"manager": "kubelet", "subresource": "status", "fieldsV1": fields},
    ]
    metadata = {"name": "a", "managedFields": entries, "annotations": {"lynq.sh/x": "1"}}
    return {"kind": kind, "metadata": metadata, "spec": spec}


def desired(spec: Any, kind: str = "Deployment") -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": "a"}, "spec": spec}


def test_field_names_the_managers_of_its_live_value() -> None:
    (drift,) = field_drifts(
        live({"replicas": 3}, {"f:spec": {"f:replicas": {}}}), desired({"replicas": 1})
    )
    assert (drift.change.path, drift.change.before, drift.change.after) == ("spec.replicas", 3, 1)
    assert drift.managers == ("scaler",)


def test_items_of_lists_are_matched_by_their_place() -> None:
    fields: dict[str, Any] = {
        "f:spec": {"f:containers": {'k:{"name":"app"}': {".": {}, "f:image": {}}}}
    }
    (drift,) = field_drifts(
        live({"containers": [{"name": "app", "image": "b"}]}, fields),
        desired({"containers": [{"name": "app", "image": "a"}]}),
    )
    assert drift.change.path == "spec.containers[name=app].image"
    assert drift.managers == ("scaler",)


def test_annotations_with_dots_have_managers() -> None:
    old = live({}, {"f:metadata": {"f:labels": {"f:a.b/c": {}}}})
    old["metadata"]["labels"] = {"a.b/c": "2"}
    new = desired({})
    new["metadata"]["labels"] = {"a.b/c": "1"}
    (drift,) = field_drifts(old, new)
    assert (drift.change.path, drift.managers) == ("metadata.labels[a.b/c]", ("scaler",))


def test_field_of_no_other_manager_has_none() -> None:
    (drift,) = field_drifts(live({"a": 1}, {"f:spec": {"f:b": {}}}), desired({"a": 2}))
    assert drift.managers == ()


def test_marks_of_lynq_do_not_count() -> None:
    assert field_drifts(live({}, {}), desired({})) == ()


def test_missing_object_is_all_new() -> None:
    drifts = field_drifts(None, desired({"a": 1}))
    assert [(drift.change.path, drift.change.before) for drift in drifts] == [
        ("kind", None),
        ("metadata.name", None),
        ("spec.a", None),
    ]

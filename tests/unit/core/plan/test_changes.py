"""The classification of changes, and the JSON of a plan."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lynq.api.names import LABEL_MANAGED, LABEL_ORPHANED
from lynq.core.plan.changes import (
    Action,
    FailedResource,
    Guard,
    Plan,
    PlannedChange,
    PlannedRejection,
    PlannedRollout,
    classify,
    document,
)
from lynq.core.plan.fields import FieldChange
from lynq.core.rollout.waves import RolloutOrder

SCHEMA_FILE = Path(__file__).parents[4] / "docs" / "reference" / "plan.schema.json"
OURS = {LABEL_MANAGED: "true"}
ROLLOUT = PlannedRollout("web", 2, RolloutOrder((("a", "b"), ("c",)), ("d",), ("e",)))
ORPHANED = {**OURS, LABEL_ORPHANED: "true"}


def obj(value: int = 1, labels: dict[str, str] | None = None, **other: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"labels": labels or {}}, "data": value, **other}


@pytest.mark.parametrize(
    ("before", "after", "action"),
    [
        (None, obj(), Action.CREATE),
        (obj(), None, Action.DELETE),
        (None, None, None),
        (obj(labels=OURS), obj(labels=OURS), None),
        (obj(labels=OURS), obj(labels=OURS, status=1), None),
        (obj(1, OURS), obj(2, OURS), Action.UPDATE),
        (obj(1, OURS), obj(1, OURS, metadata={"uid": "2"}), Action.REPLACE),
        (obj(1), obj(2, OURS), Action.ADOPT),
        (obj(1, ORPHANED), obj(1, OURS), Action.ADOPT),
        (obj(1, OURS), obj(1, ORPHANED), Action.ORPHAN),
        (obj(1, OURS), obj(1), Action.ORPHAN),
    ],
)
def test_change_is_classified(
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    action: Action | None,
) -> None:
    assert classify(before, after) is action


def test_node_is_managed_without_a_label() -> None:
    assert classify(node() | {"spec": 1}, node() | {"spec": 2}) is Action.UPDATE


def node(**labels: str) -> dict[str, Any]:
    metadata = {"labels": {f"lynq.sh/{key}": text for key, text in labels.items()}}
    return {"apiVersion": "operator.lynq.sh/v1", "kind": "LynqNode", "metadata": metadata}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (node(hub="a"), node(hub="a", bucket="7")),
        (node(hub="a", bucket="99"), node(hub="a", bucket="7")),
        (node(hub="a", conflicted="true"), node(hub="a")),
        (node(bucket="7"), node() | {"metadata": {}}),
    ],
)
def test_node_is_not_updated_for_the_labels_of_shards(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert classify(before, after) is classify(after, before) is None
    assert classify(before, {**after, "spec": 2}) is Action.UPDATE


def test_other_labels_of_a_node_and_the_bucket_of_an_object_count() -> None:
    assert classify(node(hub="a"), node(hub="b")) is Action.UPDATE
    assert classify(obj(1, OURS), obj(1, {**OURS, "lynq.sh/bucket": "7"})) is Action.UPDATE


def change(kind: str, path: str, action: Action = Action.UPDATE) -> PlannedChange:
    return PlannedChange(
        action=action,
        api_version="apps/v1",
        kind=kind,
        namespace="ns",
        name="acme",
        node="acme-web",
        fields=(FieldChange(path, 1, 2),),
    )


@pytest.mark.parametrize(
    ("changed", "restarts"),
    [
        (change("Deployment", "spec.template.spec.containers[name=app].image"), True),
        (change("StatefulSet", "spec.template"), True),
        (change("Deployment", "spec.replicas"), False),
        (change("Deployment", "spec.templates"), False),
        (change("Job", "spec.template.spec"), False),
        (change("Deployment", "spec.template.spec", Action.CREATE), False),
    ],
)
def test_changed_pod_template_restarts_pods(changed: PlannedChange, *, restarts: bool) -> None:
    assert changed.restarts_pods is restarts


def test_document_has_the_fields_of_the_schema() -> None:
    plan = Plan(
        changes=[change("Deployment", "spec.template")],
        guard=Guard(is_held=True, count=3, digest="abc"),
        rollouts=[ROLLOUT],
    )
    assert document(plan) == {
        "schema": "lynq.sh/plan/v1",
        "changes": [
            {
                "action": "Update",
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "namespace": "ns",
                "name": "acme",
                "hub": "",
                "form": "",
                "node": "acme-web",
                "held": False,
                "restartsPods": True,
                "fields": [{"path": "spec.template", "before": 1, "after": 2}],
            }
        ],
        "rejected": [],
        "failed": [],
        "guard": {"verdict": "Held", "count": 3, "digest": "abc"},
        "rollouts": [
            {
                "form": "web",
                "maxSkew": 2,
                "waves": [["a", "b"], ["c"]],
                "waiting": ["d"],
                "holders": ["e"],
            }
        ],
        "totals": {
            "Create": 0,
            "Update": 1,
            "Replace": 0,
            "Delete": 0,
            "Orphan": 0,
            "Adopt": 0,
            "restarts": 1,
        },
        "notes": [],
    }


def test_document_fits_the_published_schema() -> None:
    schema = json.loads(SCHEMA_FILE.read_text())
    plan = Plan(
        changes=[change("Deployment", "spec.template")],
        rejected=[PlannedRejection("a", "b")],
        failed=[FailedResource("a", "b", "c")],
        rollouts=[ROLLOUT],
        notes=["d"],
    )
    assert list(schema_problems(document(plan), schema)) == []
    assert schema["properties"]["schema"]["const"] == document(plan)["schema"]


def schema_problems(value: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield where a value has other fields than its schema."""
    match schema.get("type"):
        case "object":
            known = schema["properties"] if "properties" in schema else dict.fromkeys(value)
            if value.keys() != known.keys() or not set(schema.get("required", ())) <= value.keys():
                yield f"{path}: {sorted(value)}"
            for key, child in known.items():
                yield from schema_problems(value[key], child or {}, f"{path}.{key}")
        case "array":
            for item in value:
                yield from schema_problems(item, schema["items"], f"{path}[]")
        case "string" | "boolean" | "integer" as kind:
            expected = {"string": str, "boolean": bool, "integer": int}[kind]
            if not isinstance(value, expected):
                yield f"{path}: {value!r}"

"""Objects that the API server rejects without webhooks, with the name of the field."""

from typing import NamedTuple

import pytest

from cluster.api.objects import GOOD, MISSING, Object, changed, condition, hub, resource_of
from cluster.api.objects import resource_status as resource
from lynq.kube import Client
from lynq.kube.errors import Invalid

pytestmark = pytest.mark.usefixtures("crds")

MYSQL = "spec.source.mysql"
TLS = f"{MYSQL}.tls"
KEY = {"name": "client", "key": "tls.key"}


class Case(NamedTuple):
    """A valid object with one change, and the error of the API server."""

    path: str
    value: object
    message: str
    field: str | None = None
    """The field that the error names, if it is not the changed one."""


HUBS = [
    Case("spec", MISSING, "Required value"),
    Case("spec.source", MISSING, "Required value"),
    Case("spec.source.type", MISSING, "Required value"),
    Case("spec.source.type", "oracle", 'supported values: "mysql", "postgresql", "sqlite"'),
    Case("spec.source.changes", "Pull", 'supported values: "Poll", "Push"'),
    Case("spec.source.syncInterval", "30", "should match '^[0-9]+(s|m|h)$'"),
    Case("spec.source.syncInterval", "1m30s", "should match"),
    Case("spec.source.syncInterval", 30, "must be of type string"),
    Case(f"{MYSQL}.host", MISSING, "Required value"),
    Case(f"{MYSQL}.username", MISSING, "Required value"),
    Case(f"{MYSQL}.database", MISSING, "Required value"),
    Case(f"{MYSQL}.table", MISSING, "Required value"),
    Case(f"{MYSQL}.port", 0, "should be greater than or equal to 1"),
    Case(f"{MYSQL}.port", 65536, "should be less than or equal to 65535"),
    Case(f"{MYSQL}.port", "3306", "must be of type integer"),
    Case(f"{MYSQL}.passwordRef", {"name": "db"}, "Required value", f"{MYSQL}.passwordRef.key"),
    Case(f"{MYSQL}.passwordRef", {"key": "pw"}, "Required value", f"{MYSQL}.passwordRef.name"),
    Case(f"{MYSQL}.connectTimeout", "0s", "should match"),
    Case(f"{MYSQL}.queryTimeout", "soon", "should match"),
    Case(f"{TLS}.mode", "on", '"disable", "prefer", "require", "verify-ca", "verify-full"'),
    Case(f"{TLS}.caRef", {"kind": "Pod", **KEY}, '"Secret", "ConfigMap"', f"{TLS}.caRef.kind"),
    Case(f"{TLS}.caRef", {"name": "ca"}, "Required value", f"{TLS}.caRef.key"),
    Case(f"{TLS}.certRef", KEY, "certRef and keyRef belong together", f"{TLS}.keyRef"),
    Case(f"{TLS}.keyRef", KEY, "certRef and keyRef belong together"),
    Case("spec.valueMappings", MISSING, "Required value"),
    Case("spec.valueMappings.uid", MISSING, "Required value"),
    Case("spec.valueMappings.activate", MISSING, "Required value"),
    Case("spec.extraValueMappings", ["plan"], "must be of type object"),
    Case("spec.extraValueMappings.plan", 1, "must be of type string"),
    Case("spec.paused", "yes", "must be of type boolean"),
    Case("spec.deletionGuard.maxCount", -1, "should be greater than or equal to 0"),
    Case("spec.deletionGuard.maxPercent", 101, "should be less than or equal to 100"),
    Case("spec.deletionGuard.window", "0s", "should match"),
    Case("spec.deletionGuard.confirmAfter", "soon", "should match"),
]
FORMS = [
    Case("spec.hubId", MISSING, "Required value"),
    Case("spec.deployments.0.id", MISSING, "Required value"),
    Case("spec.deployments.0.spec", MISSING, "Required value"),
    Case("spec.deployments.0.spec", "apiVersion: v1", "must be of type object"),
    Case("spec.deployments.0.dependIds", "config", "must be of type array"),
    Case("spec.deployments.0.creationPolicy", "Never", 'supported values: "Once", "WhenNeeded"'),
    Case("spec.deployments.0.deletionPolicy", "Keep", 'supported values: "Delete", "Retain"'),
    Case("spec.deployments.0.conflictPolicy", "Wait", 'supported values: "Force", "Stuck"'),
    Case(
        "spec.deployments.0.patchStrategy", "ssa", 'supported values: "apply", "merge", "replace"'
    ),
    Case("spec.deployments.0.timeoutSeconds", 0, "should be greater than or equal to 1"),
    Case("spec.deployments.0.timeoutSeconds", 3601, "should be less than or equal to 3600"),
    Case("spec.deployments.0.labelsTemplate.tier", 1, "must be of type string"),
    Case("spec.deployments.0.waitForReady", "no", "must be of type boolean"),
    Case("spec.rollout.maxSkew", -1, "should be greater than or equal to 0"),
    Case("spec.rollout.progressDeadlineSeconds", 59, "should be greater than or equal to 60"),
    Case("spec.rollout.progressDeadlineSeconds", 3601, "should be less than or equal to 3600"),
    Case("spec.serviceAccountName", "Not A Name", "should match"),
    Case("spec.allowedNamespaces", ["a-*", "A_b"], "should match", "spec.allowedNamespaces.1"),
]
NODES = [
    Case("spec.uid", MISSING, "Required value"),
    Case("spec.templateRef", MISSING, "Required value"),
    Case("spec.deployments.0.patchStrategy", "", "Unsupported value"),
]
CASES = [
    pytest.param(kind, case, id=f"{case.path}={'' if case.value is MISSING else case.value}")
    for kind, cases in (("LynqHub", HUBS), ("LynqForm", FORMS), ("LynqNode", NODES))
    for case in cases
]


async def rejection(client: Client, obj: Object) -> Invalid:
    with pytest.raises(Invalid) as caught:
        await client.create(resource_of(obj), obj, "default", dry_run=True)
    return caught.value


def named_fields(error: Invalid) -> list[str]:
    """Return the invalid fields as in the tables above: `a.0.b` for `a[0].b`."""
    # "<nil>" belongs to the note that CEL rules were skipped because of other errors.
    fields = [item.field for item in error.fields if item.field != "<nil>"]
    return [field.replace("[", ".").replace("]", "") for field in fields]


@pytest.mark.parametrize(("kind", "case"), CASES)
async def test_invalid_field_is_rejected_by_name(client: Client, kind: str, case: Case) -> None:
    error = await rejection(client, changed(GOOD[kind](), case.path, case.value))
    assert named_fields(error) == [case.field or case.path]
    assert case.message in error.status.message


@pytest.mark.parametrize("engine", ["postgresql", "sqlite"])
async def test_source_type_without_its_block_is_rejected(client: Client, engine: str) -> None:
    invalid = changed(hub(engine), f"spec.source.{engine}", MISSING)
    error = await rejection(client, invalid)
    assert named_fields(error) == [f"spec.source.{engine}"]
    assert f"type {engine} needs the block {engine}" in error.status.message


@pytest.mark.parametrize("field", ["path", "table"])
@pytest.mark.parametrize("value", [MISSING, ""], ids=["missing", "empty"])
async def test_sqlite_without_path_or_table_is_rejected(
    client: Client, field: str, value: object
) -> None:
    path = f"spec.source.sqlite.{field}"
    error = await rejection(client, changed(hub("sqlite"), path, value))
    assert named_fields(error) == [path]


@pytest.mark.parametrize("list_name", ["deployments", "manifests", "namespaces"])
async def test_duplicate_id_in_one_list_is_rejected(client: Client, list_name: str) -> None:
    twice = [{"id": "a", "spec": {}}, {"id": "b", "spec": {}}, {"id": "a", "spec": {}}]
    error = await rejection(client, changed(GOOD["LynqForm"](), f"spec.{list_name}", twice))
    assert named_fields(error) == [f"spec.{list_name}.2"]
    assert "Duplicate value" in error.status.message


async def test_hub_id_of_a_form_is_immutable(client: Client, namespace: str) -> None:
    form = await client.create(resource_of(GOOD["LynqForm"]()), GOOD["LynqForm"](), namespace)
    with pytest.raises(Invalid) as caught:
        await client.replace(resource_of(form), changed(form, "spec.hubId", "other"))
    assert named_fields(caught.value) == ["spec.hubId"]
    assert "hubId is immutable" in caught.value.status.message


STATUSES = [
    (
        "LynqHub",
        Case("conditions", [condition(status="Maybe")], "Unsupported value", "conditions.0.status"),
    ),
    (
        "LynqHub",
        Case(
            "conditions",
            [condition(reason="")],
            "should be at least 1 chars",
            "conditions.0.reason",
        ),
    ),
    (
        "LynqHub",
        Case(
            "conditions", [condition(reason="not one word")], "should match", "conditions.0.reason"
        ),
    ),
    (
        "LynqForm",
        Case("conditions", [condition(reason="R" * 1025)], "Too long", "conditions.0.reason"),
    ),
    (
        "LynqForm",
        Case("conditions", [condition(message="m" * 32769)], "Too long", "conditions.0.message"),
    ),
    (
        "LynqNode",
        Case(
            "conditions", [{"type": "Ready"}], "Required value", "conditions.0.lastTransitionTime"
        ),
    ),
    (
        "LynqNode",
        Case(
            "conditions",
            [condition(lastTransitionTime="now")],
            "date",
            "conditions.0.lastTransitionTime",
        ),
    ),
    (
        "LynqNode",
        Case(
            "conditions", [condition(observedGeneration=-1)], "0", "conditions.0.observedGeneration"
        ),
    ),
    ("LynqNode", Case("conditions", [condition(), condition()], "Duplicate value", "conditions.1")),
    ("LynqHub", Case("desired", "many", "must be of type integer")),
    ("LynqHub", Case("lastSyncTime", "yesterday", "date-time")),
    (
        "LynqHub",
        Case("rejectedRows.rows", [{"uid": str(row)} for row in range(21)], "at most 20 items"),
    ),
    (
        "LynqHub",
        Case("heldDeletions.nodes", [str(row) for row in range(21)], "at most 20 items"),
    ),
    ("LynqForm", Case("rollout.phase", "Stalled", '"Idle", "InProgress", "Failed", "Complete"')),
    ("LynqForm", Case("rollout.startTime", "2026-01-02", "date-time")),
    (
        "LynqNode",
        Case("resources", [resource(state="Odd")], "Unsupported value", "resources.0.state"),
    ),
    ("LynqNode", Case("skippedResourceIds", "web", "must be of type array")),
]


@pytest.mark.parametrize(
    ("kind", "case"), STATUSES, ids=[f"{kind}.{case.field or case.path}" for kind, case in STATUSES]
)
async def test_invalid_status_is_rejected_by_name(
    client: Client, namespace: str, kind: str, case: Case
) -> None:
    stored = await client.create(resource_of(GOOD[kind]()), GOOD[kind](), namespace)
    invalid = changed(stored, f"status.{case.path}", case.value)
    with pytest.raises(Invalid) as caught:
        await client.replace(resource_of(stored), invalid, subresource="status")
    assert f"status.{case.field or case.path}" in named_fields(caught.value)
    assert case.message in caught.value.status.message

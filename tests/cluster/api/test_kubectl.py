"""Discovery, printer columns and descriptions of the three kinds in kubectl."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from cluster.api.objects import GOOD, Object, condition, resource_of
from lynq.api.crds import KINDS, CustomKind
from lynq.api.names import API_VERSION, GROUP
from lynq.kube import Client
from lynq.kube.resource import CUSTOM_RESOURCE_DEFINITIONS
from waiting import eventually

pytestmark = pytest.mark.usefixtures("crds")

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.definition.kind)


async def columns(client: Client, namespace: str, obj: Object, *, wide: bool = False) -> Object:
    """Create an object, and return its row of `kubectl get` by column."""
    resource = resource_of(obj)
    stored = await client.create(resource, obj, namespace)
    await client.replace(resource, stored | {"status": obj["status"]}, subresource="status")
    response = await client.raw(resource.path(namespace), headers=TABLE)
    table = msgspec.json.decode(response)
    names = {
        index: column["name"]
        for index, column in enumerate(table["columnDefinitions"])
        if wide or column["priority"] == 0
    }
    (row,) = table["rows"]
    return {name: row["cells"][index] for index, name in names.items()}


async def discovered(client: Client, plural: str) -> dict[str, Any]:
    resources = msgspec.json.decode(await client.raw(f"/apis/{API_VERSION}"))
    (entry,) = (item for item in resources["resources"] if item["name"] == plural)
    return dict(entry)


@each_kind
async def test_kind_is_served_without_warnings(client: Client, kind: CustomKind) -> None:
    name = f"{kind.definition.plural}.{GROUP}"
    crd = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    conditions = {item["type"]: item["status"] for item in crd["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert "NonStructuralSchema" not in conditions


@each_kind
async def test_kind_is_found_by_short_name_and_category(client: Client, kind: CustomKind) -> None:
    entry = await discovered(client, kind.definition.plural)
    assert entry["shortNames"] == [kind.definition.short_name]
    assert entry["categories"] == ["lynq"]
    assert entry["singularName"] == kind.definition.singular
    assert entry["namespaced"] is True


@each_kind
async def test_kind_has_a_status_and_no_scale_subresource(client: Client, kind: CustomKind) -> None:
    resources = msgspec.json.decode(await client.raw(f"/apis/{API_VERSION}"))
    plural = kind.definition.plural
    served = {item["name"] for item in resources["resources"] if item["name"].startswith(plural)}
    assert served == {plural, f"{plural}/status"}


async def test_kubectl_get_shows_hub_columns(client: Client, namespace: str) -> None:
    status = {
        "referencingTemplates": 2,
        "desired": 6,
        "ready": 5,
        "failed": 1,
        "rejectedRows": {"count": 3},
        "conditions": [condition(reason="DatabaseConnected"), condition("DeletionHeld")],
    }
    row = await columns(client, namespace, GOOD["LynqHub"]() | {"status": status}, wide=True)
    del row["Age"]
    assert row == {
        "Name": "tenants",
        "Templates": 2,
        "Desired": 6,
        "Ready": 5,
        "Failed": 1,
        "Conditions": "DatabaseConnected",
        "Source": "mysql",
        "Rejected": 3,
        "Held": "True",
        "Synced": None,
    }


async def test_kubectl_get_shows_form_columns(client: Client, namespace: str) -> None:
    status = {
        "totalNodes": 3,
        "readyNodes": 2,
        "rollout": {"phase": "InProgress", "updatingNodes": 1},
        "conditions": [condition("Applied", status="False")],
    }
    row = await columns(client, namespace, GOOD["LynqForm"]() | {"status": status})
    del row["Age"]
    assert row == {
        "Name": "web",
        "Hub": "tenants",
        "Total": 3,
        "Ready": 2,
        "Rollout": "InProgress",
        "Updating": 1,
        "Applied": "False",
    }


async def test_kubectl_get_shows_node_columns(client: Client, namespace: str) -> None:
    status = {
        "readyResources": 2,
        "desiredResources": 5,
        "skippedResources": 1,
        "failedResources": 2,
        "conditions": [
            condition(status="False", reason="ResourcesFailed", message="Job acme-seed failed"),
            condition("Conflicted", status="False"),
        ],
    }
    row = await columns(client, namespace, GOOD["LynqNode"]() | {"status": status}, wide=True)
    del row["Age"]
    assert row == {
        "Name": "acme-web",
        "UID": "acme",
        "Form": "web",
        "Ready": 2,
        "Desired": 5,
        "Skipped": 1,
        "Conflicted": "False",
        "Conditions": "ResourcesFailed",
        "Failed": 2,
        "Message": "Job acme-seed failed",
    }


async def test_category_lists_all_kinds(
    client: Client, namespace: str, kubectl: Callable[..., str]
) -> None:
    for make in GOOD.values():
        await client.create(resource_of(make()), make(), namespace)

    def discovered() -> bool:
        # Also drops kubectl's discovery cache from before the installation of the kinds.
        return len(kubectl("api-resources", "--categories=lynq", "--output=name").split()) == 3

    await eventually(discovered)
    listed = kubectl("get", "lynq", "--namespace", namespace, "--output", "name").split()
    assert listed == [
        f"lynqform.{GROUP}/web",
        f"lynqhub.{GROUP}/tenants",
        f"lynqnode.{GROUP}/acme-web",
    ]


def test_kubectl_explain_describes_deployments(kubectl: Callable[..., str]) -> None:
    text = " ".join(kubectl("explain", "lynqform.spec.deployments").split())
    for part in (
        "FIELD: deployments <[]Object>",
        "every desired replica is updated, ready and available",
        "Templates are Go text/template with the sprig functions.",
        "id <string> -required-",
        "enum: Once, WhenNeeded",
        "- Retain: Left in the cluster",
        "Defaults to 300.",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("lh.spec.source.syncInterval", "30s, 5m, 1h"),
        ("lh.spec.deletionGuard.maxPercent", "Defaults to 30."),
        ("lf.spec.hubId", "It cannot be changed"),
        ("lf.spec.rollout.maxSkew", "0, the default, means all at once."),
        ("ln.status.resources.state", "- Waiting: Not applied yet"),
    ],
)
def test_kubectl_explain_works_with_the_short_name(
    kubectl: Callable[..., str], path: str, part: str
) -> None:
    assert part in " ".join(kubectl("explain", path).split())

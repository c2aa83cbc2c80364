"""kustomize/default, with the operator run as its manifests say and with no right beyond theirs."""

from functools import partial

from built_in_resources import DEPLOYMENTS
from cluster.controllers.environment import FORMS
from cluster.deploy.installation import Installer, Run, Starter, answering_at
from cluster.deploy.tenants import Tenancy
from deploy.manifests import Object, loaded, one
from lynq.api.names import LEASE
from lynq.kube import Client
from lynq.kube.errors import ApiError
from lynq.kube.resource import LEASES
from waiting import eventually


async def test_pod_runs_in_restricted_namespace(default: list[Object], client: Client) -> None:
    named = one(default, "Deployment")["metadata"]

    async def available() -> bool:
        obj = await client.get(DEPLOYMENTS, named["name"], named["namespace"])
        return bool(obj["status"].get("availableReplicas") == 1)

    await eventually(available, within=30, every=0.2)


def complaints(run: Run) -> list[str]:
    """Return what the operator said of rights that it lacks."""
    return [line for line in run.said().splitlines() if "forbidden" in line.lower()]


async def test_row_becomes_tenant_of_all_kinds_and_is_deleted(
    default: list[Object],
    installer: Installer,
    starter: Starter,
    tenancy: Tenancy,
    client: Client,
) -> None:
    tenancy.row()
    custom = one(loaded("samples/role-custom-kinds.yaml"), "ClusterRole")
    with starter.running(default) as run:
        webhooks = answering_at(default, run.ports.webhook, tenancy.namespace)
        async with installer.installed([*webhooks, custom]):
            asks = partial(refuses_a_circle, client, tenancy.namespace)
            await eventually(asks, within=30, every=0.2)
            await tenancy.sample("hub-sqlite")
            await tenancy.sample("form-all-kinds")
            node = await tenancy.is_ready("all-kinds")
            assert len(node["status"]["resources"]) == 16
            lease = await client.get(LEASES, LEASE, "lynq-system")
            assert lease["spec"]["holderIdentity"]
            assert 'lynq_source_up{hub="tenants"' in run.scrape()
            tenancy.row(active=False)
            await tenancy.is_gone("all-kinds")
        assert complaints(run) == []


async def refuses_a_circle(client: Client, namespace: str) -> bool:
    """Return whether the API server asks the operator about forms, and trusts its answers."""
    form = one(loaded("samples/form-all-kinds.yaml"), "LynqForm")
    form["metadata"]["namespace"] = namespace
    form["spec"]["services"][0]["dependIds"] = ["store"]
    try:
        await client.apply(FORMS, form, manager="deploy-test", dry_run=True)
    except ApiError as error:
        return "circular dependency" in error.status.message
    return False

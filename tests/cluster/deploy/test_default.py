"""kustomize/default: the operator runs with the arguments and rights of its manifests."""

from functools import partial

from built_in_resources import DEPLOYMENTS
from cluster.deploy.installation import Installer, Run, Starter, local_webhooks
from cluster.deploy.tenants import Tenancy
from deploy.manifests import Object, loaded, one
from lynq.api.names import LEASE
from lynq.kube import Client
from lynq.kube.errors import ApiError
from lynq.kube.resource import LEASES
from operated.environment import FORMS
from waiting import eventually


async def test_pod_runs_in_restricted_namespace(default: list[Object], client: Client) -> None:
    metadata = one(default, "Deployment")["metadata"]

    async def available() -> bool:
        obj = await client.get(DEPLOYMENTS, metadata["name"], metadata["namespace"])
        return bool(obj["status"].get("availableReplicas") == 1)

    await eventually(available, within=30, every=0.2)


def forbidden_lines(run: Run) -> list[str]:
    """Return the log lines about missing rights."""
    return [line for line in run.log_text().splitlines() if "forbidden" in line.lower()]


async def test_row_becomes_tenant_of_all_kinds_and_is_deleted(
    default: list[Object],
    installer: Installer,
    starter: Starter,
    tenancy: Tenancy,
    client: Client,
) -> None:
    tenancy.set_row()
    custom = one(loaded("samples/role-custom-kinds.yaml"), "ClusterRole")
    with starter.running(default) as run:
        webhooks = local_webhooks(default, run.ports.webhook, tenancy.namespace)
        async with installer.installed([*webhooks, custom]):
            rejects = partial(rejects_cycle, client, tenancy.namespace)
            await eventually(rejects, within=30, every=0.2)
            await tenancy.apply_sample("hub-sqlite")
            await tenancy.apply_sample("form-all-kinds")
            node = await tenancy.wait_for_ready("all-kinds")
            assert len(node["status"]["resources"]) == 16
            lease = await client.get(LEASES, LEASE, "lynq-system")
            assert lease["spec"]["holderIdentity"]
            assert 'lynq_source_up{hub="tenants"' in run.scrape()
            tenancy.set_row(active=False)
            await tenancy.wait_for_deletion("all-kinds")
        assert forbidden_lines(run) == []


async def rejects_cycle(client: Client, namespace: str) -> bool:
    """Return whether the validating webhook rejects a form with a dependency cycle."""
    form = one(loaded("samples/form-all-kinds.yaml"), "LynqForm")
    form["metadata"]["namespace"] = namespace
    form["spec"]["services"][0]["dependIds"] = ["store"]
    try:
        await client.apply(FORMS, form, manager="deploy-test", dry_run=True)
    except ApiError as error:
        return "circular dependency" in error.status.message
    return False

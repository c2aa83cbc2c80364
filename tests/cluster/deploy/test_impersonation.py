"""A form with serviceAccountName needs the impersonate right for the operator."""

from collections.abc import AsyncIterator, Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from built_in_resources import PODS
from cluster.deploy.installation import Starter
from cluster.deploy.tenants import Tenancy
from deploy.manifests import Object, loaded, one
from lynq.kube import Client, load_config
from lynq.kube.credentials import Credential, StaticCredentials
from lynq.kube.errors import Forbidden
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from waiting import eventually

WRITER: Object = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "tenant-writer"},
    "rules": [
        {
            "apiGroups": [""],
            "resources": ["configmaps", "secrets"],
            "verbs": ["create", "delete", "get", "list", "patch", "update"],
        }
    ],
}
BINDING: Object = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "tenant-writer"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant-writer"},
    "subjects": [{"kind": "ServiceAccount", "name": "tenant-writer"}],
}


def form() -> Object:
    """Return the sample form reduced to Secrets and ConfigMaps, with a service account."""
    form = one(loaded("samples/form-policies.yaml"), "LynqForm")
    spec = form["spec"]
    form["spec"] = {
        "hubId": spec["hubId"],
        "serviceAccountName": "tenant-writer",
        "secrets": spec["secrets"],
        "configMaps": spec["configMaps"],
    }
    return form


async def create_writer(tenancy: Tenancy, *resources: str) -> None:
    """Grant the form's account all verbs on ConfigMaps, Secrets and these resources."""
    role, binding = deepcopy(WRITER), deepcopy(BINDING)
    role["rules"][0]["resources"] += resources
    binding["subjects"][0]["namespace"] = tenancy.namespace
    await tenancy.apply(role)
    await tenancy.apply(binding)


@pytest.mark.parametrize("sample", ["role-service-account", "role-service-account-legacy"])
async def test_form_is_applied_once_operator_may_impersonate_its_account(
    default: list[Object], starter: Starter, tenancy: Tenancy, sample: str
) -> None:
    tenancy.set_row()
    with starter.running(default):
        await create_writer(tenancy)
        await tenancy.apply_sample("hub-sqlite")
        await tenancy.apply(form())
        ids = ("password", "settings", "shared", "merged", "replaced")
        failed = await tenancy.wait_for_failures("policies", ids)
        expected = "grant the verb impersonate on serviceaccounts"
        assert all(expected in resource["message"] for resource in failed.values()), failed
        await tenancy.apply_sample(sample)
        await tenancy.wait_for_ready("policies")
        # Deletions are sent as the account too.
        tenancy.set_row(active=False)
        await tenancy.force_sync()
        await tenancy.wait_for_deletion("policies")


@pytest.fixture
async def operator_client(
    default: list[Object], kubectl: Callable[..., str], kubeconfig: Path
) -> AsyncIterator[Client]:
    """A client with the rights of the installed operator."""
    deployment = one(default, "Deployment")
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    namespace = deployment["metadata"]["namespace"]
    token = kubectl("create", "token", account, "-n", namespace).strip()
    credentials = StaticCredentials(Credential(token))
    config = replace(load_config(kubeconfig), credentials=credentials)
    async with Client.connect(config) as client:
        yield client


async def test_constrained_account_lends_only_the_listed_verbs_and_kinds(
    tenancy: Tenancy, operator_client: Client
) -> None:
    await create_writer(tenancy, "pods")
    await tenancy.apply_sample("role-service-account")
    namespace = tenancy.namespace
    writer = operator_client.acting_as(f"system:serviceaccount:{namespace}:tenant-writer")
    obj = {"metadata": {"name": "settings", "namespace": namespace}}

    async def is_granted() -> bool:
        try:
            await writer.apply(CONFIG_MAPS, obj, manager="test")
        except Forbidden:
            return False
        return True

    await eventually(is_granted)
    await writer.delete(CONFIG_MAPS, "settings", namespace)
    # The account itself may do this. The operator is not given it.
    for request, right in (
        (writer.get(PODS, "any", namespace), "impersonate-on:serviceaccount:get on pods"),
        (writer.list(SECRETS, namespace), "impersonate-on:serviceaccount:list on secrets"),
    ):
        with pytest.raises(Forbidden, match=right):
            await request
    # Neither another account nor another namespace.
    for user in (f"{namespace}:default", "default:tenant-writer"):
        other = operator_client.acting_as(f"system:serviceaccount:{user}")
        with pytest.raises(Forbidden, match="impersonate"):
            await other.get(CONFIG_MAPS, "settings", namespace)

"""A form with a service account: the operator acts in its name where it was told that it may."""

from cluster.deploy.installation import Starter
from cluster.deploy.tenants import Tenancy
from deploy.manifests import Object, loaded, one

WRITER: Object = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "tenant-writer"},
    "rules": [
        {
            "apiGroups": [""],
            "resources": ["configmaps", "secrets"],
            "verbs": ["create", "delete", "get", "patch", "update"],
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
    """Return the sample's Secret and ConfigMaps, to be written by the account."""
    form = one(loaded("samples/form-policies.yaml"), "LynqForm")
    spec = form["spec"]
    form["spec"] = {
        "hubId": spec["hubId"],
        "serviceAccountName": "tenant-writer",
        "secrets": spec["secrets"],
        "configMaps": spec["configMaps"],
    }
    return form


async def test_form_is_applied_once_operator_may_impersonate_its_account(
    default: list[Object], starter: Starter, tenancy: Tenancy
) -> None:
    subject = {**BINDING["subjects"][0], "namespace": tenancy.namespace}
    tenancy.row()
    with starter.running(default):
        await tenancy.apply(WRITER)
        await tenancy.apply({**BINDING, "subjects": [subject]})
        await tenancy.sample("hub-sqlite")
        await tenancy.apply(form())
        ids = ("password", "settings", "shared", "merged", "replaced")
        failed = await tenancy.is_settled("policies", ids)
        expected = "grant the verb impersonate on serviceaccounts"
        assert all(expected in resource["message"] for resource in failed.values()), failed
        await tenancy.sample("role-service-account")
        await tenancy.is_ready("policies")

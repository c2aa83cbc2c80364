"""A form with serviceAccountName needs the impersonate right for the operator."""

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


async def test_form_is_applied_once_operator_may_impersonate_its_account(
    default: list[Object], starter: Starter, tenancy: Tenancy
) -> None:
    subject = {**BINDING["subjects"][0], "namespace": tenancy.namespace}
    tenancy.set_row()
    with starter.running(default):
        await tenancy.apply(WRITER)
        await tenancy.apply({**BINDING, "subjects": [subject]})
        await tenancy.apply_sample("hub-sqlite")
        await tenancy.apply(form())
        ids = ("password", "settings", "shared", "merged", "replaced")
        failed = await tenancy.wait_for_failures("policies", ids)
        expected = "grant the verb impersonate on serviceaccounts"
        assert all(expected in resource["message"] for resource in failed.values()), failed
        await tenancy.apply_sample("role-service-account")
        await tenancy.wait_for_ready("policies")

"""The chart with watchNamespaces works with Roles and without cluster-wide rights."""

from cluster.deploy.installation import Installer, Starter
from cluster.deploy.tenants import Tenancy
from deploy.manifests import chart, loaded, one

OUTSIDE = ("namespaces", "manifests")
"""Form lists whose objects no Role covers: a Namespace and a LimitRange."""


async def test_operator_works_with_namespaced_roles_only(
    installer: Installer, starter: Starter, tenancy: Tenancy
) -> None:
    namespace = tenancy.namespace
    objects = chart(
        {
            "namespace": {"name": namespace},
            "manager": {"watchNamespaces": [namespace], "metricsSecure": False},
            "webhook": {"enabled": False},
            "rbac": {"userRoles": False},
            "crds": {"install": False},
        },
        namespace=namespace,
    )
    assert {obj["metadata"].get("namespace") for obj in objects} == {namespace}
    inside, outside = (one(loaded("samples/form-all-kinds.yaml"), "LynqForm") for _ in range(2))
    for field in OUTSIDE:
        del inside["spec"][field]
    outside["metadata"]["name"] = "outside"
    outside["spec"] = {"hubId": "tenants"} | {field: outside["spec"][field] for field in OUTSIDE}
    tenancy.set_row()
    async with installer.installed(objects):
        with starter.running(objects):
            await tenancy.apply_sample("hub-sqlite")
            await tenancy.apply(inside)
            await tenancy.apply(outside)
            await tenancy.wait_for_ready("all-kinds")
            failed = await tenancy.wait_for_failures("outside", ("limits", "room"))
            assert "grant the verb watch on namespaces" in failed["room"]["message"]
            assert "grant the verb watch on limitranges" in failed["limits"]["message"]
            tenancy.set_row(active=False)
            await tenancy.wait_for_deletion("all-kinds")

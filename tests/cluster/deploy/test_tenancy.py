"""The tenancy profile of the chart: attacks by a user who may write forms and nodes.

Mallory has the roles lynqform-editor and lynqnode-editor in one namespace, and nothing else. The
operator runs with the arguments and rights of the chart, and may write ClusterRoleBindings, too.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from built_in_resources import DEPLOYMENTS
from cluster.deploy.installation import Installer, Starter, local_webhooks
from cluster.deploy.tenants import Tenancy
from deploy.manifests import Object, chart
from lynq.kube import Client, Resource
from lynq.kube.errors import ApiError, Forbidden, NotFound
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES, SECRETS
from operated.environment import FORMS, NODES
from rights import bind_role, user_of, wait_until_allowed
from waiting import eventually, stays

MALLORY = "mallory"
SYSTEM = "tenancy-system"
VALUES: Object = {
    "fullnameOverride": "tenancy",
    "namespace": {"name": SYSTEM},
    "networkPolicy": {"webhook": {"from": [{"ipBlock": {"cidr": "10.0.0.1/32"}}]}},
}
RBAC = "rbac.authorization.k8s.io"
CLUSTER_BINDINGS = Resource(
    RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
POLICIES = Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", namespaced=True)
ALL = ["create", "delete", "get", "list", "patch", "update", "watch"]
MAY_BIND: Object = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "tenancy-binds", "labels": {"lynq.sh/aggregate-to-manager": "true"}},
    "rules": [
        {"apiGroups": [RBAC], "resources": ["clusterrolebindings"], "verbs": ALL},
        {"apiGroups": [RBAC], "resources": ["clusterroles"], "verbs": ["bind"]},
    ],
}
BINDING: Object = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "ClusterRoleBinding",
    "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"apiGroup": RBAC, "kind": "User", "name": MALLORY}],
}
SETTINGS: Object = {
    "id": "settings",
    "nameTemplate": "{{ .uid }}-settings",
    "spec": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": "{{ .plan }}"}},
}
DEPLOYMENT: Object = {
    "id": "pwned",
    "nameTemplate": "pwned",
    "spec": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {
            "selector": {"matchLabels": {"app": "pwned"}},
            "template": {
                "metadata": {"labels": {"app": "pwned"}},
                "spec": {
                    "serviceAccountName": "admin",
                    "containers": [{"name": "a", "image": "example.com/a"}],
                },
            },
        },
    },
}


@dataclass(frozen=True, slots=True)
class Attack:
    """A running installation, and a user who may write forms and nodes in one namespace."""

    admin: Client
    tenancy: Tenancy

    @property
    def mallory(self) -> Client:
        return self.admin.acting_as(MALLORY)

    @property
    def namespace(self) -> str:
        return self.tenancy.namespace

    async def form(self, name: str, namespace: str = "", **spec: Any) -> Object:
        """Create a form as Mallory."""
        spec = {"hubId": "tenants", "serviceAccountName": "tenant-writer"} | spec
        metadata = {"name": name, "namespace": namespace or self.namespace}
        return await self.mallory.create(FORMS, {"metadata": metadata, "spec": spec})

    async def node(self, name: str, metadata: Object | None = None, **lists: Any) -> Object:
        """Create a node as Mallory."""
        spec = {"uid": "pwned", "templateRef": "web", **lists}
        metadata = {"name": name, "namespace": self.namespace, **(metadata or {})}
        return await self.mallory.create(NODES, {"metadata": metadata, "spec": spec})

    async def wait_for_denial(self, form: str, resource_id: str) -> str:
        """Wait until a resource of the tenant's node has failed; return why."""
        failed = await self.tenancy.wait_for_failures(form, [resource_id])
        return str(failed[resource_id]["message"])

    async def wait_for_waiting(self, name: str) -> str:
        """Wait until a node waits for its hub; return its message."""

        async def waiting() -> str:
            node = await self.admin.get(NODES, name, self.namespace)
            conditions = node.get("status", {}).get("conditions", [])
            return next((c["message"] for c in conditions if c["reason"] == "WaitingForHub"), "")

        return await eventually(waiting, within=30, every=0.2)

    async def exists(self, resource: Resource, name: str) -> bool:
        try:
            await self.admin.get(resource, name, self.namespace if resource.namespaced else None)
        except NotFound:
            return False
        return True


Attacked = Callable[..., Any]


@pytest.fixture
def attacked(
    installer: Installer,
    starter: Starter,
    tenancy: Tenancy,
    client: Client,
    kubectl: Callable[..., str],
) -> Attacked:
    """Install and run the chart, with a hub and a form of a tenant."""

    @asynccontextmanager
    async def running(*, multi_tenant: bool, plan: str = "basic") -> AsyncIterator[Attack]:
        objects = chart({**VALUES, "multiTenant": multi_tenant}, namespace="default")
        webhooks = [obj for obj in objects if obj["kind"].endswith("WebhookConfiguration")]
        others = [obj for obj in objects if obj not in webhooks]
        attack = Attack(client, tenancy)
        tenancy.set_row(plan=plan)
        async with installer.installed([*others, MAY_BIND]):
            secret = ("secret", "generic", "tenancy-installation-key", "-n", SYSTEM)
            kubectl("create", *secret, f"--from-literal=key={'k' * 32}")
            await grant(client, tenancy)
            with starter.running(objects) as run:
                await tenancy.apply_sample("hub-sqlite")
                local = local_webhooks(webhooks, run.ports.webhook, tenancy.namespace)
                async with installer.installed(local):
                    await create_when_admitted(attack)
                    yield attack
                    await clean_up(attack)

    return running


async def create_when_admitted(attack: Attack) -> None:
    async def created() -> bool:
        try:
            await attack.form("web", configMaps=[SETTINGS])
        except ApiError:
            # The API server does not trust the webhook yet.
            return False
        return True

    await eventually(created, within=30, every=0.2)


async def clean_up(attack: Attack) -> None:
    """Delete all that the installation has made, while it runs."""
    for form in (await attack.admin.list(FORMS, attack.namespace)).items:
        await attack.admin.delete(FORMS, form["metadata"]["name"], attack.namespace)

    async def gone() -> bool:
        return not (await attack.admin.list(NODES, attack.namespace)).items

    await eventually(gone, within=60, every=0.2)


async def grant(client: Client, tenancy: Tenancy) -> None:
    """Give Mallory the editor roles, the form's account ConfigMaps, the operator the account."""
    namespace = tenancy.namespace
    operator = user_of("tenancy-controller-manager", SYSTEM)
    writer = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ALL}
    lent = {
        "apiGroups": [""],
        "resources": ["serviceaccounts"],
        "resourceNames": ["tenant-writer"],
        "verbs": ["impersonate"],
    }
    user = user_of("tenant-writer", namespace)
    await bind_role(client, "tenant-writer", [writer], namespace=namespace, user=user)
    await bind_role(client, "act-as", [lent], namespace=namespace, user=operator)
    for kind in ("lynqform", "lynqnode"):
        binding = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": f"mallory-{kind}", "namespace": namespace},
            "roleRef": {
                "apiGroup": RBAC,
                "kind": "ClusterRole",
                "name": f"tenancy-{kind}-editor-role",
            },
            "subjects": BINDING["subjects"],
        }
        await tenancy.apply(binding)
        attributes = {"namespace": namespace, "group": NODES.group, "verb": "create"}
        await wait_until_allowed(client, MALLORY, attributes | {"resource": f"{kind}s"})


async def test_without_the_profile_forms_and_nodes_have_the_rights_of_the_operator(
    attacked: Attacked,
) -> None:
    """The proof of the attacks: what the profile stops is possible without it."""
    async with attacked(multi_tenant=False) as attack:
        with pytest.raises(Forbidden):
            await attack.mallory.list(SECRETS)
        name = f"{attack.tenancy.uid}-admins"
        entry = {"id": "admins", "nameTemplate": name, "spec": BINDING}
        await attack.form("pwned", serviceAccountName=None, manifests=[entry])
        await eventually(lambda: attack.exists(CLUSTER_BINDINGS, name), within=30, every=0.2)

        async def is_admin() -> bool:
            try:
                await attack.mallory.list(SECRETS)
            except Forbidden:
                return False
            return True

        await eventually(is_admin, within=10, every=0.2)
        # A form with an account binds nodes without a hub, too. Mallory may delete it.
        await attack.mallory.delete(FORMS, "web", attack.namespace)
        await attack.tenancy.wait_for_deletion("web")
        await attack.node("by-hand", deployments=[DEPLOYMENT])
        await eventually(lambda: attack.exists(DEPLOYMENTS, "pwned"), within=30, every=0.2)
        await attack.mallory.delete(NODES, "by-hand", attack.namespace)


async def test_form_without_an_account_writes_nothing(attacked: Attacked) -> None:
    async with attacked(multi_tenant=True) as attack:
        await attack.form("pwned", serviceAccountName=None, configMaps=[SETTINGS])
        message = await attack.wait_for_denial("pwned", "settings")
        assert "--require-service-account" in message


async def test_form_makes_no_cluster_role_binding(attacked: Attacked) -> None:
    async with attacked(multi_tenant=True, plan="ClusterRoleBinding") as attack:
        entry = {"id": "admins", "nameTemplate": "pwned-admins", "spec": BINDING}
        with pytest.raises(Forbidden) as denied:
            await attack.form("admins", manifests=[entry])
        assert "ClusterRoleBinding." in denied.value.status.message
        assert "--allowed-cluster-kinds" in denied.value.status.message
        # The kind of a column is unknown to admission.
        hidden = {**entry, "spec": {**BINDING, "kind": "{{ .plan }}"}}
        await attack.form("admins", manifests=[hidden])
        message = await attack.wait_for_denial("admins", "admins")
        assert "ClusterRoleBinding.rbac.authorization.k8s.io" in message
        assert not await attack.exists(CLUSTER_BINDINGS, "pwned-admins")
        # Neither does a list of the form help.
        listed = {"spec": {"allowedClusterKinds": [f"ClusterRoleBinding.{RBAC}"]}}
        await attack.mallory.patch(FORMS, "admins", listed, attack.namespace)

        async def absent() -> bool:
            return not await attack.exists(CLUSTER_BINDINGS, "pwned-admins")

        await stays(absent, seconds=2)


async def test_form_makes_no_privileged_namespace(attacked: Attacked) -> None:
    async with attacked(multi_tenant=True, plan="Namespace") as attack:
        manifest: Object = {"apiVersion": "v1", "kind": "Namespace"}
        for label in ("pod-security.kubernetes.io/enforce", "metrics"):
            entry = {"id": "space", "nameTemplate": "{{ .uid }}", "spec": manifest}
            entry["labelsTemplate"] = {label: "privileged"}
            with pytest.raises(Forbidden) as denied:
                await attack.form("space", namespaces=[entry])
            assert "--denied-namespace-labels" in denied.value.status.message
            hidden = {**entry, "spec": {**manifest, "kind": "{{ .plan }}"}}
            await attack.form("space", manifests=[hidden])
            assert f'"{label}"' in await attack.wait_for_denial("space", "space")
            assert not await attack.exists(NAMESPACES, attack.tenancy.uid)
            await attack.mallory.delete(FORMS, "space", attack.namespace)
            await attack.tenancy.wait_for_deletion("space")


async def test_node_made_by_hand_is_not_carried_out(attacked: Attacked) -> None:
    async with attacked(multi_tenant=True) as attack:
        await attack.tenancy.wait_for_ready("web")
        await attack.node("pwned", deployments=[DEPLOYMENT])
        assert "--allow-standalone-nodes=false" in await attack.wait_for_waiting("pwned")
        # Nor one with the marks of a hub, and of the account.
        marks = {
            "labels": {"lynq.sh/hub": "tenants"},
            "annotations": {"lynq.sh/hubId": "tenants", "lynq.sh/service-account": "admin"},
        }
        await attack.node("forged", marks, deployments=[DEPLOYMENT])
        await attack.wait_for_waiting("forged")
        assert not await attack.exists(DEPLOYMENTS, "pwned")
        for name in ("pwned", "forged"):
            await attack.mallory.delete(NODES, name, attack.namespace)

            async def gone(name: str = name) -> bool:
                return not await attack.exists(NODES, name)

            await eventually(gone, within=30, every=0.2)


async def test_edited_node_is_not_carried_out(attacked: Attacked) -> None:
    async with attacked(multi_tenant=True) as attack:
        node = await attack.tenancy.wait_for_ready("web")
        name = node["metadata"]["name"]
        patch = {"spec": {"deployments": [DEPLOYMENT]}}
        await attack.mallory.patch(NODES, name, patch, attack.namespace)

        async def restored() -> bool:
            spec = (await attack.admin.get(NODES, name, attack.namespace))["spec"]
            return not spec.get("deployments")

        await eventually(restored, within=30, every=0.2)
        assert not await attack.exists(DEPLOYMENTS, "pwned")


async def test_form_reaches_no_other_namespace(attacked: Attacked) -> None:
    async with attacked(multi_tenant=True) as attack:
        with pytest.raises(Forbidden):
            await attack.form("pwned", namespace="kube-system", configMaps=[SETTINGS])
        entry = {**SETTINGS, "targetNamespace": "kube-system"}
        await attack.form("elsewhere", configMaps=[entry])
        message = await attack.wait_for_denial("elsewhere", "settings")
        assert "grant the verb" in message
        assert "tenant-writer" in message or "configmaps" in message
        with pytest.raises(NotFound):
            await attack.admin.get(CONFIG_MAPS, f"{attack.tenancy.uid}-settings", "kube-system")


async def test_other_pods_reach_neither_webhooks_nor_metrics(attacked: Attacked) -> None:
    """The local cluster has no network: what the API server stores is what a CNI enforces."""
    async with attacked(multi_tenant=True) as attack:
        names = ("webhook", "metrics")
        webhook, metrics = await asyncio.gather(
            *(attack.admin.get(POLICIES, f"tenancy-allow-{name}-traffic", SYSTEM) for name in names)
        )
        for policy in (webhook, metrics):
            assert policy["spec"]["policyTypes"] == ["Ingress"]
        assert webhook["spec"]["ingress"][0]["from"] == [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
        peer = {"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}
        assert metrics["spec"]["ingress"][0]["from"] == [peer]

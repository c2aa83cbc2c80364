"""A form with dependencies and two namespaces, and a model of the objects it must produce."""

import random
from dataclasses import dataclass, field

from built_in_resources import SERVICES
from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.environment import NODES, Environment, Object
from waiting import eventually

MANAGED = "lynq.sh/managed=true"
FOREIGN = ("foreign-settings", "foreign-remote")


def watched_namespaces(env: Environment) -> tuple[str, str]:
    """Return the namespaces that the operator watches: the environment's and a second one."""
    return env.namespace, f"{env.namespace}-other"


def form_spec(other_namespace: str, text: str) -> Object:
    """Return form lists: a dependency chain across two namespaces, and a Service."""
    data = {"plan": text}
    settings: Object = {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "stringData": data}
    service: Object = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}
    return {
        "configMaps": [
            {"id": "settings", "nameTemplate": "{{ .uid }}-settings", "spec": settings},
            {
                "id": "remote",
                "nameTemplate": "{{ .uid }}-remote",
                "targetNamespace": other_namespace,
                "dependIds": ["secret"],
                "spec": settings,
            },
        ],
        "secrets": [
            {
                "id": "secret",
                "nameTemplate": "{{ .uid }}-secret",
                "dependIds": ["settings"],
                "spec": secret,
            }
        ],
        "services": [{"id": "service", "nameTemplate": "{{ .uid }}-service", "spec": service}],
    }


@dataclass(slots=True)
class Model:
    """The expected state, derived from rows and form."""

    env: Environment
    other_namespace: str
    plans: dict[str, str] = field(default_factory=dict)
    text: str = "{{ .plan }}"

    def write_rows(self) -> None:
        self.env.set_rows(*((uid, 1, plan) for uid, plan in self.plans.items()))

    def change_rows(self, rng: random.Random, spare: tuple[str, ...]) -> None:
        """Add, change and remove a row, but none of those to spare."""
        others = sorted(self.plans.keys() - set(spare))
        rng.shuffle(others)
        if len(others) > 3:
            del self.plans[others.pop()]
        self.plans[others.pop()] = f"plan-{rng.randrange(1000)}"
        self.plans[f"n{rng.randrange(1000)}"] = "pro"
        self.write_rows()

    async def verify(self) -> None:
        """Fail unless nodes and objects match the model exactly."""
        env, uids = self.env, sorted(self.plans)
        nodes = await env.nodes()
        assert sorted(nodes) == [f"{uid}-web" for uid in uids]
        for name, node in nodes.items():
            conditions = node.get("status", {}).get("conditions", [])
            ready = [condition for condition in conditions if condition["type"] == "Ready"]
            assert [condition["status"] for condition in ready] == ["True"], (name, conditions)
            assert node["status"]["observedGeneration"] == node["metadata"]["generation"]
        texts = {uid: self.text.replace("{{ .plan }}", plan) for uid, plan in self.plans.items()}
        settings = await managed_objects(env, CONFIG_MAPS, env.namespace)
        expected = {f"{uid}-settings": {"plan": text} for uid, text in texts.items()}
        assert {name: obj.get("data") for name, obj in settings.items()} == expected
        remote = await managed_objects(env, CONFIG_MAPS, self.other_namespace)
        expected = {f"{uid}-remote": {"plan": text} for uid, text in texts.items()}
        assert {name: obj.get("data") for name, obj in remote.items()} == expected
        for resource, part in ((SECRETS, "secret"), (SERVICES, "service")):
            listed = await managed_objects(env, resource, env.namespace)
            assert sorted(listed) == [f"{uid}-{part}" for uid in uids]

    async def uids(self, *tenants: str) -> dict[tuple[str, str], str]:
        """Return the uids of the nodes and objects of some tenants."""
        uids: dict[tuple[str, str], str] = {}
        for resource, namespace, part in (
            (NODES, self.env.namespace, "web"),
            (CONFIG_MAPS, self.env.namespace, "settings"),
            (CONFIG_MAPS, self.other_namespace, "remote"),
            (SECRETS, self.env.namespace, "secret"),
            (SERVICES, self.env.namespace, "service"),
        ):
            for tenant in tenants:
                obj = await self.env.client.get(resource, f"{tenant}-{part}", namespace)
                uids[tenant, part] = obj["metadata"]["uid"]
        return uids


async def managed_objects(
    env: Environment, resource: Resource, namespace: str
) -> dict[str, Object]:
    """Return the managed objects of a namespace, except foreign objects created by tests."""
    listed = await env.client.list(resource, namespace, labels=MANAGED)
    named = {obj["metadata"]["name"]: obj for obj in listed.items}
    return {name: obj for name, obj in named.items() if name not in FOREIGN}


async def objects_in_other_namespace(env: Environment, other_namespace: str) -> list[str]:
    """Return the names of the managed objects in the other namespace."""
    return sorted(await managed_objects(env, CONFIG_MAPS, other_namespace))


async def wait_until_converged(model: Model, *, within: float = 60) -> None:
    """Wait until the cluster matches the model."""

    async def converged() -> bool:
        await model.verify()
        return True

    await eventually(converged, within=within, every=0.25)

"""A form that uses what is delicate, and the model of what it has to lead to."""

import random
from dataclasses import dataclass, field

from built_in_resources import SERVICES
from cluster.controllers.environment import NODES, Environment, Object
from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from waiting import eventually

MANAGED = "lynq.sh/managed=true"
FOREIGN = ("foreign-settings", "foreign-abroad")


def places_of(env: Environment) -> tuple[str, str]:
    """Return the namespaces that the operator sees: the environment's, and another one."""
    return env.namespace, f"{env.namespace}-elsewhere"


def tenant_form(elsewhere: str, text: str) -> Object:
    """Return lists of a form: a chain of three, and one more in another namespace."""
    data = {"plan": text}
    settings: Object = {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "stringData": data}
    service: Object = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}
    return {
        "configMaps": [
            {"id": "settings", "nameTemplate": "{{ .uid }}-settings", "spec": settings},
            {
                "id": "abroad",
                "nameTemplate": "{{ .uid }}-abroad",
                "targetNamespace": elsewhere,
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
    """What rows and form say, and so what has to be there."""

    env: Environment
    elsewhere: str
    plans: dict[str, str] = field(default_factory=dict)
    text: str = "{{ .plan }}"

    def write_rows(self) -> None:
        self.env.set_rows(*((uid, 1, plan) for uid, plan in self.plans.items()))

    def disturb(self, chance: random.Random, spare: tuple[str, ...]) -> None:
        """Add a row, change one and take one away; none of those to be spared."""
        others = sorted(self.plans.keys() - set(spare))
        chance.shuffle(others)
        if len(others) > 3:
            del self.plans[others.pop()]
        self.plans[others.pop()] = f"plan-{chance.randrange(1000)}"
        self.plans[f"n{chance.randrange(1000)}"] = "pro"
        self.write_rows()

    async def check(self) -> None:
        """Fail unless exactly that is there which has to be."""
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
        far = await managed_objects(env, CONFIG_MAPS, self.elsewhere)
        expected = {f"{uid}-abroad": {"plan": text} for uid, text in texts.items()}
        assert {name: obj.get("data") for name, obj in far.items()} == expected
        for resource, part in ((SECRETS, "secret"), (SERVICES, "service")):
            listed = await managed_objects(env, resource, env.namespace)
            assert sorted(listed) == [f"{uid}-{part}" for uid in uids]

    async def uids(self, *tenants: str) -> dict[tuple[str, str], str]:
        """Return the uids of all objects of some tenants, their nodes included."""
        found: dict[tuple[str, str], str] = {}
        for resource, namespace, part in (
            (NODES, self.env.namespace, "web"),
            (CONFIG_MAPS, self.env.namespace, "settings"),
            (CONFIG_MAPS, self.elsewhere, "abroad"),
            (SECRETS, self.env.namespace, "secret"),
            (SERVICES, self.env.namespace, "service"),
        ):
            for tenant in tenants:
                obj = await self.env.client.get(resource, f"{tenant}-{part}", namespace)
                found[tenant, part] = obj["metadata"]["uid"]
        return found


async def managed_objects(
    env: Environment, resource: Resource, namespace: str
) -> dict[str, Object]:
    """Return what is managed in a namespace, without what tests made to look so."""
    listed = await env.client.list(resource, namespace, labels=MANAGED)
    named = {obj["metadata"]["name"]: obj for obj in listed.items}
    return {name: obj for name, obj in named.items() if name not in FOREIGN}


async def objects_in_other_namespace(env: Environment, elsewhere: str) -> list[str]:
    """Return the names of what is managed in the other namespace."""
    return sorted(await managed_objects(env, CONFIG_MAPS, elsewhere))


async def settle(model: Model, *, within: float = 60) -> None:
    """Wait until all is as rows and form say."""

    async def so() -> bool:
        await model.check()
        return True

    await eventually(so, within=within, every=0.25)

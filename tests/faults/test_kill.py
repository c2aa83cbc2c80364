"""Kill -9 again and again while rows and forms change: in the end all is as if nobody had."""

import asyncio
import random

from cluster.controllers.environment import FORMS, Environment, Object
from faults.conftest import Replicas
from faults.tenants import Model, objects_in_other_namespace, settle, tenant_form
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

SEED = 20261115
ROUNDS = 6
LOYAL = ("loyal-1", "loyal-2")
"""Tenants whose rows never change."""


async def foreign(env: Environment, elsewhere: str) -> list[Object]:
    """Make objects that look like a tenant's and are nobody's; return them as they are."""
    made = []
    for namespace, name in ((env.namespace, "foreign-settings"), (elsewhere, "foreign-abroad")):
        labels = {"lynq.sh/managed": "true", "lynq.sh/uid": "foreign"}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        made.append(await env.client.create(CONFIG_MAPS, {"metadata": metadata}))
    return made


async def test_state_converges_after_repeated_sigkill(
    env: Environment, replicas: Replicas, elsewhere: str
) -> None:
    chance = random.Random(SEED)
    model = Model(env, elsewhere)
    model.plans = dict.fromkeys((*LOYAL, *(f"t{number}" for number in range(6))), "pro")
    nobodys = await foreign(env, elsewhere)
    model.write_rows()
    await env.create_hub(source={"syncInterval": "1s"})
    await env.create_form("web", **tenant_form(elsewhere, model.text))
    replica = await replicas()
    await settle(model)
    before = await model.uids(*LOYAL)

    for number in range(ROUNDS):
        model.disturb(chance, spare=LOYAL)
        if number % 3 == 2:
            model.text = f"{{{{ .plan }}}} {number}"
            await env.patch(FORMS, "web", {"spec": tenant_form(elsewhere, model.text)})
        await asyncio.sleep(chance.uniform(0, 2.5))
        replica.kill()
        model.disturb(chance, spare=LOYAL)
        replica.start()

    await settle(model)
    assert await model.uids(*LOYAL) == before
    for obj in nobodys:
        place, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        assert await env.client.get(CONFIG_MAPS, name, place) == obj
    # Reached, and it stays: statuses of hub and form follow within a second or two, then nothing.
    await asyncio.sleep(3)
    replica.door.writes.clear()
    await asyncio.sleep(5)
    assert replica.door.work() == []
    assert await replica.stop() < 5


async def test_changes_during_downtime_are_applied_at_startup(
    env: Environment, replicas: Replicas, elsewhere: str
) -> None:
    model = Model(env, elsewhere)
    model.plans = {"acme": "pro", "beta": "pro", "corp": "pro"}
    model.write_rows()
    await env.create_hub()
    await env.create_form("web", **tenant_form(elsewhere, model.text))
    replica = await replicas()
    await settle(model)
    replica.kill()

    del model.plans["beta"]
    model.plans |= {"corp": "gold", "dora": "free"}
    model.write_rows()
    model.text = "changed: {{ .plan }}"
    await env.patch(FORMS, "web", {"spec": tenant_form(elsewhere, model.text)})
    # Somebody removed one object meanwhile, and the mark of another.
    await env.client.delete(CONFIG_MAPS, "acme-settings", env.namespace)
    patch = {"metadata": {"annotations": {"lynq.sh/applied-hash": None}}}
    await env.client.patch(CONFIG_MAPS, "corp-abroad", patch, elsewhere)
    replica.start()
    await settle(model)

    async def told() -> bool:
        return "beta-abroad" not in await objects_in_other_namespace(env, elsewhere)

    await eventually(told)

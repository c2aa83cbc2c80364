"""Repeated SIGKILL while rows and forms change."""

import asyncio
import random

import pytest

from faults.conftest import Replicas
from faults.tenants import Model, form_spec, objects_in_other_namespace, wait_until_converged
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, Environment, Object
from waiting import eventually, settled, stays

SEED = 20261115
ROUNDS = 6
STABLE = ("stable-1", "stable-2")
"""Tenants whose rows never change, so their objects must survive."""


async def create_foreign(env: Environment, other_namespace: str) -> list[Object]:
    """Create objects with our labels that belong to no node; return them."""
    objects = []
    for namespace, name in (
        (env.namespace, "foreign-settings"),
        (other_namespace, "foreign-remote"),
    ):
        labels = {"lynq.sh/managed": "true", "lynq.sh/uid": "foreign"}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        objects.append(await env.client.create(CONFIG_MAPS, {"metadata": metadata}))
    return objects


async def test_state_converges_after_repeated_sigkill(
    env: Environment,
    replicas: Replicas,
    other_namespace: str,
    request: pytest.FixtureRequest,
) -> None:
    rng = random.Random(SEED)
    model = Model(env, other_namespace)
    model.plans = dict.fromkeys((*STABLE, *(f"t{number}" for number in range(6))), "pro")
    foreign = await create_foreign(env, other_namespace)
    model.write_rows()
    # All rounds together delete more rows than the guard allows in its window.
    await env.create_hub(sync_interval="1s", deletionGuard={"disabled": True})
    await env.create_form("web", **form_spec(other_namespace, model.text))
    replica = await replicas()
    await wait_until_converged(model)
    before = await model.uids(*STABLE)

    for number in range(ROUNDS):
        model.change_rows(rng, spare=STABLE)
        if number % 3 == 2:
            model.text = f"{{{{ .plan }}}} {number}"
            await env.patch(FORMS, "web", {"spec": form_spec(other_namespace, model.text)})
        # The kill hits a random step of the reconcile.
        await asyncio.sleep(rng.uniform(0, 2.5))
        replica.kill()
        model.change_rows(rng, spare=STABLE)
        replica.start()

    request.node.user_properties.append(("kills", ROUNDS))
    await wait_until_converged(model)
    assert await model.uids(*STABLE) == before
    for obj in foreign:
        namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        assert await env.client.get(CONFIG_MAPS, name, namespace) == obj
    # Statuses of hub and form follow; then nothing is written.
    await settled(lambda: len(replica.proxy.resource_writes()), seconds=6, within=60)
    replica.proxy.writes.clear()
    await stays(lambda: replica.proxy.resource_writes() == [], seconds=5)
    await replica.stop()


async def test_changes_during_downtime_are_applied_at_startup(
    env: Environment, replicas: Replicas, other_namespace: str
) -> None:
    model = Model(env, other_namespace)
    model.plans = {"acme": "pro", "beta": "pro", "corp": "pro"}
    model.write_rows()
    await env.create_hub()
    await env.create_form("web", **form_spec(other_namespace, model.text))
    replica = await replicas()
    await wait_until_converged(model)
    replica.kill()

    del model.plans["beta"]
    model.plans |= {"corp": "gold", "dora": "free"}
    model.write_rows()
    model.text = "changed: {{ .plan }}"
    await env.patch(FORMS, "web", {"spec": form_spec(other_namespace, model.text)})
    # Another client deletes one object and the hash annotation of another.
    await env.client.delete(CONFIG_MAPS, "acme-settings", env.namespace)
    patch = {"metadata": {"annotations": {"lynq.sh/applied-hash": None}}}
    await env.client.patch(CONFIG_MAPS, "corp-remote", patch, other_namespace)
    replica.start()
    await wait_until_converged(model)

    async def pruned() -> bool:
        return "beta-remote" not in await objects_in_other_namespace(env, other_namespace)

    await eventually(pruned)

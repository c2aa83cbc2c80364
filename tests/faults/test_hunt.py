"""Faults that a hunt has found: each of them lost a tenant, or left one stuck."""

import asyncio
import itertools
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from cluster.controllers.environment import HUBS, NODES, Environment, Object, config_map
from cluster.controllers.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)
from custom_kind import served_custom_kind
from faults.conftest import Replicas
from faults.crash import intercepted_operator
from faults.tenants import managed_objects, watched_namespaces
from lynq.api.metadata import ObjectKey
from lynq.controllers.options import Shard
from lynq.kube import Request, Response, Send
from lynq.kube.errors import KubeError
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from lynq.template.functions import crypto as template_keys
from waiting import eventually

TOO_DEEP = 1_300
"""How deep a form is nested that the API server takes, and Python's own limit does not."""
KEYS = 40
"""As many keys of a tenant take half a minute."""


# What is too deep


async def test_too_deeply_nested_form_does_not_block_others(
    env: Environment, kubectl: Callable[..., str], tmp_path: Path
) -> None:
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub(source={"syncInterval": "1s"})
        await env.create_form()
        await wait_for_node_ready(env, "acme-web")
    text = tmp_path / "deep.json"
    text.write_text(deep_form(env.namespace))
    output = await asyncio.to_thread(kubectl, "create", "--validate=false", "-f", str(text))
    assert "created" in output

    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    async with running_operator(env):
        await wait_for_node_ready(env, "beta-web")


async def test_too_deeply_nested_foreign_object_does_not_block_its_kind(
    env: Environment, kubectl: Callable[..., str], tmp_path: Path
) -> None:
    env.set_rows(("acme", 1, "pro"))
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    async with served_custom_kind(env.client, group):
        text = tmp_path / "deep.json"
        text.write_text(deep_gadget(env.namespace, group))
        output = await asyncio.to_thread(kubectl, "create", "--validate=false", "-f", str(text))
        assert "created" in output

        async with running_operator(env):
            await env.create_hub()
            manifest = {"apiVersion": f"{group}/v1", "kind": "Gadget"}
            gadget = {"id": "gadget", "nameTemplate": "{{ .uid }}-gadget", "spec": manifest}
            await env.create_form(manifests=[gadget])
            await wait_for_node_ready(env, "acme-web")


# As text: nothing here could encode them either.


def deep_form(namespace: str) -> str:
    manifest = f'{{"apiVersion":"v1","kind":"ConfigMap","deep":{nested()}}}'
    entry = f'{{"id":"deep","nameTemplate":"deep","spec":{manifest}}}'
    metadata = f'{{"name":"deep","namespace":"{namespace}"}}'
    kind = '"apiVersion":"operator.lynq.sh/v1","kind":"LynqForm"'
    return f'{{{kind},"metadata":{metadata},"spec":{{"hubId":"hub","manifests":[{entry}]}}}}'


def deep_gadget(namespace: str, group: str) -> str:
    labels = '{"lynq.sh/managed":"true"}'
    metadata = f'{{"name":"deep","namespace":"{namespace}","labels":{labels}}}'
    kind = f'"apiVersion":"{group}/v1","kind":"Gadget"'
    return f'{{{kind},"metadata":{metadata},"status":{nested()}}}'


def nested() -> str:
    return '{"a":' * TOO_DEEP + "1" + "}" * TOO_DEEP


# Keys, and what else is made once


@pytest.fixture
async def slow_keys(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Keys that take their time, but not after the test: then nobody wants them any more."""
    make, over = template_keys.make_rsa_key, threading.Event()
    made: list[RSAPrivateKey] = []

    def slowly(_: int) -> RSAPrivateKey:
        over.wait(0.7)
        made.append(make(1024))
        return made[-1]

    async def is_quiet() -> bool:
        before = len(made)
        await asyncio.sleep(0.5)
        return len(made) == before

    monkeypatch.setattr(template_keys, "make_rsa_key", slowly)
    yield
    over.set()
    # No other test is to find a thread that still makes some.
    await eventually(is_quiet, within=60)


@pytest.mark.usefixtures("slow_keys")
async def test_key_generation_does_not_block_other_tenants(env: Environment) -> None:
    uids = [f"t{number:02}" for number in range(12)]
    env.set_rows(*((uid, 1, "pro") for uid in uids))
    env.set_rows(file="other.db")
    async with running_operator(env):
        other = {"sqlite": {"path": "other.db", "table": "tenants"}, "syncInterval": "1s"}
        await env.create_hub("other", source=other)
        await env.create_form("plain", hub="other")
        await env.create_hub()
        await env.create_form(configMaps=[], secrets=[keys()])
        await env.wait_for_nodes(*(f"{uid}-web" for uid in uids))
        env.set_rows(("acme", 1, "pro"), file="other.db")
        await wait_for_node_ready(env, "acme-plain", within=5)


async def test_key_generation_does_not_delay_shutdown(env: Environment, replicas: Replicas) -> None:
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    await env.create_hub()
    await env.create_form(configMaps=[], secrets=[keys()])
    replica = await replicas()
    await env.wait_for_nodes("acme-web", "beta-web", within=30)
    # Far below what the keys take, and above what a busy machine needs to end a process.
    assert await replica.stop() < 10


async def test_generated_key_survives_removal_of_created_once_annotation(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    data = {"key": '{{ genPrivateKey "ecdsa" }}'}
    manifest = {"apiVersion": "v1", "kind": "Secret", "stringData": data}
    entry = {"id": "key", "nameTemplate": "key", "creationPolicy": "Once", "spec": manifest}
    async with running_operator(env):
        await env.create_hub()
        await env.create_form(configMaps=[], secrets=[entry])
        await wait_for_node_ready(env, "acme-web")
        before = await env.get(SECRETS, "key")
        unmarked = {"metadata": {"annotations": {"lynq.sh/created-once": None}}}
        await env.patch(SECRETS, "key", unmarked)
        await env.wait_until_idle()
        assert (await env.get(SECRETS, "key"))["data"] == before["data"]


async def test_once_object_is_recreated_after_its_label_was_removed(
    env: Environment,
) -> None:
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form(configMaps=[config_map(creationPolicy="Once")])
        await wait_for_node_ready(env, "acme-web")
        unlabelled = {"metadata": {"labels": {"lynq.sh/managed": None}}}
        await env.patch(CONFIG_MAPS, "acme-settings", unlabelled)
        await env.wait_until_idle()
        await env.client.delete(CONFIG_MAPS, "acme-settings", env.namespace)
        await eventually(lambda: managed_objects(env, CONFIG_MAPS, env.namespace))


def keys() -> Object:
    """Return an entry for a Secret that takes long to render."""
    data = {f"key-{number}": '{{ genPrivateKey "rsa" }}' for number in range(KEYS)}
    manifest = {"apiVersion": "v1", "kind": "Secret", "stringData": data}
    name = "{{ .uid }}-keys"
    return {"id": "keys", "nameTemplate": name, "creationPolicy": "Once", "spec": manifest}


# Objects that wait for one another


async def test_rollout_progresses_when_hub_shard_owns_none_of_its_nodes(
    env: Environment,
) -> None:
    hub = ObjectKey(env.namespace, "hub")
    other_shard = next(shard for shard in (Shard(0, 2), Shard(1, 2)) if not shard.owns(hub))
    uids = [f"t{number}" for number in range(40)]
    away = [uid for uid in uids if other_shard.owns(ObjectKey(env.namespace, f"{uid}-web"))][:2]
    env.set_rows(*((uid, 1, "pro") for uid in away))
    async with AsyncExitStack() as stack:
        for number in range(2):
            process = await stack.enter_async_context(running_operator(env, shard=Shard(number, 2)))
            await process.context.synced()
        await env.create_hub()
        await env.create_form(configMaps=[], deployments=[deployment()], rollout={"maxSkew": 1})
        for uid in away:
            await wait_for_node_ready(env, f"{uid}-web")


async def test_swapped_objects_are_recreated_without_delay(
    env: Environment,
) -> None:
    numbers = range(6)
    env.set_rows(*((f"t{number}", 1, f"p{number}") for number in numbers))
    async with running_operator(env):
        await env.create_hub(source={"syncInterval": "1s"})
        await env.create_form(configMaps=[config_map(nameTemplate="{{ .plan }}-settings")])
        for number in numbers:
            await wait_for_node_ready(env, f"t{number}-web")
        # Each gets the object of the next one, all at the same time.
        env.set_rows(*((f"t{number}", 1, f"p{(number + 1) % 6}") for number in numbers))
        await eventually(lambda: owners_are(env, {f"p{(n + 1) % 6}": f"t{n}" for n in numbers}))


async def owners_are(env: Environment, expected: dict[str, str]) -> bool:
    """Return whether exactly these uids have the settings of these plans."""
    listed = await managed_objects(env, CONFIG_MAPS, env.namespace)
    owner_uids = {
        name: [owner["name"] for owner in obj["metadata"]["ownerReferences"]]
        for name, obj in listed.items()
    }
    assert owner_uids == {f"{plan}-settings": [f"{uid}-web"] for plan, uid in expected.items()}
    return True


def deployment() -> Object:
    labels = {"app": "{{ .uid }}"}
    pods = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "app", "image": "app"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pods}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    return {"id": "app", "nameTemplate": "{{ .uid }}-app", "spec": manifest}


# Nodes that leave, and nodes that nobody keeps


async def test_orphaning_delete_of_many_nodes_keeps_all_objects(
    env: Environment, other_namespace: str
) -> None:
    uids = [f"t{number:03}" for number in range(100)]
    env.set_rows(*((uid, 1, "pro") for uid in uids))
    async with running_operator(env, namespaces=watched_namespaces(env)):
        await env.create_hub()
        await env.create_form(configMaps=[config_map(targetNamespace=other_namespace)])

        async def ready() -> bool:
            return bool((await env.status()).get("ready") == len(uids))

        await eventually(ready, within=60)
        # Or the nodes would be made anew, and take all_objects up again.
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await asyncio.gather(
            *(
                env.client.delete(NODES, f"{uid}-web", env.namespace, propagation="Orphan")
                for uid in uids
            )
        )
        await env.wait_for_nodes(within=60)
    left = await managed_objects(env, CONFIG_MAPS, other_namespace)
    assert sorted(left) == [f"{uid}-settings" for uid in uids]


async def test_orphaned_objects_survive_crash_during_orphaning_delete(
    env: Environment, other_namespace: str
) -> None:
    env.set_rows(("acme", 1, "pro"))
    names = [f"acme-{part}" for part in ("one", "two", "three")]
    maps = [
        config_map(id=name, nameTemplate=name, targetNamespace=other_namespace) for name in names
    ]
    async with running_operator(env, namespaces=watched_namespaces(env)):
        await env.create_hub()
        await env.create_form(configMaps=maps)
        await wait_for_node_ready(env, "acme-web")
        # Or the node would be made anew, and take all_objects up again.
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
    async with killed_after_one_object(env) as killed:
        await env.client.delete(NODES, "acme-web", env.namespace, propagation="Orphan")
        await asyncio.wait_for(killed.wait(), 20)

    async def freed() -> bool:
        return "orphan" not in (await env.get(NODES, "acme-web"))["metadata"]["finalizers"]

    await eventually(freed)
    async with running_operator(env, namespaces=watched_namespaces(env)):
        await wait_for_deletion(env, NODES, "acme-web")
    assert sorted(await managed_objects(env, CONFIG_MAPS, other_namespace)) == sorted(names)


@asynccontextmanager
async def killed_after_one_object(env: Environment) -> AsyncIterator[asyncio.Event]:
    """Run an operator that is is_sent of no more once it has let one ConfigMap go."""
    killed, turns = asyncio.Event(), itertools.count()

    async def intercept(request: Request, send: Send) -> Response:
        lets_go = request.verb == "patch" and "/configmaps/" in request.path
        if lets_go and next(turns) > 0:
            await killed.wait()
        if killed.is_set():
            raise KubeError("nobody is there any more")
        response = await send(request)
        if lets_go:
            killed.set()
        return response

    process = intercepted_operator(env, intercept)
    running = asyncio.create_task(process.run(asyncio.Event()))
    try:
        await process.context.synced()
        yield killed
    finally:
        running.cancel()
        await asyncio.wait((running,))


async def test_object_edited_out_of_node_without_hub_is_deleted(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form(configMaps=[config_map()])
        await wait_for_node_ready(env, "acme-web")
        await env.client.delete(HUBS, "hub", env.namespace, propagation="Orphan")
        await wait_for_deletion(env, HUBS, "hub")
        await env.patch(NODES, "acme-web", {"spec": {"configMaps": []}})
        await wait_for_deletion(env, CONFIG_MAPS, "acme-settings")


# Clocks


async def test_future_baseline_does_not_postpone_full_reconcile(
    env: Environment,
) -> None:
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form()
        await wait_for_node_ready(env, "acme-web")
    ahead = {"status": {"lastFullReconcileAt": "2099-01-01T00:00:00Z"}}
    await env.client.patch(NODES, "acme-web", ahead, env.namespace, subresource="status")
    async with running_operator(env, force_reapply_interval=timedelta(seconds=1)):

        async def done() -> bool:
            status = (await env.get(NODES, "acme-web"))["status"]
            return bool(status["lastFullReconcileAt"] < "2099")

        await eventually(done)

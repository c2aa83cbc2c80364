"""Key generation, and objects with creationPolicy Once."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from faults.conftest import Replicas
from faults.tenants import managed_objects
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from lynq.template import private_keys as template_keys
from operated.environment import Environment, Object, config_map
from operated.running_operator import (
    running_operator,
    wait_for_node_ready,
)
from waiting import eventually

KEYS = 40
"""The number of keys that takes half a minute to generate."""


@pytest.fixture
async def slow_keys(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Delay each key generation by 0.7 s until the test ends."""
    generate, ended = template_keys.make_rsa_key, threading.Event()
    generated: list[RSAPrivateKey] = []

    def delayed(_: int) -> RSAPrivateKey:
        ended.wait(0.7)
        generated.append(generate(1024))
        return generated[-1]

    async def is_idle() -> bool:
        before = len(generated)
        await asyncio.sleep(0.5)
        return len(generated) == before

    monkeypatch.setattr(template_keys, "make_rsa_key", delayed)
    yield
    ended.set()
    # No thread may generate keys during the next test.
    await eventually(is_idle, within=60)


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
        await env.create_form(configMaps=[], secrets=[keys_entry()])
        await env.wait_for_nodes(*(f"{uid}-web" for uid in uids))
        env.set_rows(("acme", 1, "pro"), file="other.db")
        await wait_for_node_ready(env, "acme-plain", within=15)


async def test_key_generation_does_not_delay_shutdown(env: Environment, replicas: Replicas) -> None:
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    await env.create_hub()
    await env.create_form(configMaps=[], secrets=[keys_entry()])
    replica = await replicas()
    await env.wait_for_nodes("acme-web", "beta-web", within=30)
    # Far below the time for all keys, and above what a busy machine needs to stop a process.
    await replica.stop(within=10)


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
        unlabeled = {"metadata": {"labels": {"lynq.sh/managed": None}}}
        await env.patch(CONFIG_MAPS, "acme-settings", unlabeled)
        await env.wait_until_idle()
        await env.client.delete(CONFIG_MAPS, "acme-settings", env.namespace)
        await eventually(lambda: managed_objects(env, CONFIG_MAPS, env.namespace))


def keys_entry() -> Object:
    """Return an entry for a Secret with many generated keys."""
    data = {f"key-{number}": '{{ genPrivateKey "rsa" }}' for number in range(KEYS)}
    manifest = {"apiVersion": "v1", "kind": "Secret", "stringData": data}
    name = "{{ .uid }}-keys"
    return {"id": "keys", "nameTemplate": name, "creationPolicy": "Once", "spec": manifest}

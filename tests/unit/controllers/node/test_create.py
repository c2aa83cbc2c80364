"""creationPolicy: WhenNeeded is kept up to date, Once is written one time."""

import threading

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS
from lynq.template import private_keys
from operated.builders import (
    NODE,
    annotate,
    annotations,
    create_node,
    edit,
    entry,
    exists,
    has_plan,
    labels,
    manifest_entry,
    owner_uids,
    update_node,
    wait_for_object,
    write_verbs,
)
from operated.environment import Environment, Object
from operated.manifests import job
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)

JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
ONCE = {"creationPolicy": "Once"}


async def test_when_needed_follows_row_and_form(env: Environment) -> None:
    async with running_operator(env):
        node = await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        obj = await wait_for_object(env, "settings", has_plan("pro"))
        assert owner_uids(obj) == [node["metadata"]["uid"]]
        assert labels(obj)["lynq.sh/managed"] == "true"
        assert annotations(obj)["lynq.sh/deletion-policy"] == "Delete"

        await annotate(env, extra='{"plan": "free"}')
        await wait_for_object(env, "settings", has_plan("free"))
        await update_node(env, entry("settings", "{{ .plan }} plan"))
        await wait_for_object(env, "settings", has_plan("free plan"))


async def test_once_is_not_written_again(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings", **ONCE), entry("other"))
        await wait_for_node_ready(env, NODE)
        first = await env.get(CONFIG_MAPS, "settings")
        assert annotations(first)["lynq.sh/created-once"] == "true"

        await annotate(env, extra='{"plan": "free"}')
        await update_node(env, entry("settings", "another form", **ONCE), entry("other"))
        await wait_for_object(env, "other", has_plan("free"))
        await edit(env, "settings", {"data": {"plan": "by hand"}})
        await annotate(env, force_reconcile="now")
        await env.wait_until_idle()

        assert (await env.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "by hand"}
        assert (await wait_for_node_ready(env, NODE))["status"]["readyResources"] == 2


async def test_once_is_recreated_after_deletion(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings", **ONCE))
        await wait_for_node_ready(env, NODE)
        await env.client.delete(CONFIG_MAPS, "settings", env.namespace)
        await wait_for_object(env, "settings", has_plan("pro"))


async def test_completed_job_is_not_created_again(env: Environment) -> None:
    seed = manifest_entry("seed", job("seed"), **ONCE, dependIds=["settings"])
    async with running_operator(env):
        await create_node(env, entry("settings"), jobs=[seed])
        await wait_for_node_ready(env, NODE)
        await env.client.delete(JOBS, "seed", env.namespace)
        await env.client.delete(CONFIG_MAPS, "settings", env.namespace)
        await wait_for_object(env, "settings", has_plan("pro"))
        await annotate(env, extra='{"plan": "free"}')
        await wait_for_object(env, "settings", has_plan("free"))
        await env.wait_until_idle()
        status = (await wait_for_node_ready(env, NODE))["status"]
        assert [each["completed"] for each in status["resources"] if each["id"] == "seed"] == [True]
    # The record is in the status, so a new process knows it.
    async with running_operator(env):
        await annotate(env, extra='{"plan": "pro"}')
        await wait_for_object(env, "settings", has_plan("pro"))
        await env.wait_until_idle()
        assert not await env.client.list(JOBS, env.namespace)


async def test_once_is_evaluated_for_readiness_in_every_reconcile(env: Environment) -> None:
    never = job("seed", job="never")
    async with running_operator(env):
        await create_node(
            env, entry("after", dependIds=["seed"]), jobs=[manifest_entry("seed", never, **ONCE)]
        )
        await wait_for_resource_state(env, NODE, "seed", "Progressing")
        await annotate(env, extra='{"plan": "free"}')
        await env.wait_until_idle()
        await wait_for_resource_state(env, NODE, "seed", "Progressing")
        await wait_for_resource_state(env, NODE, "after", "Waiting")
        assert not await exists(env, "after")


async def test_once_writes_existing_unmarked_object_one_time(
    env: Environment,
) -> None:
    foreign = {"metadata": {"name": "settings"}, "data": {"theirs": "stays"}}
    await env.client.create(CONFIG_MAPS, foreign, env.namespace)
    async with running_operator(env):
        await create_node(env, entry("settings", **ONCE))
        await wait_for_node_ready(env, NODE)
        obj = await env.get(CONFIG_MAPS, "settings")
        assert obj["data"] == {"plan": "pro", "theirs": "stays"}
        assert annotations(obj)["lynq.sh/created-once"] == "true"

        await annotate(env, extra='{"plan": "free"}')
        await env.wait_until_idle()
        assert (await env.get(CONFIG_MAPS, "settings"))["data"]["plan"] == "pro"


async def test_once_does_not_write_object_marked_by_go_operator(
    env: Environment,
) -> None:
    """The object has no lynq.sh/managed label, so it is not in the cache."""
    node = await create_node(env, entry("settings", **ONCE))
    owner = {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqNode",
        "name": NODE,
        "uid": node["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": "settings",
        "annotations": {"lynq.sh/created-once": "true", "lynq.sh/deletion-policy": "Delete"},
        "ownerReferences": [owner],
    }
    old = await env.client.create(
        CONFIG_MAPS, {"metadata": metadata, "data": {"seed": "1"}}, env.namespace
    )
    async with running_operator(env):
        await wait_for_node_ready(env, NODE)
        await annotate(env, extra='{"plan": "free"}')
        await env.wait_until_idle()
        live = await env.get(CONFIG_MAPS, "settings")
        assert live["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]
        assert (await wait_for_node_ready(env, NODE))["status"]["readyResources"] == 1
        assert "apply" not in write_verbs(env, "settings")

        await update_node(env)
        await wait_for_deletion(env, CONFIG_MAPS, "settings")


@pytest.fixture
def key_threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that generated keys, one entry per key."""
    threads: list[str] = []
    generate = private_keys.make_rsa_key

    def recorded(bits: int) -> RSAPrivateKey:
        threads.append(threading.current_thread().name)
        return generate(bits // 4)

    monkeypatch.setattr(private_keys, "make_rsa_key", recorded)
    return threads


def key_secret(**more: object) -> Object:
    """Return an entry for a Secret with a generated key and another template."""
    texts = {"key": '{{ genPrivateKey "rsa" }}', "plan": "{{ .plan }}"}
    manifest = {"apiVersion": "v1", "kind": "Secret", "stringData": texts}
    return manifest_entry("key", manifest, **ONCE, **more)


async def test_key_generation_runs_off_the_event_loop(
    env: Environment, key_threads: list[str]
) -> None:
    async with running_operator(env):
        await create_node(env, secrets=[key_secret()])
        await wait_for_node_ready(env, NODE)
    assert len(key_threads) == 1
    assert threading.main_thread().name not in key_threads


async def test_generated_key_is_reused_until_it_is_written(
    env: Environment, key_threads: list[str]
) -> None:
    async with running_operator(env):
        await create_node(env, secrets=[key_secret(targetNamespace="nowhere")])
        await wait_for_resource_state(env, NODE, "key", "Failed")
        for number in range(3):
            await annotate(env, force_reconcile=str(number))
            await env.wait_until_idle()
    assert len(key_threads) == 1

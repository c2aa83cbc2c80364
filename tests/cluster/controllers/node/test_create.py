"""creationPolicy: what is kept in step, and what is written once and never again."""

import threading

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from cluster.controllers.environment import Environment, Object
from cluster.controllers.node.builders import (
    NODE,
    annotate,
    annotations,
    apply_node,
    becomes,
    edit,
    entry,
    exists,
    labels,
    make_node,
    of_kind,
    owners,
    plan_is,
    writes,
)
from cluster.controllers.running_operator import (
    is_gone,
    node_is_ready,
    resource_is,
    running_operator,
)
from cluster.local.manifests import job
from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS
from lynq.template.functions import crypto

JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
ONCE = {"creationPolicy": "Once"}


async def test_when_needed_follows_the_row_and_the_form(env: Environment) -> None:
    async with running_operator(env):
        made = await make_node(env, entry("settings"))
        await node_is_ready(env, NODE)
        found = await becomes(env, "settings", plan_is("pro"))
        assert owners(found) == [made["metadata"]["uid"]]
        assert labels(found)["lynq.sh/managed"] == "true"
        assert annotations(found)["lynq.sh/deletion-policy"] == "Delete"

        await annotate(env, extra='{"plan": "free"}')
        await becomes(env, "settings", plan_is("free"))
        await apply_node(env, entry("settings", "{{ .plan }} plan"))
        await becomes(env, "settings", plan_is("free plan"))


async def test_once_is_never_written_again(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("settings", **ONCE), entry("other"))
        await node_is_ready(env, NODE)
        first = await env.get(CONFIG_MAPS, "settings")
        assert annotations(first)["lynq.sh/created-once"] == "true"

        await annotate(env, extra='{"plan": "free"}')
        await apply_node(env, entry("settings", "another form", **ONCE), entry("other"))
        await becomes(env, "other", plan_is("free"))
        await edit(env, "settings", {"data": {"plan": "by hand"}})
        await annotate(env, force_reconcile="now")
        await env.settles()

        assert (await env.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "by hand"}
        assert (await node_is_ready(env, NODE))["status"]["readyResources"] == 2


async def test_once_is_made_again_when_somebody_deletes_it(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("settings", **ONCE))
        await node_is_ready(env, NODE)
        await env.client.delete(CONFIG_MAPS, "settings", env.namespace)
        await becomes(env, "settings", plan_is("pro"))


async def test_once_is_judged_by_its_readiness_in_every_pass(env: Environment) -> None:
    never = job("seed", job="never")
    async with running_operator(env):
        await make_node(
            env, entry("after", dependIds=["seed"]), jobs=[of_kind("seed", never, **ONCE)]
        )
        await resource_is(env, NODE, "seed", "Progressing")
        await annotate(env, extra='{"plan": "free"}')
        await env.settles()
        await resource_is(env, NODE, "seed", "Progressing")
        await resource_is(env, NODE, "after", "Waiting")
        assert not await exists(env, "after")


async def test_once_over_an_object_that_exists_unmarked_is_written_this_one_time(
    env: Environment,
) -> None:
    theirs = {"metadata": {"name": "settings"}, "data": {"theirs": "stays"}}
    await env.client.create(CONFIG_MAPS, theirs, env.namespace)
    async with running_operator(env):
        await make_node(env, entry("settings", **ONCE))
        await node_is_ready(env, NODE)
        found = await env.get(CONFIG_MAPS, "settings")
        assert found["data"] == {"plan": "pro", "theirs": "stays"}
        assert annotations(found)["lynq.sh/created-once"] == "true"

        await annotate(env, extra='{"plan": "free"}')
        await env.settles()
        assert (await env.get(CONFIG_MAPS, "settings"))["data"]["plan"] == "pro"


async def test_once_over_an_object_marked_so_by_the_go_operator_writes_nothing(
    env: Environment,
) -> None:
    """It carries no label of ours, so no cache shows it."""
    made = await make_node(env, entry("settings", **ONCE))
    owner = {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqNode",
        "name": NODE,
        "uid": made["metadata"]["uid"],
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
        await node_is_ready(env, NODE)
        await annotate(env, extra='{"plan": "free"}')
        await env.settles()
        now = await env.get(CONFIG_MAPS, "settings")
        assert now["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]
        assert (await node_is_ready(env, NODE))["status"]["readyResources"] == 1
        assert "apply" not in writes(env, "settings")

        await apply_node(env)
        await is_gone(env, CONFIG_MAPS, "settings")


@pytest.fixture
def makers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads that have made keys, one entry for each."""
    made: list[str] = []
    make = crypto.make_rsa_key

    def noted(bits: int) -> RSAPrivateKey:
        made.append(threading.current_thread().name)
        return make(bits // 4)

    monkeypatch.setattr(crypto, "make_rsa_key", noted)
    return made


def a_key(**more: object) -> Object:
    """Return the entry of a Secret with a key, and with more to render after it."""
    texts = {"key": '{{ genPrivateKey "rsa" }}', "plan": "{{ .plan }}"}
    manifest = {"apiVersion": "v1", "kind": "Secret", "stringData": texts}
    return of_kind("key", manifest, **ONCE, **more)


async def test_nobody_waits_while_a_key_is_made(env: Environment, makers: list[str]) -> None:
    async with running_operator(env):
        await make_node(env, secrets=[a_key()])
        await node_is_ready(env, NODE)
    assert len(makers) == 1
    assert threading.main_thread().name not in makers


async def test_a_key_that_cannot_be_written_yet_is_kept(
    env: Environment, makers: list[str]
) -> None:
    async with running_operator(env):
        await make_node(env, secrets=[a_key(targetNamespace="nowhere")])
        await resource_is(env, NODE, "key", "Failed")
        for number in range(3):
            await annotate(env, force_reconcile=str(number))
            await env.settles()
    assert len(makers) == 1

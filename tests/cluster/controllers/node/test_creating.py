"""creationPolicy: what is kept in step, and what is written once and never again."""

import threading

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from cluster.controllers.node.making import (
    NODE,
    annotations,
    becomes,
    edit,
    entry,
    exists,
    labels,
    make_node,
    mark,
    of_kind,
    owners,
    plan_is,
    want,
    writes,
)
from cluster.controllers.operating import is_gone, node_is_ready, operating, resource_is
from cluster.controllers.stage import Object, Stage
from cluster.local.manifests import job
from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS
from lynq.template.functions import crypto

JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
ONCE = {"creationPolicy": "Once"}


async def test_when_needed_follows_the_row_and_the_form(stage: Stage) -> None:
    async with operating(stage):
        made = await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
        found = await becomes(stage, "settings", plan_is("pro"))
        assert owners(found) == [made["metadata"]["uid"]]
        assert labels(found)["lynq.sh/managed"] == "true"
        assert annotations(found)["lynq.sh/deletion-policy"] == "Delete"

        await mark(stage, extra='{"plan": "free"}')
        await becomes(stage, "settings", plan_is("free"))
        await want(stage, entry("settings", "{{ .plan }} plan"))
        await becomes(stage, "settings", plan_is("free plan"))


async def test_once_is_never_written_again(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings", **ONCE), entry("other"))
        await node_is_ready(stage, NODE)
        first = await stage.get(CONFIG_MAPS, "settings")
        assert annotations(first)["lynq.sh/created-once"] == "true"

        await mark(stage, extra='{"plan": "free"}')
        await want(stage, entry("settings", "another form", **ONCE), entry("other"))
        await becomes(stage, "other", plan_is("free"))
        await edit(stage, "settings", {"data": {"plan": "by hand"}})
        await mark(stage, force_reconcile="now")
        await stage.settles()

        assert (await stage.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "by hand"}
        assert (await node_is_ready(stage, NODE))["status"]["readyResources"] == 2


async def test_once_is_made_again_when_somebody_deletes_it(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings", **ONCE))
        await node_is_ready(stage, NODE)
        await stage.client.delete(CONFIG_MAPS, "settings", stage.namespace)
        await becomes(stage, "settings", plan_is("pro"))


async def test_once_is_judged_by_its_readiness_in_every_pass(stage: Stage) -> None:
    never = job("seed", job="never")
    async with operating(stage):
        await make_node(
            stage, entry("after", dependIds=["seed"]), jobs=[of_kind("seed", never, **ONCE)]
        )
        await resource_is(stage, NODE, "seed", "Progressing")
        await mark(stage, extra='{"plan": "free"}')
        await stage.settles()
        await resource_is(stage, NODE, "seed", "Progressing")
        await resource_is(stage, NODE, "after", "Waiting")
        assert not await exists(stage, "after")


async def test_once_over_an_object_that_exists_unmarked_is_written_this_one_time(
    stage: Stage,
) -> None:
    theirs = {"metadata": {"name": "settings"}, "data": {"theirs": "stays"}}
    await stage.client.create(CONFIG_MAPS, theirs, stage.namespace)
    async with operating(stage):
        await make_node(stage, entry("settings", **ONCE))
        await node_is_ready(stage, NODE)
        found = await stage.get(CONFIG_MAPS, "settings")
        assert found["data"] == {"plan": "pro", "theirs": "stays"}
        assert annotations(found)["lynq.sh/created-once"] == "true"

        await mark(stage, extra='{"plan": "free"}')
        await stage.settles()
        assert (await stage.get(CONFIG_MAPS, "settings"))["data"]["plan"] == "pro"


async def test_once_over_an_object_marked_so_by_the_go_operator_writes_nothing(
    stage: Stage,
) -> None:
    """It carries no label of ours, so no cache shows it."""
    made = await make_node(stage, entry("settings", **ONCE))
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
    old = await stage.client.create(
        CONFIG_MAPS, {"metadata": metadata, "data": {"seed": "1"}}, stage.namespace
    )
    async with operating(stage):
        await node_is_ready(stage, NODE)
        await mark(stage, extra='{"plan": "free"}')
        await stage.settles()
        now = await stage.get(CONFIG_MAPS, "settings")
        assert now["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]
        assert (await node_is_ready(stage, NODE))["status"]["readyResources"] == 1
        assert "apply" not in writes(stage, "settings")

        await want(stage)
        await is_gone(stage, CONFIG_MAPS, "settings")


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


async def test_nobody_waits_while_a_key_is_made(stage: Stage, makers: list[str]) -> None:
    async with operating(stage):
        await make_node(stage, secrets=[a_key()])
        await node_is_ready(stage, NODE)
    assert len(makers) == 1
    assert threading.main_thread().name not in makers


async def test_a_key_that_cannot_be_written_yet_is_kept(stage: Stage, makers: list[str]) -> None:
    async with operating(stage):
        await make_node(stage, secrets=[a_key(targetNamespace="nowhere")])
        await resource_is(stage, NODE, "key", "Failed")
        for number in range(3):
            await mark(stage, force_reconcile=str(number))
            await stage.settles()
    assert len(makers) == 1

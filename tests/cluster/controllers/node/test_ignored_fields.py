"""ignoreFields: what others set stays as they set it, whatever the manifest says."""

from typing import Any

import pytest

from cluster.controllers.node.making import (
    NODE,
    becomes,
    edit,
    entry,
    make_node,
    mark,
    of_kind,
    told,
    want,
)
from cluster.controllers.operating import node_is_ready, operating
from cluster.controllers.stage import Object, Stage
from cluster.local.manifests import deployment
from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS, DEPLOYMENTS

REPLICAS: Object = {"ignoreFields": ["$.spec.replicas"]}


def app(image: str = "nginx", **parts: Any) -> Object:
    return of_kind("app", deployment("app", replicas=1, image=image), **parts)


def image_is(image: str) -> Any:
    return lambda obj: obj["spec"]["template"]["spec"]["containers"][0]["image"] == image


async def scale(stage: Stage, replicas: int) -> None:
    await edit(stage, "app", {"spec": {"replicas": replicas}}, by="hpa", resource=DEPLOYMENTS)


async def test_an_ignored_field_that_another_client_changes_stays(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, deployments=[app(**REPLICAS)])
        await node_is_ready(stage, NODE)
        await scale(stage, 3)
        await becomes(
            stage, "app", lambda obj: obj["status"].get("readyReplicas") == 3, DEPLOYMENTS
        )
        await want(stage, deployments=[app("nginx:2", **REPLICAS)])
        found = await becomes(stage, "app", image_is("nginx:2"), DEPLOYMENTS)
        assert found["spec"]["replicas"] == 3
        await mark(stage, force_reconcile="now")
        await node_is_ready(stage, NODE)
        await stage.settles()
        assert (await stage.get(DEPLOYMENTS, "app"))["spec"]["replicas"] == 3
        assert await told(stage, "ResourceConflict") == 0

        await scale(stage, 2)
        await stage.settles()
        assert (await stage.get(DEPLOYMENTS, "app"))["spec"]["replicas"] == 2


async def test_an_ignored_field_of_each_item_is_kept_item_by_item(stage: Stage) -> None:
    def two(image: str) -> Object:
        manifest = deployment("app", replicas=1)
        manifest["spec"]["template"]["spec"]["containers"] = [
            {"name": name, "image": image, "resources": {"requests": {"cpu": "1m"}}}
            for name in ("main", "side")
        ]
        path = "$.spec.template.spec.containers[*].resources"
        return of_kind("app", manifest, ignoreFields=[path])

    def sizes(obj: Object) -> dict[str, str]:
        containers = obj["spec"]["template"]["spec"]["containers"]
        return {each["name"]: each["resources"]["requests"]["cpu"] for each in containers}

    async with operating(stage):
        await make_node(stage, deployments=[two("nginx")])
        await node_is_ready(stage, NODE)
        await stage.client.apply(
            DEPLOYMENTS,
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "app", "namespace": stage.namespace},
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [
                                {"name": "side", "resources": {"requests": {"cpu": "7m"}}}
                            ]
                        }
                    }
                },
            },
            manager="vpa",
            force=True,
        )
        await want(stage, deployments=[two("nginx:2")])
        found = await becomes(stage, "app", image_is("nginx:2"), DEPLOYMENTS)
        assert sizes(found) == {"main": "1m", "side": "7m"}
        await node_is_ready(stage, NODE)
        assert await told(stage, "ResourceConflict") == 0


async def test_an_item_is_found_by_its_name(stage: Stage) -> None:
    path = "$.spec.template.spec.containers[?(@.name=='main')].image"
    async with operating(stage):
        await make_node(stage, deployments=[app(ignoreFields=[path])])
        await node_is_ready(stage, NODE)
        container = [{"name": "main", "image": "theirs"}]
        patch = {"spec": {"template": {"spec": {"containers": container}}}}
        await edit(stage, "app", patch, resource=DEPLOYMENTS)
        await want(stage, deployments=[app("ours", ignoreFields=[path])])
        await node_is_ready(stage, NODE)
        await stage.settles()
        assert image_is("theirs")(await stage.get(DEPLOYMENTS, "app"))


@pytest.mark.parametrize("strategy", ["apply", "merge", "replace"])
@pytest.mark.parametrize("policy", ["Stuck", "Force"])
async def test_an_ignored_field_of_a_foreign_object_survives_the_first_write(
    stage: Stage, strategy: str, policy: str
) -> None:
    theirs = {"metadata": {"name": "settings"}, "data": {"plan": "theirs"}}
    await stage.client.create(CONFIG_MAPS, theirs, stage.namespace, manager="somebody")
    async with operating(stage):
        wish = entry(
            "settings",
            patchStrategy=strategy,
            conflictPolicy=policy,
            ignoreFields=["$.data.plan"],
        )
        wish["spec"]["data"]["more"] = "{{ .plan }}"
        await make_node(stage, wish)
        await node_is_ready(stage, NODE)
        found = await stage.get(CONFIG_MAPS, "settings")
        assert found["data"] == {"plan": "theirs", "more": "pro"}


async def test_an_ignored_field_is_written_when_the_object_is_made(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings", ignoreFields=["$.data.plan"]))
        await node_is_ready(stage, NODE)
        assert (await stage.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "pro"}
        await edit(stage, "settings", {"data": {"plan": None}})
        await mark(stage, extra='{"plan": "free"}')
        await stage.settles()
        assert "data" not in await stage.get(CONFIG_MAPS, "settings")
        await node_is_ready(stage, NODE)


@pytest.mark.parametrize("parts", [{"conflictPolicy": "Force"}, {"patchStrategy": "merge"}])
async def test_an_ignored_field_that_changes_while_we_write_stays(
    stage: Stage, parts: Object
) -> None:
    """An autoscaler's number must not be set back to what it was a moment ago."""
    others, once = stage.client, iter([3])

    async def first(request: Request, send: Send) -> Response:
        is_write = request.verb in ("apply", "patch") and request.path.endswith("/app")
        if is_write and b"nginx:2" in (request.body or b"") and (replicas := next(once, 0)):
            wish = {"spec": {"replicas": replicas}}
            await others.patch(DEPLOYMENTS, "app", wish, stage.namespace, manager="hpa")
        return await send(request)

    stage.client = others.intercepted(first)
    async with operating(stage):
        await make_node(stage, deployments=[app(**REPLICAS, **parts)])
        await node_is_ready(stage, NODE)
        await want(stage, deployments=[app("nginx:2", **REPLICAS, **parts)])
        found = await becomes(stage, "app", image_is("nginx:2"), DEPLOYMENTS)
        assert next(once, 0) == 0
        assert found["spec"]["replicas"] == 3
        await node_is_ready(stage, NODE)
        assert await told(stage, "ResourceConflict") == await told(stage, "ForceApply") == 0

"""Long, dotted and colliding node names."""

from faults.tenants import managed_objects, watched_namespaces
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import Environment, Object
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)
from waiting import eventually, stays

LONG_UID = "u" * 63
LONG_FORM = "f" * 180


def entry(resource_id: str, name: str, **parts: object) -> Object:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": "{{ .plan }}"}}
    return {"id": resource_id, "nameTemplate": name, "spec": manifest} | parts


async def test_objects_of_node_with_long_name_are_tracked_and_deleted(
    env: Environment, other_namespace: str
) -> None:
    env.set_rows((LONG_UID, 1, "pro"), ("short", 1, "pro"))
    near = entry("near", "{{ .uid }}-near")
    far = entry("far", "{{ .uid }}-far", targetNamespace=other_namespace)
    kept = entry("kept", "{{ .uid }}-kept", deletionPolicy="Retain")
    async with running_operator(env, namespaces=watched_namespaces(env)):
        await env.create_hub(sync_interval="1s")
        await env.create_form(LONG_FORM, configMaps=[near, far, kept])
        name = f"{LONG_UID}-{LONG_FORM}"
        assert len(name) == 244
        await wait_for_node_ready(env, name)
        await wait_for_node_ready(env, f"short-{LONG_FORM}")
        remote = await env.client.get(CONFIG_MAPS, f"{LONG_UID}-far", other_namespace)
        label = remote["metadata"]["labels"]["lynq.sh/node"]
        assert len(label) == 63
        assert remote["metadata"]["annotations"]["lynq.sh/node-name"] == name
        await env.wait_for_event("TemplateAppliedSuccess", containing=LONG_UID)

        # The deletion of the remote object requeues the node despite its long name.
        await env.client.delete(CONFIG_MAPS, f"{LONG_UID}-far", other_namespace)

        async def recreated() -> bool:
            return f"{LONG_UID}-far" in await managed_objects(env, CONFIG_MAPS, other_namespace)

        await eventually(recreated, within=15)
        env.set_rows(("short", 1, "pro"))
        await env.wait_for_nodes(f"short-{LONG_FORM}")
        await wait_for_deletion(env, CONFIG_MAPS, f"{LONG_UID}-near")
        assert sorted(await managed_objects(env, CONFIG_MAPS, other_namespace)) == ["short-far"]
        orphan = await env.get(CONFIG_MAPS, f"{LONG_UID}-kept")
        assert orphan["metadata"]["labels"]["lynq.sh/orphaned"] == "true"
        assert "lynq.sh/node" not in orphan["metadata"]["labels"]


async def test_colliding_node_name_belongs_to_first_pair_until_its_deletion(
    env: Environment,
) -> None:
    env.set_rows(("a", 1, "first"), ("a-b", 1, "second"))
    async with running_operator(env):
        await env.create_hub(sync_interval="1s")
        await env.create_form("b-c", configMaps=[entry("one", "{{ .uid }}-one")])
        await env.create_form("c", configMaps=[entry("two", "{{ .uid }}-two")])
        await env.wait_for_nodes("a-b-b-c", "a-b-c", "a-c")
        await env.wait_for_status(desired=4, failed=1)
        before = (await env.nodes())["a-b-c"]
        assert (before["spec"]["uid"], before["spec"]["templateRef"]) == ("a", "b-c")

        async def unchanged() -> bool:
            node = (await env.nodes())["a-b-c"]
            return bool(node["metadata"]["uid"] == before["metadata"]["uid"])

        await stays(unchanged, seconds=2, every=0.1)

        # After removal of its row, the other pair gets the name and its own objects.
        env.set_rows(("a-b", 1, "second"))

        async def taken_over() -> bool:
            try:
                node = await wait_for_node_ready(env, "a-b-c", within=2)
            except NotFound:
                return False
            return bool(node["spec"]["uid"] == "a-b")

        await eventually(taken_over, within=20)
        await env.wait_for_status(desired=2, ready=2, failed=0)
        listed = await managed_objects(env, CONFIG_MAPS, env.namespace)
        assert sorted(listed) == ["a-b-one", "a-b-two"]


async def test_dotted_names_are_plain_names(
    env: Environment,
) -> None:
    env.set_rows(("a.b", 1, "pro"), ("web", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form("v1.web", configMaps=[entry("one", "{{ .uid }}-one")])
        for name in ("a.b-v1.web", "web-v1.web"):
            await wait_for_node_ready(env, name)
        assert await env.get(CONFIG_MAPS, "a.b-one")
